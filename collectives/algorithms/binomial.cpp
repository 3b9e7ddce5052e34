// SPDX-License-Identifier: Apache-2.0
//
// The binomial tree: the number of ranks that have the data doubles in every round.
//
// Broadcast, round t = 0, 1, ...: every rank r < 2^t has the data and sends all of it to r + 2^t
// (if there is such a rank).  So rank r > 0 receives from r without its highest bit, in the round
// of that bit, and sends in all later rounds.  Reduce: the same rounds backwards with the arrows
// reversed; r adds what comes from r + 2^t to what it has.  (The other binomial tree, by the lowest
// bit, whose subtrees are neighbouring ranks, is reach_of in rooted.hpp: gather and scatter need
// that.)
//
//   K = 8:   round 0   0 -> 1
//            round 1   0 -> 2   1 -> 3
//            round 2   0 -> 4   1 -> 5   2 -> 6   3 -> 7
//
// Cost with q = ceil(log2 K), tau(n) = alpha + n/B, any K, one port per rank:
//   broadcast   q tau(N)
//   reduce      q (tau(N) + N/gamma)
// The smallest possible number of rounds, hence best for small N.  Cutting into chunks gains
// nothing: the root sends q N bytes whatever happens.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
#include <bit>

#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

int highest_bit(int value) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(value)));
}

// How far away the first child is; the others are at 2, 4, 8 ... times that.
int first_distance(int me) {
  return me == 0 ? 1 : 2 * highest_bit(me);
}

Program pass_down(Group group, Span source, Span result, int chunks) {
  const int me = group.me();
  Instruction step;
  for (int c = 0; me > 0 && c < chunks; ++c) {
    step = receive(group[me - highest_bit(me)], result.piece(c, chunks));
    co_yield step;
  }
  for (int distance = first_distance(me); me + distance < group.size(); distance *= 2)
    for (int c = 0; c < chunks; ++c) {
      step = send(group[me + distance], result.piece(c, chunks));
      if (me + distance == 1)
        step = copy_send(source.piece(c, chunks), result.piece(c, chunks), group[1]);
      co_yield step;
    }
}

// A rank with children, the far ones first.  The sum of all but the last of them is in `sum`.
Program add_up(Group group, Span source, Span sum, int chunks) {
  const int me = group.me();
  const int nearest = first_distance(me);
  int distance = nearest;
  while (me + 2 * distance < group.size()) distance *= 2;
  for (; distance >= nearest; distance /= 2) {
    const bool pass_on = distance == nearest && me > 0;
    for (int c = 0; c < chunks; ++c) {
      const Endpoint child = group[me + distance];
      const Span chunk = source.piece(c, chunks);
      const Instruction step = pass_on
                                   ? receive_reduce_send(child, chunk, group[me - highest_bit(me)])
                                   : receive_reduce(child, chunk, sum.piece(c, chunks));
      co_yield step;
    }
    source = sum;
  }
}

}  // namespace

Program broadcast_binomial(const Task& task) {
  const Group group = from_root(task);
  const Span result = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), result);
  return pass_down(group, own_vector(task), result, task.chunks);
}

Program reduce_binomial(const Task& task) {
  const Group group = from_root(task);
  const Span own = own_vector(task);
  const bool leaf = group.me() + first_distance(group.me()) >= group.size();
  if (leaf && group.me() > 0)
    return send_chunks(group[group.me() - highest_bit(group.me())], own, task.chunks);
  if (leaf) return copy_alone(own, task.share(task.output));
  const Span sum = group.me() == 0 ? task.share(task.output) : task.scratch.sub(0, own.count);
  return add_up(group, own, sum, task.chunks);
}

std::int64_t reduce_binomial_scratch(const Task& task) {
  const Group group = from_root(task);
  const int me = group.me();
  const bool two_children = me + 2 * first_distance(me) < group.size();
  return me > 0 && two_children ? task.share(task.input).count : 0;
}

}  // namespace collsim
