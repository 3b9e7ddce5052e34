// SPDX-License-Identifier: Apache-2.0
//
// The double binary tree: two binary trees over the same ranks, each carrying half of the data.
// In one binary tree half of the ranks are leaves, which never use their outgoing port, and the
// others send everything twice.  Two trees in which (almost) no rank is inner twice even that out:
// every rank sends and receives about N bytes, as in a chain, but over log2 K hops only.
//
// Broadcast: the root feeds both trees, tree t with the t-th half of the data; in each tree every
// rank passes chunk by chunk on to its children.  Two lanes, one per tree.  Reduce is the same with
// all arrows reversed; a rank adds what its children send to its own input.
//
//   K = 8, tree 0:   0 - 4 - 2 - 1    and the same tree with 1..7 renamed 2,3,..7,1, tree 1:
//                        |   ` - 3                                  0 - 5 - 3 - 2
//                        ` - 6 - 5                                      |   ` - 4
//                            ` - 7                                      ` - 7 - 6
//                                                                           ` - 1
//
// All-reduce (NCCL: Tree): each half is added up along its tree to the root, turns there and goes
// down to all.  Every tree has two lanes per rank, up and down, so that both directions flow at
// once:
//
//   up     from each child: add; the sum of the subtree to the parent
//   root   from its children: add, keep, and send down (in the up lane)
//   down   from the parent: keep; to each child
//
// Among nodes of several GPUs each, a channel's trees join one GPU of every node, behind a NIC of
// its own, and a chain from there the node's others.
//
// An inner rank with several children keeps the sum with the first in the output until the next has
// come; in place, the output also is the input.  The chunk that comes down goes to the same memory,
// so the up lane says when it is done with a chunk.
//
// Cost on one port per rank: N/B (all-reduce 2N/B) plus a few chunk times for the depth, and the
// startups of 2 log2(K) chunks.  Where ports serve one message at a time, first in first out, and
// slots are not limited, senders of a reduction run ahead of the other tree.  Simulated time over
// N/B on a switch, 64 MiB, S = 256, alpha = 0, K = 8 to 64:
//                            broadcast     reduce        all-reduce
//   fair ports               1.01 - 1.02   1.01 - 1.02   2.01 - 2.03
//   exclusive, 2 - 8 slots   1.01 - 1.02   1.01 - 1.04   2.01 - 2.07
//   exclusive, unlimited     1.01 - 1.02   1.51 - 1.52   2.50 - 2.51
//
// P. Sanders, J. Speck, J. L. Traff: Two-tree algorithms for full bandwidth broadcast, reduction
// and scan, Parallel Computing 35 (2009).  The layout is that of NCCL 2.4.
#include <bit>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"

namespace collsim {
namespace {

int largest_power_of_two_below(int size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(size - 1)));
}

// A tree with its positions renamed.
template <class Rename>
TreeNode renamed(TreeNode node, Rename rename) {
  if (node.parent >= 0) node.parent = rename(node.parent);
  for (int i = 0; i < node.children; ++i) {
    int& child = node.child[static_cast<std::size_t>(i)];
    child = rename(child);
  }
  return node;
}

// The binary tree of NCCL over positions 0..size-1.  For a position r > 0 with lowest set bit b the
// children are r - b/2 and r + b/2 (b/2 halved while r + b/2 is outside), so odd positions are
// leaves and the depth is about log2(size); 0 is the root and has one child, the largest power of
// two below size.
TreeNode in_order_tree(int position, int size) {
  TreeNode node;
  if (position == 0) {
    if (size > 1)
      node.child[static_cast<std::size_t>(node.children++)] = largest_power_of_two_below(size);
    return node;
  }
  const int bit = position & -position;
  const int up = (position ^ bit) | (bit << 1);
  node.parent = up < size ? up : position ^ bit;
  int step = bit / 2;
  if (step == 0) return node;
  node.child[static_cast<std::size_t>(node.children++)] = position - step;
  while (step > 0 && position + step >= size) step /= 2;
  if (step > 0) node.child[static_cast<std::size_t>(node.children++)] = position + step;
  return node;
}

}  // namespace

TreeNode double_tree(int tree, int position, int size) {
  if (tree == 0) return in_order_tree(position, size);
  if (size % 2 == 0) {
    const auto mirror = [size](int r) { return size - 1 - r; };
    return renamed(in_order_tree(mirror(position), size), mirror);
  }
  const auto shifted = [size](int r) { return r == size - 1 ? 0 : r + 1; };
  return renamed(in_order_tree(position == 0 ? size - 1 : position - 1, size), shifted);
}

TreeNode double_tree_from_root(int tree, int position, int size) {
  if (tree == 0 || size <= 2) return in_order_tree(position, size);
  if (size % 2 == 1) {
    const auto mirror = [size](int r) { return r == 0 ? 0 : size - r; };
    return renamed(in_order_tree(mirror(position), size), mirror);
  }
  const auto shifted = [size](int r) { return r == 0 ? 0 : r == size - 1 ? 1 : r + 1; };
  const int unshifted = position == 0 ? 0 : position == 1 ? size - 1 : position - 1;
  return renamed(in_order_tree(unshifted, size), shifted);
}

namespace {

Program broadcast_down_both_trees(const Task& task) {
  const Group group = from_root(task);
  const TreeNode node = double_tree_from_root(task.role, group.me(), group.size());
  return tree_broadcast(tree_edges(group, node), own_vector(task).piece(task.role, 2),
                        task.share(task.output).piece(task.role, 2));
}

Program reduce_up_both_trees(const Task& task) {
  const Group group = from_root(task);
  const TreeNode node = double_tree_from_root(task.role, group.me(), group.size());
  const Span own = own_vector(task);
  const Span sum = node.parent < 0 ? task.share(task.output) : task.scratch.sub(0, own.count);
  return tree_reduce(tree_edges(group, node), own.piece(task.role, 2), sum.piece(task.role, 2));
}

std::int64_t reduce_up_both_trees_scratch(const Task& task) {
  return task.group.me() == task.root ? 0 : task.share(task.input).count;
}

// Both lanes of a rank must agree on this.
bool down_lane_waits(const TreeNode& node, bool in_place) {
  return node.parent >= 0 && (in_place || node.children > 1);
}

Program double_tree_up(TreeEdges at, bool signals, Endpoint me, Span source, Span result) {
  ChunkByChunk<> step;
  add_step_up(step, at, source, result, true);
  if (signals) step.add(signal(role_above(me, 1)));
  co_yield step;
}

Program double_tree_down(TreeEdges at, bool waits, Endpoint me, Span result) {
  ChunkByChunk<> step;
  if (waits) step.add(wait(role_above(me, -1)));
  add_step_down(step, at, result, result);
  co_yield step;
}

// A place in the tree of a channel: between nodes of several ranks each, double_tree() joins the
// ranks at which the channel enters them, and a chain starts there in every node.
TreeNode tree_of_channel(const Task& task, int tree, int position) {
  const int size = task.per_node;
  if (size == 1) return double_tree(tree, position, task.group.size());
  const int node = position / size;
  const Ring ring = Ring::up(task);
  const auto in_node = [&](int place) { return ring.position(node * size + place); };
  const int entry = in_node(0) - node * size;
  const int place = ring.place_of(position) - node * size;
  TreeNode at;
  if (place > 0) at.parent = in_node(place - 1);
  if (place + 1 < size) at.child[static_cast<std::size_t>(at.children++)] = in_node(place + 1);
  if (place > 0) return at;
  const TreeNode among = renamed(double_tree(tree, node, task.group.size() / size),
                                 [&](int other) { return other * size + entry; });
  at.parent = among.parent;
  for (int i = 0; i < among.children; ++i)
    at.child[static_cast<std::size_t>(at.children++)] = among.child[static_cast<std::size_t>(i)];
  return at;
}

Program all_reduce_along_both_trees(const Task& task) {
  const int tree = task.role / 2, ranks = task.group.size();
  const bool up = task.role % 2 == 0;
  const TreeNode node = tree_of_channel(task, tree, task.group.me());
  const Span source = source_vector(task).piece(tree, 2);
  const Span result = result_vector(task).piece(tree, 2);
  if (ranks == 1) return up ? copy_alone(source, result) : Program();
  TreeEdges at = tree_edges(task.group, node);
  const Endpoint me = task.group.self();
  const bool waits = down_lane_waits(node, task.in_place);
  if (up) return double_tree_up(at, waits, me, source, result);
  if (node.parent < 0) return {};  // the up lane of the root sends the sum down itself
  if (tree_of_channel(task, tree, node.parent).parent < 0) at.parent = role_above(at.parent, -1);
  return double_tree_down(at, waits, me, result);
}

}  // namespace

extern const Algorithm broadcast_double_tree{
    .operation = Operation::broadcast,
    .name = "double-tree",
    .aliases = {"tree", "double-binary-tree"},
    .summary = "two binary trees, each with half of the data; no rank is an inner node of both",
    .program = broadcast_down_both_trees,
    .lanes = 2,
    .messages_exceed_a_block = true};

extern const Algorithm reduce_double_tree{
    .operation = Operation::reduce,
    .name = "double-tree",
    .aliases = {"tree", "double-binary-tree"},
    .summary = "two binary trees, each with half of the data; no rank is an inner node of both",
    .program = reduce_up_both_trees,
    .lanes = 2,
    .scratch = reduce_up_both_trees_scratch,
    .messages_exceed_a_block = true};

extern const Algorithm all_reduce_double_tree{
    .operation = Operation::all_reduce,
    .name = "double-tree",
    .aliases = {"tree", "double-binary-tree"},
    .summary =
        "half of the vector up and down each of two binary trees "
        "(cut into chunks: NCCL's Tree)",
    .program = all_reduce_along_both_trees,
    .lanes = 4,
    .node_turns = {.members = true, .channels = true, .lanes_of_tree = 2},
    .node_pieces = [](int /*ranks*/, int /*members*/) { return 2; },
    .messages_exceed_a_block = true};

}  // namespace collsim
