// SPDX-License-Identifier: Apache-2.0
//
// The double binary tree: two binary trees over the same ranks, each carrying half of the data.
// In one binary tree half of the ranks are leaves, which never use their outgoing port, and the
// others send everything twice.  Two trees in which nobody is inner twice even that out: every rank
// sends (about) N bytes and receives N bytes, as in a chain, but over log2 K hops only.
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
// Cost on one port per rank, c = N/(2S): with fair sharing of the ports N/B plus a few c/B for the
// depth, and the start-ups of 2 log2(K) chunks.  Ports that serve one message at a time, first
// come first served, keep the two trees out of step and take longer.  Simulated time over N/B
// on a switch of K = 8, 32 and 64 ranks, 64 MiB, S = 256, alpha = 0:
//                            broadcast     reduce
//   fair ports               1.01 - 1.02   1.01 - 1.02   2 slots or unlimited
//   exclusive, 1 - 8 slots   1.5 - 2.0     1.4 - 2.5
//   exclusive, unlimited     3.0           2.0
// Without a limit the root's messages of a broadcast are all ready at the start and come before
// everybody else's at the ports of its children.  (Sanders et al. fix the order of the messages by
// colouring the edges, and reach N/B there, too.)
//
// P. Sanders, J. Speck, J. L. Traff: Two-tree algorithms for full bandwidth broadcast, reduction
// and scan, Parallel Computing 35 (2009).  The layout is that of NCCL 2.4.
#include "collectives/algorithms/double_tree.hpp"

#include <bit>

#include "collectives/algorithms/binary_tree.hpp"
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"

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

}  // namespace

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

TreeNode double_tree(int tree, int position, int size) {
  if (tree == 0) return in_order_tree(position, size);
  if (size % 2 == 0) {
    const auto mirror = [size](int r) { return size - 1 - r; };
    return renamed(in_order_tree(mirror(position), size), mirror);
  }
  const auto forth = [size](int r) { return r == size - 1 ? 0 : r + 1; };
  return renamed(in_order_tree(position == 0 ? size - 1 : position - 1, size), forth);
}

TreeNode double_tree_from_root(int tree, int position, int size) {
  if (tree == 0 || size <= 2) return in_order_tree(position, size);
  if (size % 2 == 1) {
    const auto mirror = [size](int r) { return r == 0 ? 0 : size - r; };
    return renamed(in_order_tree(mirror(position), size), mirror);
  }
  const auto forth = [size](int r) { return r == 0 ? 0 : r == size - 1 ? 1 : r + 1; };
  const int back = position == 0 ? 0 : position == 1 ? size - 1 : position - 1;
  return renamed(in_order_tree(back, size), forth);
}

Program broadcast_double_tree(const Task& task) {
  const Group group = from_root(task);
  const TreeNode node = double_tree_from_root(task.role, group.me(), group.size());
  return tree_broadcast(tree_edges(group, node), own_vector(task).piece(task.role, 2),
                        task.share(task.output).piece(task.role, 2), task.chunks);
}

Program reduce_double_tree(const Task& task) {
  const Group group = from_root(task);
  const TreeNode node = double_tree_from_root(task.role, group.me(), group.size());
  const Span total = node.parent < 0 ? task.share(task.output) : task.scratch;
  return tree_reduce(tree_edges(group, node), own_vector(task).piece(task.role, 2),
                     total.piece(task.role, 2), task.chunks);
}

std::int64_t reduce_double_tree_scratch(const Task& task) {
  const Group group = from_root(task);
  if (group.me() == 0) return 0;
  return 2 * task.share(task.input).piece(0, 2).piece(0, task.chunks).count;
}

}  // namespace collsim
