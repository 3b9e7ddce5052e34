// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "collectives/algorithms.hpp"

namespace collsim {

// Broadcast, reduce, gather and scatter are written for a root at position 0: the ranks as seen
// from there.
[[nodiscard]] inline Group from_root(const Task& task) {
  return task.group.turned_to(task.root);
}

[[nodiscard]] inline bool in_place_at_root(const Task& task) {
  return task.in_place && task.group.me() == task.root;
}

// This channel's share of what this rank brings to a broadcast or reduce.  In place, the root's
// input goes by the name of its output, so that "already there" is equality of spans.
[[nodiscard]] inline Span own_vector(const Task& task) {
  return task.share(in_place_at_root(task) ? task.output : task.input);
}

// This channel's share of the one block that a rank brings to a gather or gets from a scatter,
// `block` being all of it; in place, the root's goes by its name among the root's blocks.
[[nodiscard]] inline Span own_block(const Task& task, const Blocks& root_blocks, Span block) {
  return in_place_at_root(task) ? root_blocks[task.root] : task.share(block);
}

// The binomial tree whose subtrees are neighbours: place `me` heads the `reach` places from itself
// on, as far as they exist; its children are at me + 1, me + 2, me + 4 ... below me + reach, its
// parent is me - reach.  A place's reach is its lowest bit, the root's the whole tree.  The tree of
// binomial.cpp goes by the highest bit instead: it needs no neighbours, since everybody gets all.
[[nodiscard]] inline int reach_of(int me, int size) {
  if (me > 0) return me & -me;
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
}

}  // namespace collsim
