// SPDX-License-Identifier: Apache-2.0
#include "app/commands/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "app/commands/interrupts.hpp"
#include "app/commands/progress.hpp"
#include "app/commands/results_writer.hpp"
#include "app/commands/run_part.hpp"
#include "app/expression/expectation.hpp"
#include "app/json/screen_text.hpp"
#include "app/study/memory_limit.hpp"
#include "app/study/run_case.hpp"

namespace collsim {
namespace {

struct Leaf {
  std::string path;     // collective.chunks
  std::string pointer;  // /collective/chunks
  const JsonValue* value;
};

bool is_plain(const JsonValue& value) {
  return !value.is_array() && !value.is_object();
}

// Lists of plain values stay whole: they are one thing to a reader.
bool is_leaf(const JsonValue& value) {
  if (value.is_object()) return value.members().empty();
  if (value.is_array()) return std::all_of(value.items().begin(), value.items().end(), is_plain);
  return true;
}

void collect(const JsonValue& value, const std::string& path, const std::string& pointer,
             std::vector<Leaf>& leaves) {
  const auto below = [&](const std::string& step) {
    return path.empty() ? step : path + "." + step;
  };
  if (is_leaf(value)) {
    leaves.push_back({path, pointer, &value});
  } else if (value.is_object()) {
    for (const JsonValue::Member& member : value.members())
      collect(member.value, below(member.key), pointer_to(pointer, member.key), leaves);
  } else {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      collect(value.items()[i], below(std::to_string(i)), pointer_to(pointer, i), leaves);
  }
}

// Defaults of a preset are that machine's own.
std::string origin_of(const Leaf& leaf, const JsonValue& resolved, const Sources& sources) {
  const JsonValue* cluster = resolved.find("cluster");
  const JsonValue* preset = cluster != nullptr ? cluster->find("preset") : nullptr;
  if (preset != nullptr && leaf.value->place.source == SourceRange::nowhere &&
      leaf.path.starts_with("cluster.override."))
    return "preset " + preset->string();
  return sources.describe(leaf.value->place);
}

std::vector<Leaf> leaves_of(const JsonValue& resolved) {
  std::vector<Leaf> leaves;
  collect(resolved, {}, {}, leaves);
  return leaves;
}

// A resolved scenario with where each of its values came from (run --print-resolved).  The text
// shortens what is long; the value is whole.
//
//   collective.chunks = 16         scenarios/x.json:5:20
//   collective.root   = 0          default
std::string resolved_text(const JsonValue& resolved, const Sources& sources) {
  const std::vector<Leaf> leaves = leaves_of(resolved);
  std::vector<std::string> values;
  std::size_t path_width = 0;
  std::size_t value_width = 0;
  for (const Leaf& leaf : leaves) {
    values.push_back(shortened(printable(plain_text(*leaf.value))));
    path_width = std::max(path_width, leaf.path.size());
    value_width = std::max(value_width, values.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    text += fmt::format("{:{}} = {:{}}   {}\n", printable(leaves[i].path), path_width, values[i],
                        value_width, origin_of(leaves[i], resolved, sources));
  return text;
}

// {"scenario": {...}, "origins": {"/collective/chunks": "scenarios/x.json:5:20", ...}}
JsonValue resolved_value(const JsonValue& resolved, const Sources& sources) {
  JsonValue origins = JsonValue::object();
  for (const Leaf& leaf : leaves_of(resolved))
    origins.set(leaf.pointer, origin_of(leaf, resolved, sources));
  return JsonValue::object({{"scenario", resolved}, {"origins", std::move(origins)}});
}

// Takes scenarios one after the other, and says at the end with what to exit: the worst of all.
class Run {
 public:
  Run(const RunCommandOptions& options, const RunHooks& hooks, Terminal& terminal)
      : options_(options),
        hooks_(hooks),
        terminal_(terminal),
        outputs_(options.outputs, options.format, options.files),
        format_(outputs_.standard_format()),
        printer_(terminal, format_, options.files.size() > 1) {}

  void take_file(const std::string& file) {
    Sources sources;
    Diagnostics diagnostics;
    LoadOptions load = load_options_of(options_);
    load.workloads = true;
    take(hooks_.load ? hooks_.load(file, sources, diagnostics)
                     : load_scenario(file, load, sources, diagnostics),
         sources, diagnostics);
  }

  void take(std::optional<Scenario> scenario, const Sources& sources, Diagnostics& diagnostics) {
    if (!scenario)
      refuse(diagnostics, sources);
    else if (options_.print_resolved)
      print_resolved(*scenario, sources);
    else
      simulate(std::make_shared<const Scenario>(std::move(*scenario)), sources, diagnostics);
  }

  // Stop: interrupted, or the reader of the output has closed it.
  [[nodiscard]] bool should_stop() const {
    return terminal_.interrupted || (!terminal_.out && outputs_.empty());
  }

  // After so many of the files.
  void leave_out_the_rest(std::size_t taken) {
    lacks_rows_ = true;
    if (terminal_.interrupted && !terminal_.quiet)
      terminal_.err << "interrupted: " << part_text(taken, options_.files.size(), "file")
                    << " taken\n";
  }

  int finish() {
    printer_.finish();
    outputs_.write(terminal_);
    if (terminal_.interrupted && !lacks_rows_ && !terminal_.quiet)
      terminal_.err << "interrupted when the last row was done: none is missing\n";
    return terminal_.interrupted ? exit_interrupted : worst_;
  }

 private:
  void refuse(const Diagnostics& diagnostics, const Sources& sources) {
    worst_ = worse_of(worst_, exit_usage);
    const JsonValue mistakes = to_value(diagnostics, sources);
    outputs_.keep(mistakes);
    if (outputs_.is_standard_output() && format_ == Format::json) return;
    if (format_ == Format::json)
      printer_.print(mistakes);
    else
      show_mistakes(diagnostics, sources, terminal_);
  }

  void print_resolved(const Scenario& scenario, const Sources& sources) {
    if (format_ == Format::json)
      printer_.print(resolved_value(scenario.resolved, sources));
    else
      printer_.print(scenario.file, resolved_text(scenario.resolved, sources));
  }

  void simulate(const std::shared_ptr<const Scenario>& kept, const Sources& sources,
                Diagnostics& diagnostics) {
    const Scenario& scenario = *kept;
    const std::string of_collectives = scenario.is_step() ? outputs_.of_collectives() : "";
    if (!of_collectives.empty()) {
      diagnostics.add(
          {.code = "no-workloads",
           .message = "a workload has no collective of its own to show in " + of_collectives,
           .place = scenario.document.place,
           .pointer = "/workload",
           .hint = "use --format table, json, jsonl, csv or markdown"});
      return refuse(diagnostics, sources);
    }
    if (!watch_) watch_.emplace();
    Progress progress(terminal_);
    StudyOptions study;
    study.gauge = std::make_shared<SimulationGauge>();
    progress.watch(study.gauge);
    study.jobs = options_.jobs;
    study.stop = &terminal_.interrupted;
    study.kept_alive = kept;
    study.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    std::function<void(const CaseResult&)> at_once;
    if (printer_.prints_rows(hooks_.measure != nullptr) && outputs_.prints(terminal_.quiet))
      at_once = [&](const CaseResult& row) { printer_.print_row(row, scenario.axes); };
    if (hooks_.measure)
      study.measure = [&](Results& results) {
        progress.clear();
        hooks_.measure(scenario, results, at_once);
      };
    else
      study.row = at_once;
    std::optional<Results> results = hooks_.study ? hooks_.study(scenario, study, diagnostics)
                                                  : run_study(scenario, study, diagnostics);
    progress.clear();
    if (!results) {
      printer_.end_rows();
      return refuse(diagnostics, sources);
    }

    lacks_rows_ = lacks_rows_ || !results->complete;
    show_warnings(*results, sources, terminal_);
    tell_incomplete(*results);
    tell_failures(*results);
    judge(scenario, *results);
    if (outputs_.prints(terminal_.quiet)) printer_.print(*results);
    outputs_.keep(std::move(*results));
  }

  // Other formats say it themselves, and without --quiet a warning does.
  void tell_incomplete(const Results& results) {
    const bool says_nothing = format_ == Format::table || format_ == Format::nccl_tests;
    if (results.complete || !terminal_.quiet || !says_nothing || !outputs_.prints(true)) return;
    terminal_.err << printable(results.file)
                  << " is incomplete: " << part_text(results.rows.size(), results.points, "point")
                  << '\n';
  }

  // The table says it itself; elsewhere the exit code alone would be a riddle.
  void tell_failures(const Results& results) {
    for (const ExpectationOutcome& outcome : results.expect) {
      if (outcome.ok || !outcome.skipped.empty()) continue;
      worst_ = worse_of(worst_, exit_failed);
      if (output_tells()) continue;
      terminal_.err << "expectation " << printable(outcome.id)
                    << " failed: " << printable(outcome.failure) << '\n';
    }
  }

  [[nodiscard]] bool output_tells() const {
    return format_ == Format::table && outputs_.prints(terminal_.quiet) && !terminal_.quiet;
  }

  void judge(const Scenario& scenario, const Results& results) {
    if (hooks_.judge)
      worst_ = worse_of(worst_, hooks_.judge(scenario, results, output_tells()));
    else
      insist_on_measuring(scenario, results);
  }

  // What needs a measurement and was skipped is fine, unless the scenario says that it is not.
  void insist_on_measuring(const Scenario& scenario, const Results& results) {
    const auto is_skipped = [](const ExpectationOutcome& one) { return !one.skipped.empty(); };
    if (!scenario.measure.required ||
        std::none_of(results.expect.begin(), results.expect.end(), is_skipped))
      return;
    worst_ = worse_of(worst_, exit_not_measurable);
    terminal_.err << printable(scenario.file)
                  << " requires a measurement (measure.required); use collsim validate\n";
  }

  const RunCommandOptions& options_;
  const RunHooks& hooks_;
  Terminal& terminal_;
  Outputs outputs_;
  Format format_;
  Printer printer_;
  int worst_ = exit_fine;
  bool lacks_rows_ = false;              // some were not simulated or measured
  std::optional<InterruptWatch> watch_;  // until what was simulated is written
};

// All rows of a sweep are kept, for its summary.
std::size_t rows_that_fit() {
  constexpr double bytes_of_row = 2'500;
  return static_cast<std::size_t>(memory_limit() / bytes_of_row);
}

}  // namespace

int run_files(const RunCommandOptions& options, const RunHooks& hooks, Terminal& terminal) {
  Run run(options, hooks, terminal);
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    run.take_file(options.files[i]);
    if (!run.should_stop()) continue;
    if (i + 1 < options.files.size()) run.leave_out_the_rest(i + 1);
    break;
  }
  return run.finish();
}

LoadOptions load_options_of(const RunCommandOptions& options) {
  LoadOptions load;
  load.set = options.set;
  load.also_check = [](const Scenario& scenario, Diagnostics& diagnostics) {
    static_cast<void>(Expectations::read(scenario, diagnostics));
  };
  if (options.more_points) load.max_points = max_sweep_points;
  load.max_points = std::min(load.max_points, rows_that_fit());
  return load;
}

int run_document(const RunCommandOptions& options, const std::string& name, JsonValue document,
                 Sources sources, Terminal& terminal, const RunHooks& hooks) {
  Run run(options, hooks, terminal);
  Diagnostics diagnostics;
  run.take(load_scenario(std::move(document), name, load_options_of(options), sources, diagnostics),
           sources, diagnostics);
  return run.finish();
}

void add_run_options(Options& command, RunCommandOptions& options) {
  add_output_options(command, options.format, options.outputs);
  command.integer("--jobs", options.jobs, "points to simulate at once (default: one per core)", 1,
                  1024);
  command.flag("--yes", options.more_points, "allow sweeps of more than 100000 points");
}

Action declare_run(Options& command) {
  const auto options = std::make_shared<RunCommandOptions>();
  command.value("FILE", options->files, "FILE", "scenario files; \"-\" reads standard input")
      .required = true;
  command.value("--set", options->set, "PATH=VALUE", "override a scenario value (may be repeated)");
  add_run_options(command, *options);
  command
      .value("--part", options->part, "I/N",
             "simulate only the I-th of N parts of the points and keep it in the folder of -o, for "
             "collsim merge; without --part, srun, mpirun and job arrays say which")
      .excludes = "--print-resolved";
  command.flag("--print-resolved", options->print_resolved,
               "print the complete scenario with the origin of each value; simulate nothing");
  return [options](Terminal& terminal) {
    return wants_part(*options) ? run_part(*options, terminal) : run_files(*options, {}, terminal);
  };
}

}  // namespace collsim
