// SPDX-License-Identifier: Apache-2.0
#include "app/report/formula_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "collectives/closed_forms.hpp"
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

Value seconds_or_null(const std::optional<ClosedForm>& form) {
  return form && std::isfinite(form->seconds) ? Value(form->seconds) : Value();
}

}  // namespace

Value formula_curve(const Case& point, int first, int last) {
  const Topology& topology = point.cluster->topology;
  const std::optional<Parts> parts = parts_of(topology);
  Value chunks = Value::array(), times = Value::array(), wire = Value::array(),
        startup = Value::array();
  AlgorithmChoice choice = point.choice;
  choice.chunk_size.reset();
  for (const int count : counts_between(std::max(1, first), std::max(1, last))) {
    choice.chunks = count;
    try {
      const std::optional<ClosedForm> form =
          closed_form(point.collective, choice, topology, point.costs.reduce_bandwidth);
      if (!form) continue;
      chunks.items().emplace_back(count);
      times.items().push_back(seconds_or_null(form));
      if (!parts) continue;
      wire.items().push_back(seconds_or_null(closed_form(point.collective, choice, parts->wire)));
      startup.items().push_back(
          seconds_or_null(closed_form(point.collective, choice, parts->startup)));
    } catch (const Error&) {
      continue;  // not as many chunks as that
    }
  }
  if (chunks.items().empty()) return {};
  Value curve = Value::object();
  curve.set("chunks", std::move(chunks));
  curve.set("time_s", std::move(times));
  if (!parts) return curve;
  curve.set("wire_s", std::move(wire));
  curve.set("startup_s", std::move(startup));
  curve.set("alpha_s", parts->startup.hop.alpha);
  curve.set("latency_s", parts->startup.hop.latency);
  curve.set("bytes_per_s", parts->wire.hop.bandwidth);
  return curve;
}

}  // namespace collsim
