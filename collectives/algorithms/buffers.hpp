// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/turned_blocks.hpp"

namespace collsim {

// What one channel of an all-reduce, all-gather or reduce-scatter works on.  In place, input and
// output are one memory, and it goes by the name of the output wherever all of it may be written:
// then "already there" is just equality of spans.

// All-reduce: the vector to add and where the sum belongs.
[[nodiscard]] inline Span source_vector(const Task& task) {
  return task.share(task.in_place ? task.output : task.input);
}
[[nodiscard]] inline Span result_vector(const Task& task) {
  return task.share(task.output);
}

// All-gather: my own block; task.blocks(task.output) are the places of all.
[[nodiscard]] inline Span gathered_block(const Task& task) {
  return task.in_place ? task.blocks(task.output)[task.group.me()]
                       : task.input.piece(task.channel.part, task.channel.of);
}

// Reduce-scatter: everybody's blocks of my input, and where my block of the sum belongs.
[[nodiscard]] inline Blocks scattered_blocks(const Task& task) {
  const bool same = task.in_place && task.group.size() == 1;
  return task.blocks(same ? task.output : task.input);
}
[[nodiscard]] inline Span scattered_block(const Task& task) {
  return task.output.piece(task.channel.part, task.channel.of);
}

// Elements of all blocks together as one channel sees them: what it needs to lay them out in
// scratch without gaps.  Shares of an even split are themselves an even split of their sum, the
// longer first, so Blocks over that much scratch has the same lengths.
[[nodiscard]] inline std::int64_t count_of_shares(const Task& task, Span whole) {
  const int ranks = task.group.size();
  return TurnedBlocks(whole.count, ranks, task.channel, 0).count(0, ranks);
}
[[nodiscard]] inline Span scratch_for_shares(const Task& task, Span whole) {
  return task.scratch.sub(0, count_of_shares(task, whole));
}

// The memory of `count` neighbouring blocks as one span; only where nothing lies between them, that
// is with one channel.
[[nodiscard]] inline Span joined(const Blocks& blocks, int first, int count) {
  Span all = blocks[first];
  const Span last = blocks[first + count - 1];
  all.count = last.offset + last.count - all.offset;
  return all;
}

}  // namespace collsim
