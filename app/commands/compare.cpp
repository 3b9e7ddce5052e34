// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <set>

#include "app/calibrate/measured_cases.hpp"
#include "app/commands/command.hpp"
#include "app/commands/machine_option.hpp"
#include "app/commands/measured_answers.hpp"
#include "app/commands/predict.hpp"
#include "app/commands/results_writer.hpp"
#include "app/commands/validate.hpp"
#include "app/json/screen_text.hpp"
#include "app/measured/measured_file.hpp"
#include "app/results/results.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

struct CompareOptions {
  std::string log, machine, preset, network, algorithm, max_error, min_busbw;
  bool in_place = false;
  AnswerOptions answers;
  RunCommandOptions run;
};

// "450GB/s": of the largest busbw.  "90%": of each row's predicted busbw.
struct LeastBusbw {
  std::optional<double> bytes_per_s, part;
};

LeastBusbw least_busbw_of(const std::string& text) {
  if (text.empty()) return {};
  if (text.ends_with('%')) return {std::nullopt, part_of_option("--min-busbw", text)};
  const Parsed<Bandwidth> rate = parse_bandwidth(text);
  if (!rate.value)
    throw UsageError(fmt::format(
        "--min-busbw cannot be \"{}\": write a rate, such as 450GB/s, or a part of what is "
        "predicted, such as 90%",
        text));
  return {static_cast<double>(rate.value->bytes_per_second()), std::nullopt};
}

// What a machine is called whose GPUs share one network of links: its nodes are no hosts.
constexpr int gpus_of_a_rack = 17;

// How the ranks of a log lie on a preset.
struct Placement {
  std::string preset;
  std::int64_t nodes = 1, gpus_of_each = 1;
};

class LogComparison {
 public:
  LogComparison(const CompareOptions& options, Terminal& terminal)
      : options_(options),
        terminal_(terminal),
        max_error_(max_error_of(options.max_error)),
        least_busbw_(least_busbw_of(options.min_busbw)) {}

  int run() {
    for (const std::string& output : options_.run.outputs)
      refuse_overwriting(output, {options_.log, options_.machine});
    Sources sources;
    Diagnostics diagnostics;
    tables_ = read_measurements(options_.log, sources, diagnostics);
    if (!diagnostics.empty()) return show_mistakes(diagnostics, sources, terminal_);
    if (tables_.empty())
      throw UsageError(
          fmt::format("{} holds results of collsim; a scenario compares with them by "
                      "\"measure\": {{\"file\": ...}}",
                      printable(options_.log)));
    const MeasuredAnswers answers = options_.answers.read();
    for (MeasuredTable& table : tables_) answer(table, answers);
    refuse_open_questions();
    for (const MeasuredTable& table : tables_)
      if (*table.ranks == 1)
        throw UsageError(fmt::format("{}: one rank sends nothing, so there is nothing to predict",
                                     printable(table.source)));

    RunCommandOptions run = options_.run;
    for (const MeasuredTable& table : tables_)
      run.files.push_back(tables_.size() == 1 ? options_.log : table.source);
    RunHooks hooks;
    hooks.load = [this](const std::string& name, Sources& of_run, Diagnostics& mistakes) {
      return load(name, of_run, mistakes);
    };
    hooks.measure = [this](const Scenario&, Results& results, const auto&) { fill(results); };
    hooks.judge = [this](const Scenario&, const Results& results, bool output_tells) {
      return judge(results, output_tells);
    };
    return run_files(run, hooks, terminal_);
  }

 private:
  void refuse_open_questions() const {
    std::set<std::string> asked;
    std::string message;
    for (const MeasuredTable& table : tables_)
      for (const std::string& question : questions_about(table))
        if (asked.insert(question).second)
          message += fmt::format("\n  {}: {}", printable(table.source), question);
    if (message.empty()) return;
    for (const MeasuredTable& table : tables_)
      if (options_.machine.empty() && options_.preset.empty() && preset_of(table) == nullptr &&
          asked.insert("GPUs").second)
        message += fmt::format("\n  {}: which GPUs ran? --preset NAME, of \"collsim presets\"",
                               printable(table.source));
    throw UsageError("the log does not say" + message);
  }

  // --- what to predict -------------------------------------------------------------------------

  // The next table: run_files() asks in their order.
  std::optional<Scenario> load(const std::string& name, Sources& sources,
                               Diagnostics& diagnostics) {
    table_ = &tables_[next_++];
    warnings_.clear();
    has_other_gpus_ = false;
    file_.emplace(name, *table_);
    PredictOptions wanted = wanted_prediction();
    std::optional<JsonValue> document = options_.machine.empty()
                                            ? on_preset(std::move(wanted), sources)
                                            : on_machine(std::move(wanted), sources, diagnostics);
    if (!document) return std::nullopt;
    document->erase("name");  // then it is that of the log
    for (const std::string& note : table_->notes) warnings_.push_back(note);
    LoadOptions load = load_options_of(options_.run);
    std::optional<Scenario> scenario =
        load_scenario(std::move(*document), name, load, sources, diagnostics);
    if (scenario && !has_as_many_ranks(*scenario, diagnostics)) return std::nullopt;
    return scenario;
  }

  PredictOptions wanted_prediction() {
    PredictOptions wanted;
    wanted.run = options_.run;
    wanted.operation = table_->operation;
    const Operation operation = parse_operation(table_->operation);
    if (!options_.algorithm.empty()) wanted.algorithm = options_.algorithm;
    wanted.type = table_->dtype;
    if (!element_type_words().canonical(table_->dtype)) {
      wanted.type = "int8";
      assume(fmt::format("{} is taken as int8, which is as large", printable(table_->dtype)));
    }
    if (reduces(operation)) {
      wanted.reduction = known_reduction(table_->reduction);
      if (wanted.reduction.empty() && !table_->reduction.empty())
        assume(fmt::format("the reduction {} is taken as sum", printable(table_->reduction)));
    }
    if (has_root(operation)) wanted.root = table_->root.value_or(0);
    wanted.in_place = options_.in_place;
    wanted.exact_sizes = sizes();
    return wanted;
  }

  // Those that move something, each once.
  [[nodiscard]] std::vector<Bytes> sizes() const {
    std::vector<Bytes> sizes;
    std::set<Bytes> known;
    for (const MeasuredTableRow& row : table_->rows) {
      const std::optional<double> time = options_.in_place ? row.in_place_s : row.time_s;
      if (row.size > 0 && time && *time > 0 && !row.suspect && known.insert(row.size).second)
        sizes.push_back(row.size);
    }
    if (sizes.empty())
      throw UsageError(fmt::format("{}: no row has a size and a time{}", printable(table_->source),
                                   options_.in_place ? " in place" : ""));
    return sizes;
  }

  std::optional<JsonValue> on_preset(PredictOptions wanted, Sources& sources) {
    const Placement placement = place();
    wanted.preset = placement.preset;
    wanted.nodes = placement.nodes;
    wanted.network = network(placement);
    wanted.gpus_of_each_node = placement.gpus_of_each;
    wanted.launch_mode = to_string(table_->launch);
    return predicted_scenario(wanted, sources);
  }

  // That of the log, unless the user knows better; empty: the preset's.
  std::string network(const Placement& placement) {
    if (!options_.network.empty() || placement.nodes == 1) return options_.network;
    const std::optional<std::string> said = network_of(*table_);
    if (!said)
      assume(fmt::format("network {}, which is that of {}; --network KIND says otherwise",
                         find_preset(placement.preset)->network, placement.preset));
    return said.value_or("");
  }

  Placement place() {
    const Preset& preset = chosen_preset();
    const std::int64_t ranks = *table_->ranks;
    Placement placement{preset.name, 1, ranks};
    const std::int64_t needed = (ranks - 1) / preset.gpus + 1;
    if (preset.gpus >= gpus_of_a_rack) {
      placement.nodes = needed;
    } else if (table_->nodes) {
      placement.nodes = *table_->nodes;
    } else {
      placement.nodes = needed;
      assume(
          fmt::format("{} node{}, because the log does not say how many; --nodes N says otherwise",
                      needed, needed == 1 ? "" : "s"));
    }
    if (ranks % placement.nodes != 0)
      throw UsageError(fmt::format("{}: {} ranks on {} nodes are not as many on each",
                                   printable(table_->source), ranks, placement.nodes));
    placement.gpus_of_each = ranks / placement.nodes;
    if (placement.gpus_of_each > preset.gpus)
      throw UsageError(
          fmt::format("{}: {} ranks on {} node{}, but a {} has {} GPUs; --nodes {} has "
                      "enough",
                      printable(table_->source), ranks, placement.nodes,
                      placement.nodes == 1 ? "" : "s", preset.name, preset.gpus, needed));
    return placement;
  }

  const Preset& chosen_preset() {
    if (!options_.preset.empty()) {
      if (const Preset* preset = find_preset(options_.preset)) {
        doubt(*preset);
        return *preset;
      }
      throw UsageError("there is no preset" +
                       did_you_mean(options_.preset, preset_words().allowed));
    }
    if (const Preset* preset = find_preset(table_->preset)) return *preset;
    if (const Preset* preset = find_preset(preset_for_gpu(table_->gpu))) {
      assume(fmt::format("preset {}, because the GPUs are \"{}\"; --preset NAME says otherwise",
                         preset->name, printable(table_->gpu)));
      return *preset;
    }
    const std::string gpus =
        table_->gpu.empty() ? "the log does not say which GPUs ran"
                            : fmt::format("no preset is known for \"{}\"", printable(table_->gpu));
    throw UsageError(
        fmt::format("{}: {}; --preset NAME, or a FILE with a \"cluster\"\n  presets: {}",
                    printable(table_->source), gpus, preset_names()));
  }

  // Where the log has other GPUs than the machine that the user names.
  void doubt(const Preset& preset) {
    if (are_gpus_of(*table_, preset)) return;
    has_other_gpus_ = find_preset(preset_for_gpu(table_->gpu)) != nullptr;
    assume(fmt::format("\"{}\", as the log calls its GPUs, are as fast as those of {}",
                       printable(table_->gpu), preset.name));
  }

  static std::string preset_names() {
    std::string names;
    for (const std::string& name : preset_words().allowed)
      names += (names.empty() ? "" : ", ") + name;
    return names;
  }

  // A scenario's cluster and model, and its algorithm for the same operation.
  std::optional<JsonValue> on_machine(PredictOptions wanted, Sources& sources,
                                      Diagnostics& diagnostics) {
    const std::optional<JsonValue> file = read_machine_file(options_.machine, sources, diagnostics);
    if (!file) return std::nullopt;
    JsonValue document = predicted_scenario(wanted, sources);
    put_machine(document, *file);
    keep_choices(*file, document);
    launch_as_the_log_says(document);
    return document;
  }

  // Where launches cost time and the machine does not say who launches.
  void launch_as_the_log_says(JsonValue& document) const {
    if (table_->launch == MeasuredLaunch::unknown) return;
    const bool is_preset = document.find("cluster")->find("preset") != nullptr;
    if (document.find("model") == nullptr && is_preset) document.set("model", JsonValue::object());
    JsonValue* const model = document.find("model");
    if (model == nullptr || !model->is_object()) return;
    if (model->find("launch") == nullptr && is_preset) model->set("launch", JsonValue::object());
    JsonValue* const launch = model->find("launch");
    if (launch == nullptr || !launch->is_object() || launch->find("mode") != nullptr) return;
    launch->set("mode", std::string(to_string(table_->launch)));
  }

  void keep_choices(const JsonValue& file, JsonValue& document) const {
    const JsonValue* const theirs = file.find("collective");
    const JsonValue* const op = theirs != nullptr ? theirs->find("op") : nullptr;
    const bool same = op != nullptr && op->is_string() &&
                      operation_words().canonical(op->string()) == table_->operation;
    JsonValue& ours = *document.find("collective");
    for (const char* key : {"algorithm", "chunks", "chunk_size", "channels", "slots", "ranks"}) {
      const JsonValue* const value = theirs != nullptr ? theirs->find(key) : nullptr;
      const bool is_algorithm = std::string_view(key) == "algorithm";
      if (value == nullptr || (!same && std::string_view(key) != "ranks") ||
          (is_algorithm && !options_.algorithm.empty()))
        continue;
      ours.set(key, *value);
    }
  }

  bool has_as_many_ranks(const Scenario& scenario, Diagnostics& diagnostics) const {
    ClusterCache clusters;
    const std::optional<Case> first = make_case(scenario, 0, clusters, diagnostics);
    if (!first) return false;
    const auto there = static_cast<std::int64_t>(first->collective.group.size());
    if (there == *table_->ranks) return true;
    diagnostics.add({.code = "other-ranks",
                     .message = fmt::format(
                         "the log has {}, but {} has {}", count_text(*table_->ranks, "rank"),
                         options_.machine.empty() ? "the scenario" : options_.machine, there),
                     .hint = "change its \"cluster\", with --set too, or name the ranks: --set "
                             "'collective.ranks=[0, 1]'"});
    return false;
  }

  void assume(std::string what) { warnings_.push_back("assumed: " + std::move(what)); }

  // --- what comes of it ------------------------------------------------------------------------

  void fill(Results& results) {
    file_->fill(results, max_error_);
    if (has_other_gpus_)
      for (CaseResult& row : results.rows) row.error_class.reset();
    for (std::string& warning : warnings_)
      results.warnings.push_back({"log", std::move(warning), {}});
  }

  int judge(const Results& results, bool output_tells) const {
    const ComparisonCounts counts = count_verdicts(results);
    int code = exit_fine;
    const auto tell = [&](ExitCode one, const std::string& what, bool always) {
      code = worse_of(code, one);
      if (always || !output_tells) terminal_.err << printable(results.file) << ": " << what << '\n';
    };
    if (counts.wrong_data > 0)
      tell(exit_wrong_data, "wrong data in " + part_text(counts.wrong_data, counts.rows, "row"),
           false);
    else if (table_->wrong_values != 0)
      tell(exit_wrong_data,
           "the run found " + count_text(table_->wrong_values, "wrong value") +
               ", in no row of these",
           false);
    if (counts.judged() == 0)
      tell(exit_not_measurable, "no row can be compared: " + results.rows.front().why_no_verdict(),
           false);
    if (counts.beyond > 0)
      tell(exit_failed,
           fmt::format("{} {} off by more than {:g}%", part_text(counts.beyond, counts.rows, "row"),
                       counts.beyond == 1 ? "is" : "are", 100 * *max_error_),
           false);
    if (const std::string slow = too_slow(results); !slow.empty()) tell(exit_failed, slow, true);
    return code;
  }

  // What is slower than --min-busbw allows; empty: nothing.
  [[nodiscard]] std::string too_slow(const Results& results) const {
    double largest = 0;
    std::size_t slow = 0;
    for (const CaseResult& row : results.rows) {
      const double busbw = row.measured_algbw() * busbw_factor(row.operation, row.ranks);
      largest = std::max(largest, busbw);
      if (least_busbw_.part && row.measured && busbw < *least_busbw_.part * row.busbw()) ++slow;
    }
    if (slow > 0)
      return fmt::format("in {} the busbw is less than {:g}% of what is predicted",
                         part_text(slow, results.rows.size(), "row"), 100 * *least_busbw_.part);
    if (least_busbw_.bytes_per_s && largest < *least_busbw_.bytes_per_s)
      return fmt::format("the largest busbw is {:.4g} GB/s, less than {}", largest / 1e9,
                         options_.min_busbw);
    return {};
  }

  const CompareOptions& options_;
  Terminal& terminal_;
  std::optional<double> max_error_;
  LeastBusbw least_busbw_;
  std::vector<MeasuredTable> tables_;
  const MeasuredTable* table_ = nullptr;
  bool has_other_gpus_ = false;
  std::size_t next_ = 0;
  std::optional<MeasuredFile> file_;
  std::vector<std::string> warnings_;
};

}  // namespace

Action declare_compare(Options& command) {
  const auto options = std::make_shared<CompareOptions>();
  command.value("LOG", options->log, "FILE", log_in_words).required = true;
  command.value("FILE", options->machine, "FILE",
                "a scenario or a calibrated machine, whose cluster and model are used");
  command
      .value("--preset", options->preset, "NAME",
             "the machine it ran on (default: by the name of its GPUs); \"collsim presets\"")
      .excludes = "FILE";
  word_option(command, "--network", options->network, network_words(),
              "kind of the network that joins its nodes (default: the preset's)")
      .excludes = "FILE";
  options->answers.declare(command);
  command.value("--algorithm", options->algorithm, "NAME",
                "what to predict with (default: as collsim predict)");
  command.flag("--in-place", options->in_place, "compare the times in place");
  command.value("--max-error", options->max_error, "PERCENT",
                "exit with 1 if a prediction is further off, such as 15% (default: no limit)");
  command.value("--min-busbw", options->min_busbw, "RATE",
                "exit with 1 if the largest measured busbw is less (450GB/s), or a row's is less "
                "than that part of the predicted one (90%)");
  command.value("--set", options->run.set, "PATH=VALUE",
                "override a value of the predicted scenario (may be repeated)");
  add_run_options(command, options->run);
  return [options](Terminal& terminal) { return LogComparison(*options, terminal).run(); };
}

}  // namespace collsim
