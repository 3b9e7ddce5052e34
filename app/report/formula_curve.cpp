// SPDX-License-Identifier: Apache-2.0
#include "app/report/formula_curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/json/value.hpp"
#include "app/report/results_file.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

std::set<int> counts_between(int first, int last) {
  std::set<int> counts{first, last};
  const double steps = formula_points - 1;
  for (std::size_t i = 0; i < formula_points; ++i)
    counts.insert(static_cast<int>(
        std::lround(first * std::pow(1.0 * last / first, static_cast<double>(i) / steps))));
  return counts;
}

// The two halves of what a message costs.
struct Parts {
  UniformNetwork wire, startup;
};

std::optional<Parts> parts_of(const Topology& topology) {
  const std::optional<UniformNetwork> network = uniform_network(topology);
  if (!network) return std::nullopt;
  Parts parts{*network, *network};
  parts.wire.hop.alpha = parts.wire.hop.latency = 0;
  parts.startup.hop.bandwidth = std::numeric_limits<double>::infinity();
  return parts;
}

JsonValue seconds_or_null(const std::optional<ClosedForm>& form) {
  return form ? JsonValue(form->seconds) : JsonValue();  // infinity is written as null, too
}

// Rows that differ in the number of chunks alone.
struct ChunkRows {
  std::vector<std::size_t> rows = {};
  std::set<std::string> algorithms = {};
  std::set<std::int64_t> counts = {};  // of those with a closed form
};

std::string all_but_chunks(const JsonValue& row) {
  JsonValue rest = JsonValue::object();
  for (const JsonValue::Member& param : at(row, "params").members())
    if (param.key != "collective.chunks" && param.key != "collective.chunk_size")
      rest.set(param.key, param.value);
  return to_json(rest, -1);
}

// In the order of their first rows.
std::vector<ChunkRows> chunk_rows(const JsonValue::Array& rows) {
  std::vector<ChunkRows> all;
  std::map<std::string, std::size_t> places;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t place = places.emplace(all_but_chunks(rows[row]), all.size()).first->second;
    if (place == all.size()) all.emplace_back();
    all[place].rows.push_back(row);
    all[place].algorithms.insert(at(rows[row], "algorithm").string());
    if (!at(rows[row], "analytic_s").is_null())
      all[place].counts.insert(*at(rows[row], "chunks").integer());
  }
  std::erase_if(all, [](const ChunkRows& one) {
    return one.counts.size() < 3 || one.algorithms.size() > 1 ||
           *one.counts.rbegin() > std::numeric_limits<int>::max();
  });
  if (all.size() > most_formula_curves) all.resize(most_formula_curves);
  return all;
}

}  // namespace

JsonValue formula_curve(const Case& one_case, int first, int last) {
  const Topology& topology = one_case.cluster->topology;
  const std::optional<Parts> parts = parts_of(topology);
  JsonValue chunks = JsonValue::array(), times = JsonValue::array(), wire = JsonValue::array(),
            startup = JsonValue::array();
  AlgorithmChoice choice = one_case.choice;
  choice.chunk_size.reset();
  for (const int count : counts_between(std::max(1, first), std::max(1, last))) {
    choice.chunks = count;
    try {
      const std::optional<ClosedForm> form =
          closed_form(one_case.collective, choice, topology, one_case.costs.reduce_bandwidth);
      if (!form) continue;
      chunks.items().emplace_back(count);
      times.items().push_back(seconds_or_null(form));
      if (!parts) continue;
      wire.items().push_back(
          seconds_or_null(closed_form(one_case.collective, choice, parts->wire)));
      startup.items().push_back(
          seconds_or_null(closed_form(one_case.collective, choice, parts->startup)));
    } catch (const Error&) {
      continue;  // not as many chunks as that
    }
  }
  if (chunks.items().empty()) return {};
  JsonValue curve =
      JsonValue::object({{"chunks", std::move(chunks)}, {"time_s", std::move(times)}});
  if (!parts) return curve;
  curve.set("wire_s", std::move(wire));
  curve.set("startup_s", std::move(startup));
  curve.set("alpha_s", parts->startup.hop.alpha);
  curve.set("latency_s", parts->startup.hop.latency);
  curve.set("bytes_per_s", parts->wire.hop.bandwidth);
  return curve;
}

JsonValue formula_curves(const JsonValue::Array& rows, const Scenario& scenario,
                         ClusterCache& clusters) {
  JsonValue all = JsonValue::array();
  for (const ChunkRows& one : chunk_rows(rows)) {
    const std::size_t first = one.rows.front();
    const std::optional<std::size_t> point = point_of(scenario, rows[first], first);
    if (!point) continue;
    Diagnostics diagnostics;
    std::optional<Case> found = make_case(scenario, *point, clusters, diagnostics);
    if (!found || found->choice.name == "nccl") continue;  // no formula knows protocols
    if (found->choice.name == "auto") found->choose_algorithm(*one.algorithms.begin());
    JsonValue curve = formula_curve(*found, static_cast<int>(*one.counts.begin()),
                                    static_cast<int>(*one.counts.rbegin()));
    if (curve.is_null()) continue;
    curve.set("rows", JsonValue::array(one.rows));
    all.items().push_back(std::move(curve));
  }
  return all;
}

}  // namespace collsim
