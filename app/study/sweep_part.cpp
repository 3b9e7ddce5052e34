// SPDX-License-Identifier: Apache-2.0
#include "app/study/sweep_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "app/scenario/make_case.hpp"
#include "app/study/run_case.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

std::optional<int> whole(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Where only simulating tells: of "auto" and of training steps.
double cost_by_ranks(const Case& one_case) {
  const auto ranks = static_cast<double>(one_case.collective.size());
  const auto machine = static_cast<double>(one_case.cluster->topology.rank_count());
  return one_case.step ? 100 * machine : 100 * ranks * ranks;
}

// In instructions.  Nothing: it makes no sense, which running it will tell.
std::optional<double> cost_of(const Scenario& scenario, std::size_t point, ClusterCache& clusters) {
  constexpr double of_any = 1000;  // reading it, bounds and formulas
  Diagnostics ignored;
  try {
    const std::optional<Case> found = make_case(scenario, point, clusters, ignored);
    if (!found) return std::nullopt;
    return of_any + (found->schedule ? effort_of(*found, *found->schedule).instructions
                                     : cost_by_ranks(*found));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What the values of an axis cost, with the other axes at their first value; of many values only
// some are looked at, and those between cost as much as the one before.
std::vector<double> costs_along(const Scenario& scenario, std::size_t length, std::size_t stride,
                                ClusterCache& clusters) {
  constexpr std::size_t most_looked_at = 64;
  const std::size_t step = (length + most_looked_at - 1) / most_looked_at;
  std::vector<double> costs(length, 1);
  for (std::size_t value = 0; value < length; ++value) {
    const double before = value == 0 ? 1 : costs[value - 1];
    costs[value] =
        value % step == 0 ? cost_of(scenario, value * stride, clusters).value_or(before) : before;
  }
  return costs;
}

// As logarithms: only their order counts.
std::vector<float> estimated_costs(const Scenario& scenario) {
  std::vector<float> costs(scenario.points(), 0);
  ClusterCache clusters(scenario);
  std::size_t stride = costs.size();
  for (const Axis& axis : scenario.axes) {
    const std::size_t length = axis.points.size();
    stride /= length;
    const std::vector<double> along = costs_along(scenario, length, stride, clusters);
    for (std::size_t point = 0; point < costs.size(); ++point)
      costs[point] += static_cast<float>(std::log(along[point / stride % length]));
  }
  return costs;
}

}  // namespace

std::optional<SweepPart> parse_part(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<int> number = whole(text.substr(0, slash));
  const std::optional<int> count = whole(text.substr(slash + 1));
  if (!number || !count || *number < 1 || *number > *count || *count > max_sweep_parts)
    return std::nullopt;
  return SweepPart{*number, *count};
}

std::string to_text(const SweepPart& part) {
  return fmt::format("{}/{}", part.number, part.count);
}

std::vector<std::size_t> points_of(const SweepPart& part, const Scenario& scenario) {
  std::vector<std::size_t> order(scenario.points());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (part.count == 1) return order;
  const std::vector<float> costs = estimated_costs(scenario);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  // Back and forth, or the first parts would always get the costlier of neighbours.
  const auto count = static_cast<std::size_t>(part.count);
  const auto number = static_cast<std::size_t>(part.number - 1);
  std::vector<std::size_t> own;
  for (std::size_t round = 0; round * count < order.size(); ++round) {
    const std::size_t card = round * count + (round % 2 == 0 ? number : count - 1 - number);
    if (card < order.size()) own.push_back(order[card]);
  }
  std::sort(own.begin(), own.end());
  return own;
}

}  // namespace collsim
