// SPDX-License-Identifier: Apache-2.0
//
// Gather and scatter on a binomial tree: like broadcast and reduce, but with a different block for
// every rank, so a message carries the blocks of a whole subtree.  Ranks are counted from the root.
//
// Scatter, d = 2^(q-1), ..., 2, 1: a rank r that is a multiple of 2d holds the blocks r .. r+2d-1
// and sends the upper half of them, r+d .. r+2d-1 (those that exist), to rank r+d.
//
//   K = 8:   d = 4   0 -[4 5 6 7]-> 4
//            d = 2   0 -[2 3]-> 2   4 -[6 7]-> 6
//            d = 1   0 -[1]-> 1     2 -[3]-> 3     4 -[5]-> 5     6 -[7]-> 7
//
// Gather: the same steps backwards with the arrows reversed, d = 1, 2, 4 ...
//
// Startups and bytes are both the fewest there can be.  What it pays is memory traffic: inner ranks
// collect the blocks of their subtree in scratch before they pass them on, and so does the root
// where the blocks of a message are not contiguous in its buffer (they wrap around its end when the
// root is not position 0; or there are several channels, each with its share of every block).
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
#include <algorithm>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

// The root's buffer, as the tree sees it.
struct RootBuffer {
  Blocks blocks;  // in the order of positions
  int root = 0;
  int size = 1;
  bool one_channel = true;

  [[nodiscard]] int position(int place) const {
    return place + root < size ? place + root : place + root - size;
  }
  [[nodiscard]] bool contiguous(int first, int end) const {
    return one_channel && position(first) <= position(end - 1);
  }
  // Only of a contiguous range.
  [[nodiscard]] Span range(int first, int end) const {
    return joined(blocks, position(first), end - first);
  }
};

RootBuffer root_buffer(const Task& task, Span whole) {
  return {task.blocks(whole), task.root, task.group.size(), task.channel.of == 1};
}

RotatedBlocks rotated_blocks(const Task& task) {
  return {task.count, task.group.size(), task.channel, task.root};
}

Program gather_inner(Group group, RotatedBlocks blocks, Span own, Span scratch) {
  const int me = group.me();
  const int reach = reach_of(me, group.size());
  const int end = std::min(me + reach, group.size());
  Span mine = own;
  if (end > me + 1) {
    co_yield copy(own, blocks.range(scratch, me, me, me + 1));
    for (int d = 1; me + d < end; d *= 2) {
      const Span part = blocks.range(scratch, me, me + d, std::min(me + 2 * d, end));
      co_yield receive(group[me + d], part);
    }
    mine = blocks.range(scratch, me, me, end);
  }
  co_yield send(group[me - reach], mine);
}

Program gather_root(Group group, RotatedBlocks blocks, Span own, RootBuffer all, Span scratch) {
  const int size = group.size();
  if (own != all.blocks[all.root]) co_yield copy(own, all.blocks[all.root]);
  for (int d = 1; d < size; d *= 2) {
    const int end = std::min(2 * d, size);
    const bool staged = !all.contiguous(d, end);
    const Span part = staged ? blocks.range(scratch, d, d, end) : all.range(d, end);
    co_yield receive(group[d], part);
    for (int place = d; staged && place < end; ++place)
      co_yield copy(blocks.range(scratch, d, place, place + 1), all.blocks[all.position(place)]);
  }
}

Program scatter_inner(Group group, RotatedBlocks blocks, Span own, Span scratch) {
  const int me = group.me();
  const int reach = reach_of(me, group.size());
  const int end = std::min(me + reach, group.size());
  const bool leaf = end == me + 1;
  const Span mine = leaf ? own : blocks.range(scratch, me, me, end);
  co_yield receive(group[me - reach], mine);
  for (int d = reach / 2; d > 0; d /= 2) {
    if (me + d >= end) continue;
    const Span part = blocks.range(scratch, me, me + d, std::min(me + 2 * d, end));
    co_yield send(group[me + d], part);
  }
  if (!leaf) co_yield copy(blocks.range(scratch, me, me, me + 1), own);
}

Program scatter_root(Group group, RotatedBlocks blocks, RootBuffer all, Span own, Span scratch) {
  const int size = group.size();
  for (int d = reach_of(0, size) / 2; d > 0; d /= 2) {
    const int end = std::min(2 * d, size);
    const bool staged = !all.contiguous(d, end);
    const Span part = staged ? blocks.range(scratch, d, d, end) : all.range(d, end);
    for (int place = d; staged && place < end; ++place)
      co_yield copy(all.blocks[all.position(place)], blocks.range(scratch, d, place, place + 1));
    co_yield send(group[d], part);
  }
  if (own != all.blocks[all.root]) co_yield copy(all.blocks[all.root], own);
}

// Inner positions stage their subtree, the root one message at a time.
std::int64_t staged_subtree(const Task& task) {
  const Group group = from_root(task);
  const int me = group.me();
  const int size = group.size();
  const RotatedBlocks blocks = rotated_blocks(task);
  if (me > 0) {
    const int end = std::min(me + reach_of(me, size), size);
    return end > me + 1 ? blocks.count(me, end) : 0;
  }
  const RootBuffer all = root_buffer(task, {Buffer::scratch, 0, task.count});
  std::int64_t longest = 0;
  for (int d = 1; d < size; d *= 2) {
    const int end = std::min(2 * d, size);
    if (!all.contiguous(d, end)) longest = std::max(longest, blocks.count(d, end));
  }
  return longest;
}

Program gather_by_subtrees(const Task& task) {
  const Group group = from_root(task);
  const RotatedBlocks blocks = rotated_blocks(task);
  if (group.me() > 0) return gather_inner(group, blocks, task.share(task.input), task.scratch);
  const RootBuffer all = root_buffer(task, task.output);
  return gather_root(group, blocks, own_block(task, all.blocks, task.input), all, task.scratch);
}

Program scatter_by_subtrees(const Task& task) {
  const Group group = from_root(task);
  const RotatedBlocks blocks = rotated_blocks(task);
  if (group.me() > 0) return scatter_inner(group, blocks, task.share(task.output), task.scratch);
  const RootBuffer all = root_buffer(task, task.input);
  return scatter_root(group, blocks, all, own_block(task, all.blocks, task.output), task.scratch);
}

// A message carries half, a quarter, ... of the root's buffer.
constexpr std::array<Cost, 4> subtree_costs{
    {{on::ports, "q*(S*alpha + L) + (K-1)/K*N/B", "K*S", literature::chan, when::tree_on_ports},
     {on::links, "q*(S*alpha + L) + (K-1)/K*N/B", "K*S", literature::chan, when::power_of_two}}};

}  // namespace

extern const Algorithm gather_binomial{
    .operation = Operation::gather,
    .name = "binomial",
    .summary = "blocks of whole subtrees are gathered up a binomial tree",
    .program = gather_by_subtrees,
    .scratch = staged_subtree,
    .messages_exceed_a_block = true,
    .costs = subtree_costs};

extern const Algorithm scatter_binomial{
    .operation = Operation::scatter,
    .name = "binomial",
    .summary = "blocks of whole subtrees are scattered down a binomial tree",
    .program = scatter_by_subtrees,
    .scratch = staged_subtree,
    .messages_exceed_a_block = true,
    .costs = subtree_costs};

}  // namespace collsim
