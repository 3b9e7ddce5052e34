// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "app/json/value.hpp"
#include "app/scenario/make_case.hpp"

namespace collsim {

// A row of results simulated again, with every step kept: what results do not hold and pictures of
// one run need.
struct DrawnCase {
  JsonValue value;      // for the page; null when there is nothing to draw
  std::string why_not;  // then; in words for the page
  JsonValue facts;      // what a row of results says of the case, with the same keys
};

// The limits for a row drawn by default, and for one that was requested.
inline constexpr std::uint64_t moderate_steps = 20'000;
inline constexpr std::uint64_t most_drawn_steps = 250'000;

// `row`: of the results, which says what ran where the scenario says "auto".  `with_steps`: the
// whole timeline and the links, else only where the time went.
[[nodiscard]] DrawnCase draw_case(const Scenario& scenario, std::size_t point,
                                  ClusterCache& clusters, const JsonValue& row,
                                  std::uint64_t most_steps, bool with_steps);

// Where the time goes is shown side by side for this many rows.
inline constexpr std::size_t most_breakdowns = 24;

// Which rows of results tell most, by their numbers.
struct ChosenRows {
  // Whose timelines are drawn: over chunks the first and the fastest, over sizes or ranks the
  // fastest with most of them, else the fastest and the slowest; with a moderate number of steps
  // only, unless there is one row.  Empty when all have more.
  std::set<std::size_t> pictures;
  // Whose time is taken apart: all rows, or else all with most ranks and bytes, and of the others
  // the fastest and the slowest, those with many ranks and bytes first; what is still free is
  // spread evenly.  Rows with very many steps are left out.
  std::set<std::size_t> breakdowns;
};
[[nodiscard]] ChosenRows choose_rows(const JsonValue::Array& rows);

}  // namespace collsim
