// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>

#include "app/json/value.hpp"

namespace collsim {

// Where the time goes is shown side by side for this many rows.
inline constexpr std::size_t most_breakdowns = 24;

// Which rows of results tell most, by their numbers.
struct ChosenRows {
  // Whose timelines are drawn: over chunks the first and the fastest, over sizes or ranks the fastest
  // with most of them, else the fastest and the slowest; with a moderate number of steps only, unless
  // there is one row.  Empty when all have more.
  std::set<std::size_t> pictures;
  // Whose time is taken apart: all rows, or else all with most ranks and bytes, and of the others the
  // fastest and the slowest, those with many ranks and bytes first; what is still free is spread
  // evenly.  Rows with very many steps are left out.
  std::set<std::size_t> breakdowns;
};
[[nodiscard]] ChosenRows choose_rows(const Value::Array& rows);

}  // namespace collsim
