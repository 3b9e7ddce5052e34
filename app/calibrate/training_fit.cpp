// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/training_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/json/screen_text.hpp"
#include "app/scenario/workload/device.hpp"

namespace collsim {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

using Columns = std::map<std::string_view, std::size_t>;

constexpr const char* needed_columns[] = {
    "tp", "pp", "dp", "global_batch", "micro_batch", "hidden", "heads", "layers", "seq"};

// Nothing when a number is missing, not positive, or the batch is no whole number of microbatches.
std::optional<TrainingRun> run_of(const std::vector<std::string_view>& cells,
                                  const Columns& columns) {
  bool right = true;
  const auto number = [&](std::string_view name) {
    const auto column = columns.find(name);
    const bool there = column != columns.end() && column->second < cells.size();
    const double value = there ? number_in<double>(cells[column->second]).value_or(0) : 0;
    right = right && value > 0 && value < 1e12;
    return right ? value : 1.0;
  };
  const auto whole = [&](std::string_view name) { return std::llround(number(name)); };
  TrainingRun run;
  run.tp = static_cast<int>(whole("tp"));
  run.pp = static_cast<int>(whole("pp"));
  run.dp = static_cast<int>(whole("dp"));
  run.model.layers = whole("layers");
  run.model.hidden = whole("hidden");
  run.model.heads = whole("heads");
  run.model.sequence = whole("seq");
  run.model.micro_batch = whole("micro_batch");
  run.model.vocabulary = megatron_vocabulary;
  const std::int64_t at_once = run.model.micro_batch * run.dp;
  right = right && whole("global_batch") % std::max<std::int64_t>(at_once, 1) == 0;
  run.microbatches = whole("global_batch") / std::max<std::int64_t>(at_once, 1);
  run.step_s =
      columns.contains("iteration_ms") ? number("iteration_ms") / 1e3 : number("iteration_s");
  return right ? std::optional(run) : std::nullopt;
}

double ring(double ranks, double bytes, double bandwidth) {
  return ranks > 1 ? 2 * (ranks - 1) / ranks * bytes / bandwidth : 0;
}

}  // namespace

std::vector<TrainingRun> read_training_runs(std::uint32_t source, const Sources& sources,
                                            Transformer::Recompute recompute,
                                            Diagnostics& diagnostics) {
  std::vector<TrainingRun> runs;
  Columns columns;
  std::size_t number = 0;
  for (std::string_view line : split_at(sources.text(source), '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> cells = split_at(line, ',');
    if (columns.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) columns.emplace(cells[i], i);
      for (const char* name : needed_columns)
        if (!columns.contains(name))
          diagnostics.add({.code = "missing-column",
                           .message = fmt::format("{}: there is no column \"{}\"",
                                                  sources.name(source), name)});
      if (!columns.contains("iteration_ms") && !columns.contains("iteration_s"))
        diagnostics.add({.code = "missing-column",
                         .message = fmt::format("{}: there is no column \"iteration_ms\"",
                                                sources.name(source))});
      if (!diagnostics.empty()) return {};
      continue;
    }
    if (auto run = run_of(cells, columns)) {
      run->model.recompute = recompute;
      runs.push_back(*run);
    } else {
      diagnostics.add({.code = "bad-row",
                       .message = fmt::format("{}:{}: the row is no run: numbers must be there and "
                                              "above 0, and a batch whole microbatches",
                                              sources.name(source), number)});
    }
  }
  return runs;
}

double step_formula(const TrainingRun& run, const Device& device, const TrainingLinks& links) {
  Transformer whole = run.model;
  whole.layers = std::max<std::int64_t>(whole.layers, 2);  // so that the first has no logits
  const Model model = model_of(whole, device, run.tp);
  const Layer& layer = model.layers.front();
  const Layer& last = model.layers.back();
  const bool crosses = run.tp > links.gpus_per_node;
  const double in_group = crosses ? links.network * links.gpus_per_node : links.node;
  const auto activations = static_cast<double>(layer.activations);
  const double all_reduces = 2 * ring(run.tp, activations, in_group);
  const double again = layer.again > Time{} ? 2 : 1;
  const double layers = static_cast<double>(run.model.layers) / run.pp;
  const double host = layers * device.launch.seconds();
  const double forward = layers * (layer.forward.seconds() + all_reduces);
  const double backward = layers * (layer.backward.seconds() + again * all_reduces);
  const double forward_logits = (last.forward - layer.forward).seconds();
  const double backward_logits = (last.backward - layer.backward).seconds();
  const auto m = static_cast<double>(run.microbatches);
  const bool one_node = run.tp * run.pp * run.dp <= links.gpus_per_node;
  const double hop = activations / (one_node ? links.node : links.network);
  double pipeline = 0;
  if (run.pp == 1) {
    pipeline =
        m * std::max(forward + backward + forward_logits + backward_logits, (1 + again) * host);
  } else {  // a host that waits for messages is ahead by one pass only
    const double others = std::max(forward, host) + std::max(backward, again * host);
    const double slowest = std::max(forward + forward_logits, host) +
                           std::max(backward + backward_logits, again * host);
    pipeline = m * slowest + (run.pp - 1) * (others + 2 * hop) + (m - 1) * 2 * hop;
  }
  const double bytes = static_cast<double>(parameters(run.model)) / run.tp / run.pp *
                       static_cast<double>(size_of(run.model.type));
  const double replicas =
      run.tp * run.dp <= links.gpus_per_node
          ? links.node
          : links.network * std::max(1.0, static_cast<double>(links.gpus_per_node) / run.tp);
  return pipeline + ring(run.dp, bytes, replicas) + model.optimizer.seconds() / run.pp;
}

TrainingFit fit_training(const std::vector<TrainingRun>& runs, double flops,
                         const TrainingLinks& links) {
  const auto device_at = [flops](const std::vector<double>& x) {
    return Device{.flops = flops,
                  .efficiency = x[0],
                  .memory_bandwidth = x[1],
                  .latency = from_seconds(x[2]),
                  .launch = from_seconds(x[3]),
                  .skew = from_seconds(x[4])};
  };
  const Predictions predicted = [&](const std::vector<double>& x) {
    const Device device = device_at(x);
    std::vector<double> times;
    for (const TrainingRun& run : runs) times.push_back(step_formula(run, device, links));
    return times;
  };
  std::vector<double> measured;
  for (const TrainingRun& run : runs) measured.push_back(run.step_s);
  TrainingFit result;
  result.constants = fit(predicted, measured, {0.6, 1e12, 400e-6, 1500e-6, 100e-6});
  std::vector<double> x;
  for (const Fitted& constant : result.constants) x.push_back(constant.value);
  result.device = device_at(x);
  const std::vector<double> times = predicted(x);
  for (std::size_t i = 0; i < times.size(); ++i)
    result.errors.push_back(times[i] / measured[i] - 1);
  return result;
}

JsonValue device_value(const Device& device) {
  constexpr double digits = 1e4;
  const auto microseconds = [](Time time) { return fmt::format("{:.1f}us", time.seconds() * 1e6); };
  return JsonValue::object(
      {{"flops", exact_flops(device.flops)},
       {"efficiency", std::round(device.efficiency * digits) / digits},
       {"memory_bandwidth", fmt::format("{:.1f}GB/s", device.memory_bandwidth / 1e9)},
       {"latency", microseconds(device.latency)},
       {"launch", microseconds(device.launch)},
       {"skew", microseconds(device.skew)}});
}

}  // namespace collsim
