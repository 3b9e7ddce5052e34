// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/group.hpp"
#include "collectives/program.hpp"

namespace collsim {

// A place in a chain: data come from the previous and go to the next.
struct Chain {
  Endpoint previous, next;
  bool is_first = false;  // nothing before me
  bool is_last = false;   // nothing after me

  // Up the positions of a group, 0 -> 1 -> ... -> K-1; from 0 around the other way,
  // 0 -> K-1 -> ... -> 1; and down to 0, K-1 -> ... -> 1 -> 0.
  [[nodiscard]] static Chain up(const Group& group);
  [[nodiscard]] static Chain around(const Group& group);
  [[nodiscard]] static Chain down(const Group& group);
};

// The two chain programs as parts of others; chain.cpp explains them.  Only the first reads
// `source` of a broadcast, only the last writes `sum` of a reduce.
[[nodiscard]] Program chain_broadcast(Chain at, Span source, Span result, int chunks);
[[nodiscard]] Program chain_reduce(Chain at, Span source, Span sum, int chunks);

}  // namespace collsim
