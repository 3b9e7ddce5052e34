// SPDX-License-Identifier: Apache-2.0
//
// The pipelined binary tree: rank i has the children 2i+1 and 2i+2.  The data are cut into S
// chunks; broadcast: the root sends chunk 0 to both children, then chunk 1 to both ...; everybody
// passes a chunk on to its first child, then to its second, as soon as it has it.  Reduce: the same
// tree with the arrows reversed; a rank adds its own chunk to those of its children, one after the
// other, and sends the sum to its parent.
//
//            0            step   1   0 -c0-> 1
//          /   `                 2   0 -c0-> 2   1 -c0-> 3
//         1     2                3   0 -c1-> 1   1 -c0-> 4   2 -c0-> 5
//        / `   / `               4   0 -c1-> 2   1 -c1-> 3   2 -c0-> 6
//       3   4 5   6              ...
//
// Cost with h = log2(K+1) - 1 levels below the root and tau(n) = alpha + n/B:
//   one port per rank   2 (h + S - 1) tau(N/S)     every chunk leaves an inner rank twice
//   own link per child  (h + S - 1) tau(N/S)
// So it takes log2(K) steps where the chain takes K, but gets only half of the bandwidth of a port;
// the double tree cures that.
//
// Best S = sqrt((h-1) N / (alpha B)).  Textbook: e.g. J. Pjesivac-Grbovic et al.: Performance
// analysis of MPI collective operations, Cluster Computing 10 (2007).
#include "collectives/algorithms/binary_tree.hpp"

#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

TreeNode binary_tree(int position, int size) {
  TreeNode node;
  if (position > 0) node.parent = (position - 1) / 2;
  for (int child = 2 * position + 1; child <= 2 * position + 2 && child < size; ++child)
    node.child[static_cast<std::size_t>(node.children++)] = child;
  return node;
}

Program pass_down(TreeEdges at, Span source, Span result, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    const Span chunk = result.piece(c, chunks);
    Instruction step = at.is_root         ? copy_send(source.piece(c, chunks), chunk, at.child[0])
                       : at.children == 0 ? receive(at.parent, chunk)
                                          : receive_send(at.parent, chunk, at.child[0]);
    co_yield step;
    if (at.children < 2) continue;
    step = send(at.child[1], chunk);
    co_yield step;
  }
}

Program add_up(TreeEdges at, Span source, Span sum, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    Span chunk = source.piece(c, chunks);
    const Span total = at.is_root ? sum.piece(c, chunks) : sum.sub(0, chunk.count);
    Instruction step = receive_reduce(at.child[0], chunk, total);
    if (at.children == 2) {
      co_yield step;
      chunk = total;
    }
    const Endpoint last = at.child[at.children == 2 ? 1 : 0];
    step = at.is_root         ? receive_reduce(last, chunk, total)
           : at.children == 0 ? send(at.parent, chunk)
                              : receive_reduce_send(last, chunk, at.parent);
    co_yield step;
  }
}

}  // namespace

TreeEdges tree_edges(const Group& group, const TreeNode& node) {
  TreeEdges edges;
  edges.is_root = node.parent < 0;
  if (!edges.is_root) edges.parent = group[node.parent];
  edges.children = node.children;
  for (std::size_t i = 0; i < static_cast<std::size_t>(node.children); ++i)
    edges.child[i] = group[node.child[i]];
  return edges;
}

Program tree_broadcast(TreeEdges at, Span source, Span result, int chunks) {
  return at.is_root && at.children == 0 ? copy_alone(source, result)
                                        : pass_down(at, source, result, chunks);
}

Program tree_reduce(TreeEdges at, Span source, Span sum, int chunks) {
  return at.is_root && at.children == 0 ? copy_alone(source, sum) : add_up(at, source, sum, chunks);
}

Program broadcast_binary_tree(const Task& task) {
  const Group group = from_root(task);
  return tree_broadcast(tree_edges(group, binary_tree(group.me(), group.size())), own_vector(task),
                        task.share(task.output), task.chunks);
}

Program reduce_binary_tree(const Task& task) {
  const Group group = from_root(task);
  const Span sum = group.me() == 0 ? task.share(task.output) : task.scratch;
  return tree_reduce(tree_edges(group, binary_tree(group.me(), group.size())), own_vector(task),
                     sum, task.chunks);
}

std::int64_t reduce_binary_tree_scratch(const Task& task) {
  const Group group = from_root(task);
  const bool adds_up = group.me() > 0 && binary_tree(group.me(), group.size()).children == 2;
  return adds_up ? task.share(task.input).piece(0, task.chunks).count : 0;
}

}  // namespace collsim
