// SPDX-License-Identifier: Apache-2.0
//
// The pipelined binary tree: rank i has the children 2i+1 and 2i+2.  The data is cut into S chunks;
// broadcast: the root sends chunk 0 to both children, then chunk 1 to both ...; each rank passes a
// chunk on to its first child, then to its second, as soon as it has it.  Reduce: the same tree
// with the arrows reversed; a rank adds its own chunk to those of its children, one after the
// other, and sends the sum to its parent.
//
//            0            step   1   0 -c0-> 1
//          /   `                 2   0 -c0-> 2   1 -c0-> 3
//         1     2                3   0 -c1-> 1   1 -c0-> 4   2 -c0-> 5
//        / `   / `               4   0 -c1-> 2   1 -c1-> 3   2 -c0-> 6
//       3   4 5   6              ...
//
// So it takes log2(K) steps where the chain takes K; but where a rank has one port, every chunk
// leaves an inner rank twice, and only half of the bandwidth is used.  The double tree cures that.
//
// Textbook: e.g. J. Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations,
// Cluster Computing 10 (2007).
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

TreeNode binary_tree(int position, int size) {
  TreeNode node;
  if (position > 0) node.parent = (position - 1) / 2;
  for (int child = 2 * position + 1; child <= 2 * position + 2 && child < size; ++child)
    node.child[static_cast<std::size_t>(node.children++)] = child;
  return node;
}

Program pass_down_tree(TreeEdges at, Span source, Span result) {
  ChunkByChunk<> step;
  add_step_down(step, at, source, result);
  co_yield step;
}

Program add_up_tree(TreeEdges at, Span source, Span sum) {
  ChunkByChunk<> step;
  add_step_up(step, at, source, sum, false);
  co_yield step;
}

Program broadcast_down_tree(const Task& task) {
  const Group group = from_root(task);
  return tree_broadcast(tree_edges(group, binary_tree(group.me(), group.size())), own_vector(task),
                        task.share(task.output));
}

Program reduce_up_tree(const Task& task) {
  const Group group = from_root(task);
  const Span own = own_vector(task);
  const Span sum = group.me() == 0 ? task.share(task.output) : task.scratch.sub(0, own.count);
  return tree_reduce(tree_edges(group, binary_tree(group.me(), group.size())), own, sum);
}

std::int64_t reduce_up_tree_scratch(const Task& task) {
  const Group group = from_root(task);
  const bool adds_up = group.me() > 0 && binary_tree(group.me(), group.size()).children == 2;
  return adds_up ? task.share(task.input).count : 0;
}

// Cost, with h levels below the root.
constexpr std::string_view tree_reduce_time =
    "h*(tau(N/S) + L + 2*N/S*gamma) + (S-1)*max(tau(N/S), 2*N/S*gamma), h = floor(log2(K))";
constexpr std::string_view best_tree_chunks = "sqrt((floor(log2(K))-1)*N/(alpha*B))";

bool tree_reduces_in_order(const CostCase& c) {
  return when::one_chunk(c) && when::complete_binary_tree(c) &&
         (when::adding_is_free(c) || when::root_takes_in_order(c));
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

void add_step_down(ChunkByChunk<>& step, const TreeEdges& at, Span source, Span result) {
  step.add(at.is_root         ? store_and_send(source, result, at.child[0])
           : at.children == 0 ? receive(at.parent, result)
                              : receive_send(at.parent, result, at.child[0]));
  for (std::size_t i = 1; i < static_cast<std::size_t>(at.children); ++i)
    step.add(send(at.child[i], result));
}

void add_step_up(ChunkByChunk<>& step, const TreeEdges& at, Span source, Span sum, bool turns) {
  if (at.children == 0) return step.add(send(at.parent, source));
  const auto last = static_cast<std::size_t>(at.children - 1);
  for (std::size_t i = 0; i < last; ++i)
    step.add(receive_reduce(at.child[i], i == 0 ? source : sum, sum));
  const Span partial = last == 0 ? source : sum;
  if (!at.is_root) return step.add(receive_reduce_send(at.child[last], partial, at.parent));
  if (!turns) return step.add(receive_reduce(at.child[last], partial, sum));
  step.add(receive_reduce_store_send(at.child[last], partial, sum, role_above(at.child[last], 1)));
  for (std::size_t i = 0; i < last; ++i) step.add(send(role_above(at.child[i], 1), sum));
}

Program tree_broadcast(TreeEdges at, Span source, Span result) {
  return at.is_root && at.children == 0 ? copy_alone(source, result)
                                        : pass_down_tree(at, source, result);
}

Program tree_reduce(TreeEdges at, Span source, Span sum) {
  return at.is_root && at.children == 0 ? copy_alone(source, sum) : add_up_tree(at, source, sum);
}

extern const Algorithm broadcast_binary_tree{
    .operation = Operation::broadcast,
    .name = "binary-tree",
    .summary = "chunks go down a binary tree",
    .program = broadcast_down_tree,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "2*(h+S-1)*tau(N/S) + h*L, h = log2(K+1) - 1", "S",
                literature::two_trees, when::complete_binary_tree, best_tree_chunks},
               {on::links, "(h+S-1)*tau(N/S) + h*L, h = floor(log2(K))", "S", literature::two_trees,
                nullptr, best_tree_chunks}}}};

extern const Algorithm reduce_binary_tree{
    .operation = Operation::reduce,
    .name = "binary-tree",
    .summary = "chunks go up a binary tree",
    .program = reduce_up_tree,
    .scratch = reduce_up_tree_scratch,
    .messages_exceed_a_block = true,
    .costs = {
        {{on::ports, "h*(tau(N) + L + max(tau(N), N*gamma) + N*gamma), h = log2(K+1) - 1", "S",
          literature::two_trees, tree_reduces_in_order},
         {on::links, tree_reduce_time, "S", literature::flow_shop, when::adding_is_free,
          best_tree_chunks},
         {on::links, tree_reduce_time, "S", literature::flow_shop, when::complete_binary_tree}}}};

}  // namespace collsim
