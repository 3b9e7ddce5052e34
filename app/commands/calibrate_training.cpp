// SPDX-License-Identifier: Apache-2.0
#include "app/commands/calibrate_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "app/calibrate/training_fit.hpp"
#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/results/results.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/workload/device.hpp"
#include "app/scenario/workload/step_protocol.hpp"

namespace collsim {
namespace {

struct TrainingMachine {
  TrainingDevice device;  // of the preset: what is likely before any run is seen
  TrainingLinks links;
};

// Two nodes, so that there is a way from one to the other.
TrainingLinks links_of(const Preset& preset) {
  Diagnostics diagnostics;
  ClusterCache clusters;
  const auto cluster =
      clusters.get(JsonValue::object({{"preset", preset.name}, {"nodes", 2}}), diagnostics);
  TrainingLinks links{.protocols = {}, .gpus_per_node = preset.gpus};
  if (!cluster || preset.gpus < 2) return links;
  const Rank last_of_node(static_cast<std::size_t>(preset.gpus) - 1);
  const Rank first_of_next(static_cast<std::size_t>(preset.gpus));
  for (const LinkProtocol protocol : ring_protocols) {
    const TrainingLinks::Ways ways{
        way_between(cluster->topology, Rank(0), Rank(1), protocol),
        way_between(cluster->topology, last_of_node, first_of_next, protocol)};
    if (ways.node.rate > 0 && ways.network.rate > 0) links.protocols.push_back(ways);
  }
  return links;
}

TrainingMachine machine_of(const std::string& name) {
  if (name.empty()) throw UsageError("--from-training needs --preset, the machine of the runs");
  const Preset* const preset = find_preset(name);
  if (preset == nullptr) throw UsageError("--preset: there is no preset " + name);
  const auto device = device_of_preset(*preset);
  const TrainingLinks links = links_of(*preset);
  if (!device || links.protocols.empty())
    throw UsageError(
        "--preset: training runs are fitted on machines with NICs, NCCL's protocols and GPUs "
        "whose peak is known");
  return {*device, links};
}

// "latency,launch"
std::set<std::string> held_constants(std::string_view names) {
  std::set<std::string> held;
  while (!names.empty()) {
    if (names.front() == ' ') {
      names.remove_prefix(1);
      continue;
    }
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (std::find(training_constants.begin(), training_constants.end(), name) ==
        training_constants.end())
      throw UsageError(fmt::format("--hold: there is no constant \"{}\"; there are: {}", name,
                                   fmt::join(training_constants, ", ")));
    held.insert(name);
  }
  if (held.size() == training_constants.size()) throw UsageError("--hold: nothing is left to fit");
  return held;
}

std::vector<double> sizes(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  return errors;
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

// "95% within 4.2%"; of few runs "worst 4.2%".
std::string most_text(const std::vector<double>& sorted) {
  return sorted.size() < least_rows_for_percentiles
             ? fmt::format("worst {:.1f}%", 100 * sorted.back())
             : fmt::format("95% within {:.1f}%", 100 * quantile(sorted, 0.95));
}

int gpus_of(const TrainingRun& run) {
  return run.tp * run.pp * run.dp;
}

// How far the runs of each number of GPUs are from what a fit to all others predicts.
void print_splits(const std::vector<TrainingRun>& runs, const TrainingMachine& machine,
                  const std::set<std::string>& held, std::ostream& out) {
  std::set<int> counts;
  for (const TrainingRun& run : runs) counts.insert(gpus_of(run));
  if (counts.size() < 2) return;
  TextTable table;
  for (const char* heading : {"GPUs left out", "runs", "half within", "worst"})
    table.add_column(heading);
  for (const int count : counts) {
    std::vector<TrainingRun> others, left_out;
    for (const TrainingRun& run : runs) (gpus_of(run) == count ? left_out : others).push_back(run);
    const TrainingFit fitted = fit_training(others, machine.device, machine.links, held);
    std::vector<double> errors;
    errors.reserve(left_out.size());
    for (const TrainingRun& run : left_out)
      errors.push_back(step_formula(run, fitted.device, machine.links) / run.step_s - 1);
    const std::vector<double> sorted = sizes(std::move(errors));
    table.add_row({std::to_string(count), std::to_string(sorted.size()),
                   fmt::format("{:.1f}%", 100 * quantile(sorted, 0.5)),
                   fmt::format("{:.1f}%", 100 * sorted.back())});
  }
  out << '\n' << table.text();
}

}  // namespace

int run_calibrate_training(const CalibrateTrainingOptions& options, Terminal& terminal) {
  using Recompute = Transformer::Recompute;
  const TrainingMachine machine = machine_of(options.preset);
  const std::set<std::string> held = held_constants(options.held);
  Sources sources;
  Diagnostics diagnostics;
  const auto source = read_source(options.table, sources, diagnostics);
  TrainingTable table;
  if (source)
    table = read_training_table(*source, sources,
                                options.recompute == "full" ? Recompute::full : Recompute::none,
                                diagnostics);
  if (!diagnostics.empty()) return show_mistakes(diagnostics, sources, terminal);
  const std::vector<TrainingRun>& runs = table.runs;
  constexpr std::size_t least_runs = 10;
  if (runs.size() < least_runs)
    throw UsageError(fmt::format("{} {} too few to fit to; there must be {}",
                                 count_text(runs.size(), "run"), runs.size() == 1 ? "is" : "are",
                                 least_runs));
  const TrainingFit fitted = fit_training(runs, machine.device, machine.links, held);
  const std::vector<double> sorted = sizes(fitted.errors);
  const JsonValue device = device_value(fitted.device);
  std::vector<std::string> undetermined = fitted.undetermined;
  std::erase_if(undetermined, [&held](const std::string& name) { return held.contains(name); });
  terminal.out << fmt::format(
      "{} fitted to {} runs: half within {:.1f}%, {} (by the formula)\n",
      count_text(fitted.constants.size() - held.size() - undetermined.size(), "constant"),
      runs.size(), 100 * quantile(sorted, 0.5), most_text(sorted));
  if (!undetermined.empty())
    terminal.out << fmt::format("As the preset has them, because no run depends on them: {}\n",
                                fmt::join(undetermined, ", "));
  if (!table.other_columns.empty())
    terminal.out << fmt::format("Columns passed over: {}\n", fmt::join(table.other_columns, ", "));
  terminal.out << '\n';
  constexpr double far_off = 0.25;
  if (quantile(sorted, 0.5) > far_off)
    terminal.out << "These are hardly runs of " << options.preset << ".\n\n";
  terminal.out << "\"device\": " << to_pretty_json(device) << '\n';
  print_splits(runs, machine, held, terminal.out);
  if (options.output.empty()) return exit_fine;
  const JsonValue file =
      JsonValue::object({{"scenario", 1}, {"workload", JsonValue::object({{"device", device}})}});
  write_file(options.output, terminal,
             [&](std::ostream& out) { out << to_pretty_json(file) << '\n'; });
  return exit_fine;
}

}  // namespace collsim
