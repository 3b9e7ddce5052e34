// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/pieces.hpp"
#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"

namespace collsim {

// Every rank's input and output pieces, and since when it has them: buffers before and after, and
// the time between.  Pieces are those of find_pieces().
struct Holding {  // a piece of a rank's output
  Rank rank;
  std::int32_t piece = 0;
  Time begun;  // part of it is present: for a sum, perhaps the contribution of one rank
  Time done;   // it is complete, and changes no more
};
struct Brought {  // pieces first, first + 1, ... of a rank's input; none when end == first
  Rank rank;
  std::int32_t first = 0, end = 0;
};
struct Holdings {
  std::vector<Brought> brought;  // by position in the group
  std::vector<Holding> had;      // by position, then by place in the output
};

// Data that a rank only passes on is not in its output, and not here.  Assumes a correct schedule
// (collectives/checker.hpp), so the last write to a place is its final content.
[[nodiscard]] Holdings find_holdings(const Schedule& schedule, const Timeline& timeline,
                                     const Pieces& pieces);

}  // namespace collsim
