// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "collectives/span.hpp"

namespace collsim {

// One channel's shares of the `blocks` even blocks of a vector, laid end to end in the order seen
// from the root: place 0 is the root's own block.  Whole stretches of such blocks can then travel
// as one message, also where in the vector itself they wrap around its end or other channels'
// shares lie between them.
class TurnedBlocks {
 public:
  TurnedBlocks(std::int64_t count, int blocks, Share channel, int root)
      : blocks_(blocks), longer_(count % blocks), root_(root) {
    for (const std::int64_t extra : {0, 1})
      length_[static_cast<std::size_t>(extra)] =
          Span{Buffer::scratch, 0, count / blocks + extra}.piece(channel.part, channel.of).count;
  }

  // Elements of the places first .. end-1.
  [[nodiscard]] std::int64_t count(int first, int end) const { return before(end) - before(first); }

  // Where they lie in a memory that begins with place `origin`.
  [[nodiscard]] Span range(Span memory, int origin, int first, int end) const {
    return memory.sub(count(origin, first), count(first, end));
  }

 private:
  [[nodiscard]] std::int64_t before(int place) const {
    const std::int64_t end = std::int64_t{root_} + place;
    const std::int64_t longer = std::min(longer_, end) - std::min<std::int64_t>(longer_, root_) +
                                std::clamp<std::int64_t>(end - blocks_, 0, longer_);
    return place * length_[0] + longer * (length_[1] - length_[0]);
  }

  std::int64_t blocks_ = 1;
  std::int64_t longer_ = 0;  // how many blocks are one element longer: the first ones
  std::int64_t root_ = 0;
  std::array<std::int64_t, 2> length_{};  // of the share of a block, of a longer block
};

}  // namespace collsim
