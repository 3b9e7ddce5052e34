// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"

namespace collsim {

// Which piece of the collective's data each message carries, so that one piece can have one colour
// wherever it goes.  Pieces are numbered from 0 in the order of the data: of the vector for
// broadcasts and reductions, where the same element of all ranks is the same piece; else of all
// ranks' inputs one after the other.  What a rank keeps for itself is a piece too, though no
// message carries it.  A message that holds several blocks (Bruck and the like) counts as its
// first.
struct Pieces {
  std::vector<std::int32_t> of_step;  // as Timeline::steps; -1: it sends nothing
  std::vector<bool> mixed;            // by step: its message holds more than the piece it counts as
  std::int32_t count = 0;             // how many pieces there are
  // Of all data in that order: where each piece begins, and the input of each position of the group
  // (at 0 for all where the same element is the same piece).
  std::vector<std::int64_t> starts, inputs;
};
[[nodiscard]] Pieces find_pieces(const Schedule& schedule, const Timeline& timeline);

// The pieces, of those of find_pieces(), in the ranks' inputs and outputs, and when they get there.
struct OutputPiece {  // a piece of what a rank shall have in the end
  Rank rank;
  std::int32_t piece = 0;
  Time begun;  // something of it is there: for a sum perhaps one rank's part only
  Time done;   // it is there, and changes no more
};
struct InputPieces {  // pieces first, first + 1, ... of a rank's input; none when end == first
  Rank rank;
  std::int32_t first = 0, end = 0;
};
struct Holdings {
  std::vector<InputPieces> inputs;   // by position in the group
  std::vector<OutputPiece> outputs;  // by position, then by place in the output
};

// What a rank only passes on is not in its output, and not here.  Of a schedule that is right
// (collectives/checker.hpp), so the last that writes to a place writes what belongs there.
[[nodiscard]] Holdings find_holdings(const Schedule& schedule, const Timeline& timeline,
                                     const Pieces& pieces);

}  // namespace collsim
