// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "collectives/algorithms.hpp"

namespace collsim {

// Programs that others are built from.  Nothing is copied where source and destination are the same
// span.

// A rank with one thing to do.
[[nodiscard]] inline Program only(Instruction instruction) {
  co_yield instruction;
}

// A group of one: what it contributes is the result.
[[nodiscard]] inline Program copy_alone(Span source, Span result) {
  if (source != result) co_yield copy(source, result);
}

// What is sent is also the sender's result.
[[nodiscard]] constexpr Instruction store_and_send(const Span& source, const Span& result,
                                                   const Endpoint& to) {
  return source == result ? send(to, source) : copy_send(source, result, to);
}

// Where the aligned group of `size` positions (a power of two) starts in which `position` is.
[[nodiscard]] constexpr int aligned(int position, int size) {
  return position / size * size;
}

// --- rings (ring.cpp) ---------------------------------------------------------------------------

// A ring as one member sees it: where its data come from, where they go, which place it has.
struct Ring {
  Endpoint previous, next;
  int place = 0;
  int size = 1;
  int node = 1;  // so many neighbouring places are one node,
  int turn = 0;  // whose members are turned by this much against their positions
  std::span<const int> order =
      {};  // or all positions, or the members, in the order of their places

  // Up the positions of a group, or down them: the place then counts the other way, so that data
  // still travel from place to place + 1.
  [[nodiscard]] static Ring up(const Group& group) {
    const int me = group.me();
    return {group[me - 1], group[me + 1], me, group.size()};
  }
  // The ring of a channel: up the positions, turned within every node, or in its own order.
  [[nodiscard]] static Ring up(const Task& task) {
    Ring ring = up(task.group);
    ring.node = task.per_node;
    ring.turn = task.channel.part % task.per_node;
    ring.order = task.order;
    if (ring.turn == 0 && ring.order.empty()) return ring;
    ring.place = ring.place_of(task.group.me());
    ring.previous = task.group[ring.position(ring.before(ring.place))];
    ring.next = task.group[ring.position(ring.after(ring.place))];
    return ring;
  }
  [[nodiscard]] int place_of(int position) const {
    const int first = first_of_node(position);
    if (!order.empty())
      return first + static_cast<int>(std::find(order.begin(), order.end(), position - first) -
                                      order.begin());
    return first + (position - first + node - turn) % node;
  }
  // Of the member at a place.
  [[nodiscard]] int position(int at) const {
    if (turn == 0 && order.empty()) return at;
    const int first = first_of_node(at);
    if (!order.empty()) return first + order[static_cast<std::size_t>(at - first)];
    return first + (at - first + turn) % node;
  }
  [[nodiscard]] static Ring down(const Group& group) {
    const int me = group.me();
    return {group[me + 1], group[me - 1], group.size() - 1 - me, group.size()};
  }

  [[nodiscard]] int first_of_node(int at) const {
    return node > 1 ? at - at % node : order.empty() ? at : 0;
  }
  [[nodiscard]] int before(int other) const { return other == 0 ? size - 1 : other - 1; }
  [[nodiscard]] int after(int other) const { return other + 1 == size ? 0 : other + 1; }

  // Between its first step and its last a member passes on K - 2 blocks, that of a place, of the
  // place before it, and so on: in runs of blocks that are equally long and equally far apart.
  struct Run {
    int place = 0;  // of the first
    int length = 0;
    int left = 0;  // blocks of later runs
  };
  template <class BlockPerPlace>
  [[nodiscard]] Run first_run(int from, const BlockPerPlace& blocks) const {
    return run_from(from, size - 2, blocks);
  }
  template <class BlockPerPlace>
  [[nodiscard]] Run next_run(const Run& run, const BlockPerPlace& blocks) const {
    return run_from(before(run.place - run.length + 1), run.left, blocks);
  }

 private:
  template <class BlockPerPlace>
  [[nodiscard]] static Run run_from(int from, int left, const BlockPerPlace& blocks) {
    if (left == 0) return {};
    const int length = std::min(left, static_cast<int>(blocks.alike_down_from(from)));
    return {from, length, left - length};
  }
};

// The block of the member at each place, where there is one per position.
struct BlocksOfMembers {
  const Ring& ring;
  const Blocks& by_position;

  [[nodiscard]] Span operator[](int place) const { return by_position[ring.position(place)]; }
  [[nodiscard]] std::int64_t stride(int place) const { return by_position.stride(place); }
  [[nodiscard]] std::int64_t alike_down_from(int place) const {
    return ring.turn == 0 && ring.order.empty() ? by_position.alike_down_from(place) : 1;
  }
};

extern const Algorithm all_reduce_ring, all_gather_ring, reduce_scatter_ring;

// One block per place.
[[nodiscard]] Program ring_reduce_scatter(Ring ring, Blocks source, Span mine);
[[nodiscard]] Program ring_all_gather(Ring ring, Span mine, Blocks all);
[[nodiscard]] Program ring_all_reduce(Ring ring, Blocks source, Blocks result);

// --- trees (binary_tree.cpp) --------------------------------------------------------------------

// A place in a tree of any shape with at most three children; positions, -1 where there is none.
struct TreeNode {
  int parent = -1;
  std::array<int, 3> child{-1, -1, -1};  // in the order in which they are served
  int children = 0;
};

// The same as endpoints.
struct TreeEdges {
  Endpoint parent;
  std::array<Endpoint, 3> child;
  bool is_root = false;
  int children = 0;
};
[[nodiscard]] TreeEdges tree_edges(const Group& group, const TreeNode& node);

// Down the tree, chunk by chunk; only the root reads `source`, all write `result`.
[[nodiscard]] Program tree_broadcast(TreeEdges at, Span source, Span result);

// Up the tree, chunk by chunk.  The root and ranks with several children add up in `sum`, which is
// as long as `source`; the others do not touch it.
[[nodiscard]] Program tree_reduce(TreeEdges at, Span source, Span sum);

// What a rank does with each chunk for them.  Where the way up turns, the root sends the sum down
// at once, to the next role's lanes of its children.
void add_step_down(ChunkByChunk<>& step, const TreeEdges& at, Span source, Span result);
void add_step_up(ChunkByChunk<>& step, const TreeEdges& at, Span source, Span sum, bool turns);

// A place in one of NCCL's two trees (double_tree.cpp), in which (almost) no rank is inner twice.
// Tree 0: for a position r > 0 with lowest set bit b the children are r - b/2 and r + b/2 (b/2
// halved while r + b/2 is outside), so odd positions are leaves; 0 is the root.  Tree 1 is the same
// tree with the positions renamed: mirrored, r -> size-1-r, when size is even, shifted, r -> r+1,
// when it is odd.  Their roots are different positions.
[[nodiscard]] TreeNode double_tree(int tree, int position, int size);

// The same where both trees start at position 0: the size-1 others are mirrored, r -> size-r, when
// their number is even, and shifted, r -> r+1, when it is odd.
[[nodiscard]] TreeNode double_tree_from_root(int tree, int position, int size);

}  // namespace collsim
