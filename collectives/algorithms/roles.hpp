// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"

namespace collsim {

// What a task means for the rank that got it: which memory it works on and which place it has.  In
// place, input and output are one memory, and it goes by the name of the output wherever all of it
// may be written: then "already there" is equality of spans.

// --- one vector: broadcast, reduce, all-reduce --------------------------------------------------

// Rooted operations are written for a root at position 0: the ranks as seen from there.
[[nodiscard]] inline Group from_root(const Task& task) {
  return task.group.turned_to(task.root);
}
[[nodiscard]] inline bool in_place_at_root(const Task& task) {
  return task.in_place && task.group.me() == task.root;
}

// Broadcast, reduce: this channel's share of what this rank contributes.
[[nodiscard]] inline Span own_vector(const Task& task) {
  return task.share(in_place_at_root(task) ? task.output : task.input);
}

// All-reduce: this channel's share of the vector to add and of the place for the sum.
[[nodiscard]] inline Span source_vector(const Task& task) {
  return task.share(task.in_place ? task.output : task.input);
}
[[nodiscard]] inline Span result_vector(const Task& task) {
  return task.share(task.output);
}

// --- one block per rank: gather, scatter, all-gather, reduce-scatter ----------------------------

// Gather, scatter: this channel's share of the block that a rank gives or gets, `block` being all
// of it; in place, the root's goes by its name among the root's blocks.
[[nodiscard]] inline Span own_block(const Task& task, const Blocks& root_blocks, Span block) {
  return in_place_at_root(task) ? root_blocks[task.root] : task.share(block);
}

// All-gather: my own block; task.blocks(task.output) are the places of all.
[[nodiscard]] inline Span gathered_block(const Task& task) {
  return task.in_place ? task.blocks(task.output)[task.group.me()] : task.share(task.input);
}

// Reduce-scatter: the blocks of my input, and where my block of the sum belongs.
[[nodiscard]] inline Blocks scattered_blocks(const Task& task) {
  const bool same = task.in_place && task.group.size() == 1;
  return task.blocks(same ? task.output : task.input);
}
[[nodiscard]] inline Span scattered_block(const Task& task) {
  return task.share(task.output);
}

// The memory of `count` neighbouring blocks as one span; only where nothing lies between them, that
// is with one channel.
[[nodiscard]] inline Span joined(const Blocks& blocks, int first, int count) {
  Span all = blocks[first];
  const Span last = blocks[first + count - 1];
  all.count = last.offset + last.count - all.offset;
  return all;
}

// One channel's shares of the `blocks` even blocks of a vector, laid end to end in the order seen
// from the root: position 0 is the root's own block.  Whole stretches of such blocks can then
// travel as one message, also where in the vector itself they wrap around its end or other
// channels' shares lie between them.
class RotatedBlocks {
 public:
  RotatedBlocks(std::int64_t count, int blocks, Share channel, int root)
      : blocks_(blocks), longer_(count % blocks), root_(root) {
    for (const std::int64_t extra : {0, 1})
      length_[static_cast<std::size_t>(extra)] =
          Span{Buffer::scratch, 0, count / blocks + extra}.piece(channel.part, channel.of).count;
  }

  // Elements of the positions first .. end-1.
  [[nodiscard]] std::int64_t count(int first, int end) const { return before(end) - before(first); }

  // Where they lie in a memory that begins with position `origin`.
  [[nodiscard]] Span range(Span memory, int origin, int first, int end) const {
    return memory.sub(count(origin, first), count(first, end));
  }

 private:
  [[nodiscard]] std::int64_t before(int position) const {
    const std::int64_t end = std::int64_t{root_} + position;
    const std::int64_t longer = std::min(longer_, end) - std::min<std::int64_t>(longer_, root_) +
                                std::clamp<std::int64_t>(end - blocks_, 0, longer_);
    return position * length_[0] + longer * (length_[1] - length_[0]);
  }

  std::int64_t blocks_ = 1;
  std::int64_t longer_ = 0;  // how many blocks are one element longer: the first ones
  std::int64_t root_ = 0;
  std::array<std::int64_t, 2> length_{};  // of the share of a block, of a longer block
};

// Elements of all blocks together as one channel sees them: what it needs to lay them out in
// scratch without gaps.  Shares of an even split are themselves an even split of their sum, the
// longer first, so Blocks over that much scratch has the same lengths.
[[nodiscard]] inline std::int64_t count_of_shares(const Task& task, Span whole) {
  const int ranks = task.group.size();
  return RotatedBlocks(whole.count, ranks, task.channel, 0).count(0, ranks);
}
[[nodiscard]] inline Span scratch_for_shares(const Task& task, Span whole) {
  return task.scratch.sub(0, count_of_shares(task, whole));
}

// All-gather: blocks in which neighbours can be joined, those of the output itself or, with several
// channels, of this much scratch, from which they must be copied at the end.
[[nodiscard]] inline Blocks blocks_without_gaps(const Task& task) {
  if (task.channel.of == 1) return task.blocks(task.output);
  return {scratch_for_shares(task, task.output), task.group.size()};
}
[[nodiscard]] inline std::int64_t scratch_without_gaps(const Task& task) {
  return task.channel.of == 1 ? 0 : count_of_shares(task, task.output);
}

// --- places and lanes ---------------------------------------------------------------------------

// The binomial tree whose subtrees are neighbours: position `me` heads the `reach` positions from
// itself on, as far as they exist; its children are at me + 1, me + 2, me + 4 ... below me + reach,
// its parent is me - reach.  The reach is the lowest bit, the root's is the whole tree.  (The tree
// of binomial.cpp goes by the highest bit instead: it needs no neighbours, since all get the same.)
[[nodiscard]] inline int reach_of(int me, int size) {
  if (me > 0) return me & -me;
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
}

// The lane of the same rank and channel whose role is `roles` more.
[[nodiscard]] inline Endpoint role_above(Endpoint endpoint, int roles) {
  const int lane = static_cast<int>(endpoint.lane.index()) + roles;
  return endpoint.on(Lane(static_cast<std::size_t>(lane)));
}

// Algorithm::why_not of butterflies.
[[nodiscard]] inline std::string needs_power_of_two(int ranks) {
  if (std::has_single_bit(static_cast<unsigned>(ranks))) return {};
  return "every step halves or doubles the blocks, so the number of ranks must be a power of two: "
         "1, 2, 4, 8, ...";
}

// Algorithm::why_not of exchanges between neighbours.
[[nodiscard]] inline std::string needs_even(int ranks) {
  return ranks % 2 == 0 || ranks == 1 ? "" : "ranks work in pairs, so their number must be even";
}

}  // namespace collsim
