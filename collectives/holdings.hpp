// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/pieces.hpp"
#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"

namespace collsim {

// What every rank brings along, what it has in the end, and since when: buffers before and after, and
// the time between.  Pieces are those of find_pieces().
struct Holding {  // a piece of what a rank shall have in the end
  Rank rank;
  std::int32_t piece = 0;
  Time begun;  // something of it is there: for a sum perhaps one rank's part only
  Time done;   // it is there, and changes no more
};
struct Brought {  // pieces first, first + 1, ... of a rank's input; none when end == first
  Rank rank;
  std::int32_t first = 0, end = 0;
};
struct Holdings {
  std::vector<Brought> brought;  // by position in the group
  std::vector<Holding> had;      // by position, then by place in the output
};

// What a rank only passes on is not in its output, and not here.  Of a schedule that is right
// (collectives/checker.hpp), so the last that writes to a place writes what belongs there.
[[nodiscard]] Holdings find_holdings(const Schedule& schedule, const Timeline& timeline,
                                     const Pieces& pieces);

}  // namespace collsim
