// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/training_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include "app/json/screen_text.hpp"
#include "app/scenario/workload/device.hpp"
#include "collectives/cost/cost_model.hpp"

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

constexpr const char* other_known_columns[] = {"iteration_ms",
                                               "iteration_s",
                                               "scheme",
                                               "recompute",
                                               "attention",
                                               "loss",
                                               "sequence_parallel",
                                               "chunks",
                                               "vocab",
                                               "architecture",
                                               "kv_heads",
                                               "ffn",
                                               "source",
                                               "cp"};

// The cells of a row by the names of their columns.
class RunCells {
 public:
  RunCells(const std::vector<std::string_view>& cells, const Columns& columns)
      : cells_(&cells), columns_(&columns) {}

  // The first that is wrong; empty: none.
  [[nodiscard]] const std::string& mistake() const { return mistake_; }
  void wrong(std::string mistake) {
    if (mistake_.empty()) mistake_ = std::move(mistake);
  }
  [[nodiscard]] bool knows(std::string_view name) const { return columns_->contains(name); }
  [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }
  [[nodiscard]] std::string_view text(std::string_view name) const {
    const auto column = columns_->find(name);
    if (column == columns_->end() || column->second >= cells_->size()) return {};
    return (*cells_)[column->second];
  }
  double number(std::string_view name) {
    constexpr double most = 1e12;
    const double value = number_in<double>(text(name)).value_or(0);
    if (value > 0 && value < most) return value;
    wrong(has(name) ? fmt::format("{} is {}, no number above 0", name, quoted(text(name)))
                    : fmt::format("{} is empty", name));
    return 1;
  }
  static constexpr std::int64_t most_whole = 100'000'000;
  std::int64_t whole(std::string_view name, std::int64_t most = most_whole) {
    const double value = number_in<double>(text(name)).value_or(0);
    if (value >= 1 && value <= static_cast<double>(most) && std::trunc(value) == value)
      return static_cast<std::int64_t>(value);
    wrong(has(name) ? fmt::format("{} is {}, no whole number from 1 to {}", name,
                                  quoted(text(name)), with_commas(most))
                    : fmt::format("{} is empty", name));
    return 1;
  }
  std::int64_t whole_or(std::string_view name, std::int64_t otherwise) {
    return has(name) ? whole(name) : otherwise;
  }
  int degree(std::string_view name) { return static_cast<int>(whole(name, 65'536)); }
  // The number of the word, in whatever case (pandas writes True); the first where there is none.
  int word(std::string_view name, std::initializer_list<std::string_view> words) {
    if (!has(name)) return 0;
    const auto* const found = std::ranges::find_if(words, [&](std::string_view word) {
      return std::ranges::equal(word, text(name), {}, {},
                                [](unsigned char c) { return std::tolower(c); });
    });
    if (found == words.end())
      wrong(fmt::format("{} is {}, none of {}", name, quoted(text(name)), fmt::join(words, ", ")));
    return static_cast<int>(found - words.begin());
  }

 private:
  const std::vector<std::string_view>* cells_;
  const Columns* columns_;
  std::string mistake_;
};

Transformer transformer_of(RunCells& cells, bool sharded, Transformer::Recompute otherwise) {
  using Recompute = Transformer::Recompute;
  using Architecture = Transformer::Architecture;
  Transformer model;
  model.layers = cells.whole("layers", 10'000);
  model.hidden = cells.whole("hidden");
  model.heads = cells.whole("heads");
  const bool is_llama = cells.word("architecture", {"gpt", "llama"}) == 1;
  model.architecture = is_llama ? Architecture::llama : Architecture::gpt;
  model.heads_of_keys = cells.whole_or("kv_heads", model.heads);
  model.inner = cells.whole_or("ffn", usual_inner(model.architecture, model.hidden));
  model.sequence = cells.whole("seq");
  model.micro_batch = cells.whole("micro_batch");
  model.vocabulary = cells.whole_or("vocab", megatron_vocabulary);
  model.fused_attention =
      cells.has("attention") ? cells.word("attention", {"plain", "fused"}) == 1 : sharded;
  if (cells.has("loss")) model.fused_loss = cells.word("loss", {"plain", "fused"}) == 1;
  model.recompute = otherwise;
  if (cells.has("recompute"))
    model.recompute =
        static_cast<Recompute>(cells.word("recompute", {"none", "selective", "full"}));
  return model;
}

// Whether it is one, `cells` say.
TrainingRun run_of(RunCells& cells, Transformer::Recompute otherwise) {
  TrainingRun run;
  run.tp = cells.degree("tp");
  run.pp = cells.degree("pp");
  run.dp = cells.degree("dp");
  run.chunks = cells.has("chunks") ? cells.degree("chunks") : 1;
  run.sharded = cells.word("scheme", {"train", "fsdp"}) == 1;
  run.sequence_parallel = cells.word("sequence_parallel", {"false", "true"}) == 1;
  run.source = cells.text("source");
  run.model = transformer_of(cells, run.sharded, otherwise);
  const std::int64_t at_once = run.model.micro_batch * run.dp;
  const std::int64_t batch = cells.whole("global_batch");
  const bool in_ms = cells.knows("iteration_ms") && !cells.has("iteration_s");
  run.step_s = in_ms ? cells.number("iteration_ms") / 1e3 : cells.number("iteration_s");
  if (batch % at_once != 0)
    cells.wrong(fmt::format("global_batch is {}, no whole number of microbatches of {} on {}",
                            batch, run.model.micro_batch, count_text(run.dp, "replica")));
  if (run.sharded && (run.tp > 1 || run.pp > 1)) cells.wrong("the scheme fsdp has tp 1 and pp 1");
  if (cells.whole_or("cp", 1) > 1)
    cells.wrong("ranks that share sequences (cp) are not in the formula that is fitted");
  if (run.model.hidden % run.model.heads != 0 || run.model.heads % run.model.heads_of_keys != 0 ||
      run.model.heads % run.tp != 0)
    cells.wrong(fmt::format("hidden {}, heads {}, kv_heads {} and tp {} do not divide evenly",
                            run.model.hidden, run.model.heads, run.model.heads_of_keys, run.tp));
  run.microbatches = batch / at_once;
  return run;
}

// The names in the first line.
Columns columns_of(const std::vector<std::string_view>& cells, const std::string& file,
                   Diagnostics& diagnostics) {
  Columns columns;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!columns.emplace(cells[i], i).second)
      diagnostics.add(
          {.code = "repeated",
           .message = fmt::format("{}: the column \"{}\" is there twice", file, cells[i])});
  std::vector<std::string> missing;
  for (const char* name : needed_columns)
    if (!columns.contains(name)) missing.emplace_back(name);
  if (!columns.contains("iteration_ms") && !columns.contains("iteration_s"))
    missing.emplace_back("iteration_ms");
  if (!missing.empty())
    diagnostics.add({.code = "missing-column",
                     .message = fmt::format("{}: there {} {}", file,
                                            missing.size() == 1 ? "is no column" : "are no columns",
                                            fmt::join(missing, ", ")),
                     .hint = "docs/training.md says what the columns are"});
  return columns;
}

bool is_known_column(std::string_view name) {
  return std::ranges::find(needed_columns, name) != std::end(needed_columns) ||
         std::ranges::find(other_known_columns, name) != std::end(other_known_columns);
}

// How much an error of a constant by a factor e weighs beside those of runs: little, so that it
// decides only where runs do not.  But what collectives take from computing lies with their kernels
// more than with a GPU, and of runs only those that hide many of them tell it.
constexpr std::array<double, training_constants.size()> belief_weights{0.1, 0.1, 0.1, 0.1,
                                                                       0.1, 0.1, 0.1, 3};
// Of a constant that is held.
constexpr double certain = 100;

}  // namespace

TrainingTable read_training_table(std::uint32_t source, const Sources& sources,
                                  Transformer::Recompute recompute, Diagnostics& diagnostics) {
  TrainingTable table;
  Columns columns;
  std::size_t number = 0;
  for (std::string_view line : split_at(sources.text(source), '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> cells = split_at(line, ',');
    if (columns.empty()) {
      columns = columns_of(cells, sources.name(source), diagnostics);
      if (!diagnostics.empty()) return {};
      for (const std::string_view name : cells)
        if (!name.empty() && !is_known_column(name)) table.other_columns.emplace_back(name);
      continue;
    }
    RunCells row(cells, columns);
    if (cells.size() > columns.size())
      row.wrong(fmt::format("it has {}, and the first line {}", count_text(cells.size(), "cell"),
                            columns.size()));
    TrainingRun run = run_of(row, recompute);
    if (row.mistake().empty())
      table.runs.push_back(std::move(run));
    else
      diagnostics.add({.code = "bad-row",
                       .message = fmt::format("{}:{}: the row is no run: {}", sources.name(source),
                                              number, row.mistake())});
  }
  return table;
}

namespace {

// A run's times of passes and its messages, as far as its schemes have them in common.
struct FormulaParts {
  const TrainingRun& run;
  const TrainingLinks::Ways& ways;
  int gpus_per_node;
  Model model;

  FormulaParts(const TrainingRun& of, const Device& device, const TrainingLinks& links,
               const TrainingLinks::Ways& under)
      : run(of), ways(under), gpus_per_node(links.gpus_per_node) {
    Transformer whole = run.model;
    whole.layers = std::max<std::int64_t>(whole.layers, 2);  // so that the first has no logits
    model = model_of(whole, device, {run.tp, run.sequence_parallel});
  }
  [[nodiscard]] const Layer& layer() const { return model.layers.front(); }
  [[nodiscard]] double forward_logits() const {
    return (model.layers.back().forward - layer().forward).seconds();
  }
  [[nodiscard]] double backward_logits() const {
    return (model.layers.back().backward - layer().backward).seconds();
  }
  [[nodiscard]] bool one_node(int gpus) const { return gpus <= gpus_per_node; }
  // An all-reduce of so many bytes among ranks `stride` apart.
  [[nodiscard]] double all_reduce(int ranks, double bytes, int stride = 1) const {
    if (ranks == 1) return 0;
    const int members = one_node(ranks * stride) ? ranks : std::max(1, gpus_per_node / stride);
    return ring_seconds(2.0 * (ranks - 1), bytes, ranks, members, ways.node, ways.network);
  }
};

double sharded_formula(const FormulaParts& parts, const Device& device, double slower) {
  const TrainingRun& run = parts.run;
  const Layer& layer = parts.layer();
  const auto of_layer = static_cast<double>(parameters_of_layer(run.model));
  const double gather =
      parts.all_reduce(run.dp, of_layer * static_cast<double>(size_of(run.model.type))) / 2;
  const double more = device.sharding.seconds() + slower * gather;
  const double passes = std::max(layer.forward.seconds() + more, gather) +
                        std::max(layer.backward.seconds() + more + slower * gather, 2 * gather);
  const double logits = parts.forward_logits() + parts.backward_logits();
  const auto layers = static_cast<double>(run.model.layers);
  const double host = layers * device.launch.seconds() * (layer.again > Time{} ? 3 : 2);
  return static_cast<double>(run.microbatches) * std::max(layers * passes + logits, host) + gather +
         parts.model.optimizer.seconds() / run.dp;
}

double pipelined_formula(const FormulaParts& parts, const Device& device) {
  const TrainingRun& run = parts.run;
  const Layer& layer = parts.layer();
  const auto activations = static_cast<double>(layer.activations);
  const double all_reduces = 2 * parts.all_reduce(run.tp, activations);
  const double again = layer.again > Time{} ? 2 : 1;
  const double layers = static_cast<double>(run.model.layers) / run.pp;
  const double host = layers * device.launch.seconds();
  const double forward = layers * (layer.forward.seconds() + all_reduces);
  const double backward = layers * (layer.backward.seconds() + again * all_reduces);
  const double last_forward = forward + parts.forward_logits();
  const double last_backward = backward + parts.backward_logits();
  const auto m = static_cast<double>(run.microbatches);
  if (run.pp == 1) return m * std::max(last_forward + last_backward, (1 + again) * host);
  // A host that waits for messages is ahead by one pass only.
  const ProtocolWay& way =
      parts.one_node(run.tp * run.pp * run.dp) ? parts.ways.node : parts.ways.network;
  const double hop = way.flight + activations / way.rate;
  const double others = std::max(forward, host) + std::max(backward, again * host);
  const double slowest = std::max(last_forward, host) + std::max(last_backward, again * host);
  return m * slowest + (run.pp - 1) * (others / run.chunks + 2 * hop);
}

double step_under(const TrainingLinks::Ways& ways, const TrainingRun& run,
                  const TrainingDevice& device, const TrainingLinks& links) {
  const FormulaParts parts(run, device.device, links, ways);
  const double slower = static_cast<double>(device.slowdown) / CostModel::millionths;
  if (run.sharded) return sharded_formula(parts, device.device, slower);
  const double bytes = static_cast<double>(parameters(run.model)) / run.tp / run.pp *
                       static_cast<double>(size_of(run.model.type));
  return pipelined_formula(parts, device.device) + parts.all_reduce(run.dp, bytes, run.tp) +
         parts.model.optimizer.seconds() / run.pp;
}

}  // namespace

double step_formula(const TrainingRun& run, const TrainingDevice& device,
                    const TrainingLinks& links) {
  double least = std::numeric_limits<double>::infinity();
  for (const TrainingLinks::Ways& ways : links.protocols)
    least = std::min(least, step_under(ways, run, device, links));
  return least;
}

TrainingFit fit_training(const std::vector<TrainingRun>& runs, const TrainingDevice& known,
                         const TrainingLinks& links, const std::set<std::string>& held) {
  std::map<std::string, double> of_source;
  for (const TrainingRun& run : runs) ++of_source[run.source];
  const double all = static_cast<double>(runs.size()) / static_cast<double>(of_source.size());
  std::vector<double> weights;  // of errors; their squares are added up
  weights.reserve(runs.size());
  for (const TrainingRun& run : runs) weights.push_back(std::sqrt(all / of_source[run.source]));
  const auto device_at = [&known](const std::vector<double>& x) {
    TrainingDevice changed = known;
    Device& device = changed.device;
    device.efficiency = std::min(x[0], 1.0);
    device.attention = std::min(x[1], 1.0);
    device.memory_bandwidth = x[2];
    device.latency = from_seconds(x[3]);
    device.launch = from_seconds(x[4]);
    device.skew = from_seconds(x[5]);
    device.sharding = from_seconds(x[6]);
    changed.slowdown = std::llround(std::min(x[7], 0.99) * CostModel::millionths);
    return changed;
  };
  const auto times_with = [&](const TrainingDevice& device) {
    std::vector<double> times;
    times.reserve(runs.size());
    for (const TrainingRun& run : runs) times.push_back(step_formula(run, device, links));
    return times;
  };
  const Device& before = known.device;
  const std::vector<double> likely{
      before.efficiency,         before.attention,
      before.memory_bandwidth,   before.latency.seconds(),
      before.launch.seconds(),   before.skew.seconds(),
      before.sharding.seconds(), static_cast<double>(known.slowdown) / CostModel::millionths};
  std::array<double, training_constants.size()> beliefs = belief_weights;
  for (std::size_t i = 0; i < beliefs.size(); ++i)
    if (held.contains(training_constants[i])) beliefs[i] = certain;
  const Predictions predicted = [&](const std::vector<double>& x) {
    std::vector<double> times = times_with(device_at(x));
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::pow(times[i], weights[i]);
    for (std::size_t i = 0; i < x.size(); ++i)
      times.push_back(std::pow(x[i] / likely[i], beliefs[i]));
    return times;
  };
  std::vector<double> measured;
  for (std::size_t i = 0; i < runs.size(); ++i)
    measured.push_back(std::pow(runs[i].step_s, weights[i]));
  measured.resize(measured.size() + likely.size(), 1);
  TrainingFit result;
  result.constants = fit(predicted, measured, likely, likely.size());
  std::vector<double> x;
  x.reserve(result.constants.size());
  for (const Fitted& constant : result.constants) x.push_back(constant.value);
  result.device = device_at(x);
  const std::vector<double> times = times_with(result.device);
  for (std::size_t i = 0; i < times.size(); ++i)
    result.errors.push_back(times[i] / runs[i].step_s - 1);
  constexpr double twice = 2;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> more = x, less = x;
    more[i] *= twice;
    less[i] /= twice;
    if (times_with(device_at(more)) == times && times_with(device_at(less)) == times)
      result.undetermined.emplace_back(training_constants[i]);
  }
  return result;
}

JsonValue device_value(const TrainingDevice& fitted) {
  const Device& device = fitted.device;
  constexpr double digits = 1e4;
  const auto microseconds = [](Time time) { return fmt::format("{:.1f}us", time.seconds() * 1e6); };
  return JsonValue::object(
      {{"flops", exact_flops(device.flops)},
       {"efficiency", std::round(device.efficiency * digits) / digits},
       {"attention", std::round(device.attention * digits) / digits},
       {"memory_bandwidth", fmt::format("{:.1f}GB/s", device.memory_bandwidth / 1e9)},
       {"latency", microseconds(device.latency)},
       {"launch", microseconds(device.launch)},
       {"skew", microseconds(device.skew)},
       {"sharding", microseconds(device.sharding)},
       {"slowdown",
        std::round(static_cast<double>(fitted.slowdown) / CostModel::millionths * digits) /
            digits}});
}

}  // namespace collsim
