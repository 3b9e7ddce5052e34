// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/group.hpp"
#include "collectives/program.hpp"
#include "collectives/span.hpp"

namespace collsim {

// A ring as one member sees it: where its data come from, where they go, which place it has.
struct Ring {
  Endpoint previous, next;
  int place = 0;
  int size = 1;

  // Up the positions of a group, or down them: the place then counts the other way, so that data
  // still travel from place to place + 1.
  [[nodiscard]] static Ring up(const Group& group) {
    const int me = group.me();
    return {group[me - 1], group[me + 1], me, group.size()};
  }
  [[nodiscard]] static Ring down(const Group& group) {
    const int me = group.me();
    return {group[me + 1], group[me - 1], group.size() - 1 - me, group.size()};
  }

  [[nodiscard]] int before(int other) const { return other == 0 ? size - 1 : other - 1; }
  [[nodiscard]] int after(int other) const { return other == size - 1 ? 0 : other + 1; }
};

// The three ring programs as parts of others; ring.cpp explains them.  They cut vectors into one
// block per place.  Nothing is copied where source and destination are the same span.
[[nodiscard]] Program ring_reduce_scatter(Ring ring, Blocks source, Span mine, int chunks);
[[nodiscard]] Program ring_all_gather(Ring ring, Span mine, Blocks all, int chunks);
[[nodiscard]] Program ring_all_reduce(Ring ring, Blocks source, Blocks result, int chunks);

}  // namespace collsim
