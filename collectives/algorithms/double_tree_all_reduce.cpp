// SPDX-License-Identifier: Apache-2.0
//
// Double binary tree all-reduce (NCCL: Tree): two binary trees over the same ranks (double_tree.hpp
// gives their shape), each for half of the vector.  The half is cut into S chunks; each is added up
// along the tree to the root, turns there and goes down to everybody.  Who is inner in one tree is
// a leaf in the other, so every rank sends and receives about N bytes each way in all.
//
// Every tree has two lanes per rank, up and down, so that both directions flow at once:
//
//   up     from each child: add; the sum of the subtree to the parent
//   root   from its only child: add, keep, and send down (in the up lane)
//   down   from the parent: keep; to each child
//
// An inner rank with two children keeps the sum with the first in the output until the second has
// come; in place, the output also is the input.  The chunk that comes down goes to the same memory,
// so the up lane says when it is done with a chunk.
//
// Cost with fair sharing of ports: 2N/B and a few chunk times (about 5 for K = 8, 12 for K = 32),
// in 2 log2 K steps.  Ports that serve first come first served take two to nearly four times that,
// because chunks of the two trees wait for each other; without a limit on slots leaves run far
// ahead, and it grows with K.  Simulated time over N/B on a switch, 64 MiB, S = 256, alpha = 0:
//                            K = 8       K = 32      K = 64
//   fair ports               2.01        2.02        2.03        2 slots or unlimited
//   exclusive, 1 - 8 slots   3.7 - 4.5   4.4 - 4.7   4.7 - 5.4
//   exclusive, unlimited     4.5         6.3         7.2
//
// P. Sanders, J. Speck, J. Traff: Two-tree algorithms for full bandwidth broadcast, reduction and
// scan, Parallel Computing 35 (2009).
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/double_tree.hpp"
#include "collectives/algorithms/lanes.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

// Both lanes of a rank must agree on this.
bool down_lane_waits(const TreeNode& node, bool in_place) {
  return node.parent >= 0 && (in_place || node.children > 1);
}

Program tree_up(Group group, TreeNode node, Span source, Span result, int chunks) {
  if (group.size() == 1 && source != result) co_yield copy(source, result);
  if (group.size() == 1) co_return;
  const bool signals = down_lane_waits(node, source == result);
  const Endpoint down = role_above(group.self(), 1);
  for (int c = 0; c < chunks; ++c) {
    const Span kept = result.piece(c, chunks);
    Span partial = source.piece(c, chunks);
    for (int i = 0; i < node.children - 1; ++i) {
      co_yield receive_reduce(group[node.child[i]], partial, kept);
      partial = kept;
    }
    if (node.parent < 0) {
      const Endpoint child = group[node.child[0]];
      co_yield receive_reduce_store_send(child, partial, kept, role_above(child, 1));
    } else if (node.children == 0) {
      co_yield send(group[node.parent], partial);
    } else {
      co_yield receive_reduce_send(group[node.child[node.children - 1]], partial,
                                   group[node.parent]);
    }
    if (signals) co_yield signal(down);
  }
}

Program tree_down(Group group, TreeNode node, bool parent_is_root, bool in_place, Span result,
                  int chunks) {
  if (node.parent < 0) co_return;  // the up lane of the root sends the sum down itself
  const Endpoint up = role_above(group.self(), -1);
  const Endpoint parent = role_above(group[node.parent], parent_is_root ? -1 : 0);
  const bool waits = down_lane_waits(node, in_place);
  for (int c = 0; c < chunks; ++c) {
    const Span chunk = result.piece(c, chunks);
    if (waits) co_yield wait(up);
    if (node.children == 0)
      co_yield receive(parent, chunk);
    else
      co_yield receive_send(parent, chunk, group[node.child[0]]);
    for (int i = 1; i < node.children; ++i) co_yield send(group[node.child[i]], chunk);
  }
}

}  // namespace

Program all_reduce_double_tree(const Task& task) {
  const int tree = task.role / 2, ranks = task.group.size();
  const TreeNode node = double_tree(tree, task.group.me(), ranks);
  const Span result = result_vector(task).piece(tree, 2);
  if (task.role % 2 == 0)
    return tree_up(task.group, node, source_vector(task).piece(tree, 2), result, task.chunks);
  const bool parent_is_root = node.parent >= 0 && double_tree(tree, node.parent, ranks).parent < 0;
  return tree_down(task.group, node, parent_is_root, task.in_place, result, task.chunks);
}

}  // namespace collsim
