// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/expression/scenario_facts.hpp"
#include "app/json/diagnostics.hpp"

namespace collsim {

// Which points of a sweep an expectation is about ("when"): all conditions must hold.
struct Condition {
  // For an axis: which of its points.  An axis may stand here more than once.
  std::vector<std::pair<std::size_t, std::vector<char>>> allowed;
  bool never = false;  // a path that is not swept has another value
  std::string text;    // "collective.chunks = 1 or 2, cluster.ranks = 8"; empty: no condition

  // For every point of the grid.
  [[nodiscard]] std::vector<char> matches(const Grid& grid) const;
};

// Reports paths that are neither swept nor in the resolved scenario, and values that can never be
// at their path because they are of another kind.
[[nodiscard]] Condition read_condition(const Value& when, const std::string& pointer,
                                       const ScenarioFacts& facts, Diagnostics& diagnostics);

}  // namespace collsim
