// SPDX-License-Identifier: Apache-2.0
//
// Flat (linear): the root deals with every other rank directly, one after the other.
//
//   broadcast, step t = 1 .. K-1: the root sends everything to rank t
//   reduce,    step t: rank t has sent everything; the root adds it up
//   scatter,   step t: the root sends block t to rank t
//   gather,    step t: the root receives block t from rank t
// (ranks counted from the root).
//
// Cost, with tau(n) = alpha + n/B and N the vector of broadcast and reduce, the root's buffer of
// scatter and gather:
//                     one port per rank     own link to every rank
//   broadcast         (K-1) tau(N)          tau(N)
//   reduce            the same, and the root adds (K-1) N elements
//   scatter, gather   (K-1) tau(N/K)        tau(N/K)
// No rank forwards anything: the right choice for K = 2 and for full meshes.  Elsewhere broadcast
// and reduce cost K-1 times what a port needs for the data once; scatter and gather are optimal in
// bytes and lose only the start-ups, K-1 instead of log2(K).
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

Program send_to_all(Group group, Span source, Span result, int chunks) {
  for (int place = 1; place < group.size(); ++place)
    for (int c = 0; c < chunks; ++c) {
      const Span chunk = source.piece(c, chunks);
      const Instruction step = place == 1 ? copy_send(chunk, result.piece(c, chunks), group[place])
                                          : send(group[place], chunk);
      co_yield step;
    }
}

Program reduce_from_all(Group group, Span source, Span sum, int chunks) {
  for (int place = 1; place < group.size(); ++place)
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[place], (place == 1 ? source : sum).piece(c, chunks),
                              sum.piece(c, chunks));
}

// `blocks` are those of the root's buffer, in the order of the group.
Program receive_from_all(Group group, Span own, Blocks blocks, int chunks) {
  const int root = group.me();
  if (own != blocks[root]) co_yield copy(own, blocks[root]);
  for (int distance = 1; distance < group.size(); ++distance)
    for (int c = 0; c < chunks; ++c) {
      const int source = group.wrap(root + distance);
      co_yield receive(group[source], blocks(source, c));
    }
}

Program send_blocks_to_all(Group group, Blocks blocks, Span own, int chunks) {
  const int root = group.me();
  for (int distance = 1; distance < group.size(); ++distance)
    for (int c = 0; c < chunks; ++c) {
      const int target = group.wrap(root + distance);
      co_yield send(group[target], blocks(target, c));
    }
  if (own != blocks[root]) co_yield copy(blocks[root], own);
}

}  // namespace

Program broadcast_flat(const Task& task) {
  const Group group = from_root(task);
  const Span result = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), result);
  if (group.me() > 0) return receive_chunks(group[0], result, task.chunks);
  return send_to_all(group, own_vector(task), result, task.chunks);
}

Program reduce_flat(const Task& task) {
  const Group group = from_root(task);
  const Span sum = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), sum);
  if (group.me() > 0) return send_chunks(group[0], own_vector(task), task.chunks);
  return reduce_from_all(group, own_vector(task), sum, task.chunks);
}

Program gather_flat(const Task& task) {
  const Group& group = task.group;
  const Blocks blocks = task.blocks(task.output);
  const Span own = own_block(task, blocks, task.input);
  if (group.me() != task.root) return send_chunks(group[task.root], own, task.chunks);
  return receive_from_all(group, own, blocks, task.chunks);
}

Program scatter_flat(const Task& task) {
  const Group& group = task.group;
  const Blocks blocks = task.blocks(task.input);
  const Span own = own_block(task, blocks, task.output);
  if (group.me() != task.root) return receive_chunks(group[task.root], own, task.chunks);
  return send_blocks_to_all(group, blocks, own, task.chunks);
}

}  // namespace collsim
