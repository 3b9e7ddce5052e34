// SPDX-License-Identifier: Apache-2.0
#include "app/report/step_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/results/action_text.hpp"
#include "app/scenario/make_case.hpp"
#include "app/study/memory_over_time.hpp"
#include "app/study/run_step.hpp"
#include "collectives/kinds_of_ranks.hpp"
#include "collectives/recorded_actions.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t most_recorded_for_a_picture = 1'000'000;
constexpr std::size_t most_kinds_of_ranks = 16;
constexpr std::size_t most_boxes = 20'000;
constexpr std::size_t most_memory_curves = 8;  // as many as the page has colours

std::string_view box_kind(const Action& action, std::optional<int> host) {
  if (action.kind == Action::Kind::collective) return "collective";
  if (action.stream == host) return "launch";
  switch (action.label.kind) {
    case Label::Kind::forward: return "forward";
    case Label::Kind::backward: return "backward";
    case Label::Kind::weights: return "weights";
    case Label::Kind::late: return "late";
    default: return "optimizer";
  }
}

// What is written into a box: the microbatch, else the layer or bucket.
std::int64_t box_number(const Label& label) {
  return label.microbatch > 0 ? label.microbatch : label.number;
}

JsonValue stream_picture(const RecordedActions& actions, const Workload& workload, Rank rank,
                         std::size_t stream, std::size_t& boxes) {
  JsonValue all = JsonValue::array();
  const std::optional<int> host = host_of(workload);
  for (const RecordedAction& one : actions.all) {
    const Action::Kind kind = one.action.kind;
    const bool is_drawn = kind == Action::Kind::work || kind == Action::Kind::collective;
    if (one.rank != rank || one.action.stream != stream || !is_drawn || one.end == one.begin)
      continue;
    if (++boxes > most_boxes) break;
    all.items().push_back(JsonValue::object({{"begin_s", one.begin.seconds()},
                                             {"end_s", one.end.seconds()},
                                             {"kind", box_kind(one.action, host)},
                                             {"number", box_number(one.action.label)},
                                             {"text", action_text(one.action, workload)}}));
  }
  return all;
}

JsonValue memory_curves(const TrainingStep& step, const RecordedActions& actions) {
  JsonValue curves = JsonValue::array();
  const auto kinds = kinds_of_ranks(step.workload);
  for (std::size_t i = 0; i < std::min(kinds.size(), most_memory_curves); ++i) {
    const auto points = memory_over_time(step, actions, kinds[i].first);
    if (points.empty()) continue;
    curves.items().push_back(
        JsonValue::object({{"name", fmt::format("rank {}", kinds[i].first.index())},
                           {"points", JsonValue::array(points, [](const MemoryPoint& point) {
                              return JsonValue::array({point.time.seconds(), point.bytes});
                            })}}));
  }
  return curves;
}

JsonValue step_picture(const Case& one_case) {
  const Workload& workload = workload_of(one_case);
  const Simulation simulation = record_step(one_case, most_recorded_for_a_picture);
  const RecordedActions actions = recorded_actions(workload, *simulation.timeline);
  const auto kinds = kinds_of_ranks(workload);
  JsonValue streams = JsonValue::array();
  std::size_t boxes = 0;
  for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds_of_ranks); ++i)
    for (std::size_t stream = 0; stream < workload.stream_names().size(); ++stream) {
      JsonValue drawn = stream_picture(actions, workload, kinds[i].first, stream, boxes);
      if (drawn.items().empty()) continue;
      streams.items().push_back(
          JsonValue::object({{"name", fmt::format("rank {} {}", kinds[i].first.index(),
                                                  workload.stream_names()[stream])},
                             {"ranks", kinds[i].ranks},
                             {"boxes", std::move(drawn)}}));
    }
  if (boxes > most_boxes)
    throw_error(ErrorCode::too_large, "the step has too many layers and microbatches to draw");
  const TrainingStep& step = *one_case.step;
  return JsonValue::object({{"step_s", simulation.time.seconds()},
                            {"kinds", kinds.size()},
                            {"streams", std::move(streams)},
                            {"memory", memory_curves(step, actions)},
                            {"device_bytes", step.memory ? step.memory->device : 0}});
}

double tokens_per_s(const JsonValue& row) {
  const JsonValue* const tokens = row.find("tokens_per_s");
  return tokens != nullptr && tokens->is_number() ? tokens->number() : 0;
}

bool fits(const JsonValue& row) {
  const JsonValue* const lack = row.find("out_of_memory");
  return lack == nullptr || lack->is_null();
}

// Of those that fit their devices, if any do: the shortest, or, where steps differ in their tokens,
// the one with most tokens/s; as bestStep() of the page has it.
std::size_t best_step(const JsonValue::Array& rows) {
  constexpr double rounding = 1e-6;
  const bool any_fits = std::any_of(rows.begin(), rows.end(), fits);
  double fewest = std::numeric_limits<double>::infinity(), most = 0;
  for (const JsonValue& row : rows) {
    if (any_fits && !fits(row)) continue;
    const double tokens = tokens_per_s(row) * at(row, "step_s").number();
    fewest = std::min(fewest, tokens);
    most = std::max(most, tokens);
  }
  const bool by_tokens = fewest > 0 && most - fewest > rounding * most;
  const auto key = [&](const JsonValue& row) {
    return std::pair(any_fits && !fits(row),
                     by_tokens ? -tokens_per_s(row) : at(row, "step_s").number());
  };
  const auto best =
      std::min_element(rows.begin(), rows.end(),
                       [&](const JsonValue& a, const JsonValue& b) { return key(a) < key(b); });
  return static_cast<std::size_t>(best - rows.begin());
}

}  // namespace

JsonValue step_columns(const StoredResults& results) {
  JsonValue columns = JsonValue::object();
  for (const char* key :
       {"workload", "ranks", "step_s", "compute_s", "hidden_s", "exposed_s", "bubble"})
    columns.set(key, JsonValue::array(rows_of(results),
                                      [&](const JsonValue& row) { return at(row, key); }));
  for (const char* key : {"tokens_per_s", "out_of_memory"})  // of models with tokens, and memory
    columns.set(key, JsonValue::array(rows_of(results), [&](const JsonValue& row) {
                  const JsonValue* const value = row.find(key);
                  return value != nullptr ? *value : JsonValue();
                }));
  return columns;
}

void add_step_pictures(const StoredResults& results, const Scenario& scenario,
                       const std::optional<std::size_t>& asked_point, JsonValue& data) {
  const JsonValue::Array& rows = rows_of(results);
  std::set<std::size_t> chosen;
  if (!rows.empty() && !asked_point) chosen = {0, best_step(rows)};
  for (std::size_t row = 0; asked_point && row < rows.size(); ++row)
    if (is_about(rows[row], scenario, *asked_point)) chosen = {row};
  JsonValue pictures = JsonValue::array();
  ClusterCache clusters(scenario);
  for (const std::size_t row : chosen) {
    const std::optional<std::size_t> point = point_of(scenario, rows[row], row);
    Diagnostics diagnostics;
    if (!point) continue;
    try {
      const std::optional<Case> found = make_case(scenario, *point, clusters, diagnostics);
      if (!found) continue;
      JsonValue picture = step_picture(*found);
      picture.set("row", row);
      pictures.items().push_back(std::move(picture));
    } catch (const Error& error) {
      data.set("why_no_picture", error.what());
    }
  }
  data.set("pictures", std::move(pictures));
}

}  // namespace collsim
