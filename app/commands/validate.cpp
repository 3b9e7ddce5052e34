// SPDX-License-Identifier: Apache-2.0
#include "app/commands/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "app/commands/machine_option.hpp"
#include "app/commands/progress.hpp"
#include "app/commands/results_writer.hpp"
#include "app/json/screen_text.hpp"
#include "app/measured/measured_file.hpp"
#include "app/output/comparison_table.hpp"
#include "app/output/trace_events.hpp"
#include "app/results/results.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/include.hpp"
#include "app/scenario/scenario_folder.hpp"
#include "app/study/measure_rows.hpp"

namespace collsim {
namespace {

class Validation {
 public:
  Validation(const ValidateOptions& options, std::span<const Backend> backends, Terminal& terminal,
             const BackendChoice::Interruptible& interruptible)
      : options_(options),
        backends_(backends),
        terminal_(terminal),
        interruptible_(interruptible),
        max_error_(max_error_of(options.max_error)) {
    refuse_what_makes_no_sense();
  }

  int run() {
    RunHooks hooks;
    hooks.load = [this](const std::string& file, Sources& sources, Diagnostics& diagnostics) {
      return load(file, sources, diagnostics);
    };
    hooks.measure = [this](const Scenario& scenario, Results& results,
                           const std::function<void(const CaseResult&)>& row) {
      measure(scenario, results, row);
    };
    hooks.judge = [this](const Scenario& scenario, const Results& results, bool output_tells) {
      return judge(scenario, results, output_tells);
    };
    const int code = run_files(options_.run, hooks, terminal_);
    return code == exit_interrupted ? code : worse_of(code, trace_code_);
  }

 private:
  void refuse_what_makes_no_sense() const {
    refuse_outputs_onto(options_.machine);
    if (options_.trace.empty()) {
      if (!options_.at.empty())
        throw UsageError("--at selects the row that --trace records; add --trace");
      return;
    }
    if (options_.run.files.size() > 1)
      throw UsageError("--trace records one scenario; give one file");
    if (options_.trace == "-")
      throw UsageError("--trace needs a file: standard output has the results");
    refuse_overwriting(options_.trace, options_.run.files);
  }

  void refuse_outputs_onto(const std::string& input) const {
    for (const std::string& output : options_.run.outputs) refuse_overwriting(output, {input});
    refuse_overwriting(options_.trace, {input});
  }

  // --- what to run ------------------------------------------------------------------------------

  std::optional<Scenario> load(const std::string& file, Sources& sources,
                               Diagnostics& diagnostics) {
    file_.reset();
    std::optional<Scenario> scenario = load_on_machine(file, sources, diagnostics);
    if (!scenario) return scenario;
    if (!options_.trace.empty()) choose_recorded(*scenario);
    const std::string& log = scenario->measure.file;
    if (log.empty() || !options_.backend.empty()) return scenario;
    if (scenario->is_step()) {
      diagnostics.add({.code = "no-measured-steps",
                       .message = "training steps are compared with runs only, not with files",
                       .place = place_of_file(*scenario),
                       .pointer = "/measure/file",
                       .hint = "leave it out, or use --backend host"});
      return std::nullopt;
    }
    const JsonValue& named = *value_at(scenario->resolved, "measure.file");
    const auto path = named_file(named, "/measure/file", file, sources, diagnostics);
    if (!path) return std::nullopt;
    refuse_outputs_onto(*path);
    file_ = MeasuredFile::read(*path, sources, diagnostics);
    if (!file_ || !options_for_runs_are_absent(*scenario, diagnostics)) return std::nullopt;
    return scenario;
  }

  static SourceRange place_of_file(const Scenario& scenario) {
    const JsonValue* const file = value_at(scenario.resolved, "measure.file");
    return file != nullptr ? file->place : SourceRange{};
  }

  // Nothing runs when a file says what ran.
  bool options_for_runs_are_absent(const Scenario& scenario, Diagnostics& diagnostics) const {
    const std::pair<bool, const char*> options[] = {
        {options_.iterations.has_value(), "--iters"},
        {options_.warmup.has_value(), "--warmup"},
        {options_.paced, "--paced"},
        {options_.native, "--native"},
        {!options_.protocol.empty(), "--protocol"},
        {options_.no_check, "--no-check"},
        {options_.threads_per_lane > 0, "--threads-per-lane"},
    };
    bool absent = true;
    for (const auto& [given, name] : options) {
      if (!given) continue;
      absent = false;
      diagnostics.add(
          {.code = "nothing-runs",
           .message = fmt::format("{} has no effect on results read from this file", name),
           .place = place_of_file(scenario),
           .pointer = "/measure/file",
           .hint = "use --backend host, cuda or nccl to run it instead"});
    }
    return absent;
  }

  std::optional<Scenario> load_on_machine(const std::string& file, Sources& sources,
                                          Diagnostics& diagnostics) {
    LoadOptions load = load_options_of(options_.run);
    load.workloads = true;
    if (options_.machine.empty()) return load_scenario(file, load, sources, diagnostics);
    std::optional<JsonValue> document = read_with_includes(file, sources, diagnostics);
    const std::optional<JsonValue> machine =
        read_machine_file(options_.machine, sources, diagnostics);
    if (!document || !machine) return std::nullopt;
    put_machine(*document, *machine);
    return load_scenario(std::move(*document), file, load, sources, diagnostics);
  }

  void choose_recorded(const Scenario& scenario) {
    ChosenPoint chosen = choose_point(scenario, options_.at);
    recorded_row_ = chosen.point;
    if (!chosen.note.empty() && !terminal_.quiet)
      terminal_.err << "--trace: " << chosen.note << '\n';
  }

  // --- running it -------------------------------------------------------------------------------

  void measure(const Scenario& scenario, Results& results,
               const std::function<void(const CaseResult&)>& row) {
    if (file_) {
      file_->fill(results, max_error_);
    } else {
      MeasureOptions options = measure_options(scenario);
      const bool forks = !interruptible_;
      Progress progress(terminal_, forks ? Progress::Clock::caller : Progress::Clock::thread);
      options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
      options.meanwhile = [&] { progress.tell_the_time(); };
      options.row = row;
      options.recorded = [&](const RecordedRun& run) {
        write_trace_of(run, scenario, options.how);
      };
      measure_rows(scenario, options, results);
      progress.clear();
    }
    if (!options_.trace.empty() && !trace_is_written_ && recorded_row_ < results.rows.size())
      tell_why_no_trace(results.rows[recorded_row_]);
  }

  MeasureOptions measure_options(const Scenario& scenario) {
    const Measure& wanted = scenario.measure;
    MeasureOptions options;
    options.how.paced = options_.paced || (wanted.paced && !options_.native);
    options.how.backend = backend_name(scenario, options.how.paced);
    const std::string& protocol = options_.protocol.empty() ? wanted.protocol : options_.protocol;
    options.how.protocol = protocol == "ll" ? Protocol::ll : Protocol::simple;
    options.how.iterations = options_.iterations.value_or(wanted.iterations);
    options.how.warmup = options_.warmup.value_or(wanted.warmup);
    options.how.max_error = max_error_;
    options.check = wanted.check && !options_.no_check;
    options.threads_per_lane = options_.threads_per_lane;
    options.stop = &terminal_.interrupted;
    if (!options_.trace.empty()) options.record = recorded_row_;
    choose_backend(options);
    return options;
  }

  std::string backend_name(const Scenario& scenario, bool paced) {
    if (!options_.backend.empty()) return options_.backend;
    if (!scenario.measure.backend.empty()) return scenario.measure.backend;
    if (!terminal_.quiet && !std::exchange(has_told_backend_, true)) tell_default(scenario, paced);
    return "host";
  }

  void tell_default(const Scenario& scenario, bool paced) {
    terminal_.err << "measuring with the default backend, host: threads of this machine (choose "
                     "with --backend)\n";
    const JsonValue* const preset = value_at(scenario.resolved, "cluster.preset");
    if (preset == nullptr || !preset->is_string() || paced) return;
    terminal_.err << fmt::format(
        "they are not the GPUs of {}: data are checked and times are not judged; on that machine "
        "choose cuda or nccl, and --paced emulates its links here\n",
        printable(preset->string()));
  }

  void choose_backend(MeasureOptions& options) const {
    const auto found = std::find_if(backends_.begin(), backends_.end(), [&](const Backend& one) {
      return one.name == options.how.backend;
    });
    if (found == backends_.end())
      options.unavailable =
          fmt::format("this program was built without the backend {}", options.how.backend);
    else if (std::optional<std::string> why_not = found->unavailable())
      options.unavailable = std::move(*why_not);
    else if (interruptible_)
      options.run = interruptible_(found->run, terminal_.interrupted);
    else
      options.run = found->run;
  }

  // --- results ----------------------------------------------------------------------------------

  int judge(const Scenario& scenario, const Results& results, bool output_tells) {
    const ComparisonCounts counts = count_verdicts(results);
    const bool none = counts.rows > 0 && counts.unmeasured == counts.rows;
    const bool lacking =
        none || counts.broken > 0 || (scenario.measure.required && counts.unmeasured > 0);
    int code = exit_fine;
    const auto tell = [&](ExitCode one, const std::string& what) {
      code = worse_of(code, one);
      if (!output_tells) terminal_.err << printable(results.file) << ": " << what << '\n';
    };
    if (counts.wrong_data > 0)
      tell(exit_wrong_data,
           fmt::format("wrong data in {}: {}", part_text(counts.wrong_data, counts.rows, "row"),
                       first_wrong(results)));
    if (lacking)
      tell(exit_not_measurable,
           fmt::format("{} {} not measured: {}", part_text(counts.unmeasured, counts.rows, "row"),
                       counts.unmeasured == 1 ? "was" : "were", first_reason(results)));
    const bool verdict_wanted = max_error_.has_value() || scenario.measure.required;
    if (verdict_wanted && counts.too_few_runs + counts.noisy > 0 && counts.judged() == 0)
      tell(exit_not_measurable, "no row could be judged: " + results.rows.front().why_no_verdict());
    if (counts.beyond > 0)
      tell(exit_failed,
           fmt::format("{} {} off by more than {:g}%", part_text(counts.beyond, counts.rows, "row"),
                       counts.beyond == 1 ? "is" : "are", 100 * *max_error_));
    return code;
  }

  static std::string first_wrong(const Results& results) {
    for (const CaseResult& row : results.rows)
      if (verdict_of(row, std::nullopt) == RowVerdict::wrong_data)
        return printable(row.measured->wrong_data);
    return {};
  }
  static std::string first_reason(const Results& results) {
    for (const CaseResult& row : results.rows)
      if (row.not_measured) return printable(row.not_measured->reason);
    return {};
  }

  // --- the trace --------------------------------------------------------------------------------

  void write_trace_of(const RecordedRun& run, const Scenario& scenario, const Comparison& how) {
    const Topology& topology = run.one_case.cluster->topology;
    const Simulation recorded = as_simulation(run.programs, run.timeline);
    const TraceInput input{topology, run.what, recorded,
                           scenario.title.empty() ? scenario.name : scenario.title,
                           how_it_was_measured(how)};
    try {
      TraceSummary summary;
      write_file(options_.trace, terminal_,
                 [&](std::ostream& out) { summary = write_trace(out, input); });
      trace_is_written_ = true;
      if (terminal_.quiet) return;
      terminal_.err << fmt::format("wrote {} events to {}; open it at https://ui.perfetto.dev\n",
                                   summary.events, options_.trace);
    } catch (const WriteError& error) {  // the results are still worth having
      trace_is_written_ = true;
      trace_code_ = exit_usage;
      terminal_.err << error.what() << '\n';
    }
  }

  void tell_why_no_trace(const CaseResult& row) {
    trace_code_ = exit_not_measurable;
    terminal_.err << "no trace was written: "
                  << (row.not_measured ? printable(row.not_measured->reason)
                      : file_          ? std::string("nothing was run")
                                       : "backend " + row.measured->backend + " records no steps")
                  << '\n';
  }

  const ValidateOptions& options_;
  std::span<const Backend> backends_;
  Terminal& terminal_;
  const BackendChoice::Interruptible& interruptible_;
  std::optional<double> max_error_;
  std::optional<MeasuredFile> file_;
  std::size_t recorded_row_ = 0;
  bool has_told_backend_ = false, trace_is_written_ = false;
  int trace_code_ = exit_fine;
};

constexpr int most_runs = 1'000'000;
constexpr int most_threads_per_lane = 1024;

void add_measuring_options(Options& command, ValidateOptions& options, bool between_processes) {
  // Hidden where it only has a reason why not.
  command
      .flag("--paced", options.paced,
            "emulate the links of the scenario: no message arrives earlier")
      .hidden = between_processes;
  command
      .flag("--native", options.native,
            between_processes ? "run a scenario that is paced at full speed"
                              : "run unpaced, at full speed (default unless the scenario is paced)")
      .excludes = "--paced";
  command.choice("--protocol", options.protocol, {"simple", "ll"},
                 between_processes
                     ? "how a message announces its arrival (default: simple; ll: --backend cuda)"
                     : "how a message announces its arrival (default: simple)");
  command.integer("--iters", options.iterations, "runs that count (default: 20; judging needs 3)",
                  1, most_runs);
  command.integer("--warmup", options.warmup, "runs before those that count (default: 1)", 0,
                  most_runs);
  command.flag("--no-check", options.no_check, "do not check the data");
  command.integer("--threads-per-lane", options.threads_per_lane,
                  "threads that share the work on a message (default: the backend chooses)", 1,
                  most_threads_per_lane);
}

}  // namespace

std::optional<double> max_error_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(part_of_option("--max-error", text));
}

double part_of_option(const char* option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto value =
      number_in<double>(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)));
  if (!value || !std::isfinite(*value) || *value < 0)
    throw UsageError(
        fmt::format("{} cannot be \"{}\": write a percentage, such as 15%", option, text));
  return percent || *value >= 1 ? *value / 100 : *value;
}

int validate_files(const ValidateOptions& options, std::span<const Backend> backends,
                   Terminal& terminal, const BackendChoice::Interruptible& interruptible) {
  return Validation(options, backends, terminal, interruptible).run();
}

Action declare_validate(Options& command, const BackendChoice& choice) {
  const auto options = std::make_shared<ValidateOptions>();
  command.value("FILE", options->run.files, "FILE", "scenario files; \"-\" reads standard input")
      .required = true;
  options->backend = choice.unless_told;
  std::vector<std::string> names;
  for (const Backend& backend : choice.backends) names.emplace_back(backend.name);
  command.choice("--backend", options->backend, names, choice.why);
  add_measuring_options(command, *options, choice.between_processes);
  command.value("--max-error", options->max_error, "PERCENT",
                "exit with 1 if a prediction is further off, such as 15% (default: no limit); rows "
                "that are too noisy or have fewer than 3 runs do not count");
  command.value("--machine", options->machine, "FILE",
                "a file whose \"cluster\" and \"model\" replace those of the scenarios, before "
                "--set; written by collsim calibrate");
  command.value("--set", options->run.set, "PATH=VALUE",
                "override a scenario value (may be repeated)");
  add_run_options(command, options->run);
  command.value("--trace", options->trace, "FILE",
                "also write the steps of one measured row as a timeline for Perfetto");
  command.value("--at", options->at, "PATH=VALUE",
                "which row --trace records: chunks=16 (default: the first)");
  return [options, choice](Terminal& terminal) {
    return validate_files(*options, choice.backends, terminal, choice.interruptible);
  };
}

Action declare_validate(Options& command) {
  return declare_validate(command,
                          {backends(), "",
                           "what runs it: threads of this machine, its GPUs, or NCCL (default: the "
                           "scenario's, or else host)"});
}

}  // namespace collsim
