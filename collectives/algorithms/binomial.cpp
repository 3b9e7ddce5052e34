// SPDX-License-Identifier: Apache-2.0
//
// The binomial tree: the number of ranks that have the data doubles in every round.
//
// Broadcast, round t = 0, 1, ...: every rank r < 2^t has the data and sends all of it to r + 2^t
// (if there is such a rank).  So rank r > 0 receives from r without its highest bit, in the round
// of that bit, and sends in all later rounds.  Reduce: the same rounds backwards with the arrows
// reversed; r adds what comes from r + 2^t to what it has.  All-reduce: up the tree to position 0,
// then down again.
//
//   K = 8:   round 0   0 -> 1
//            round 1   0 -> 2   1 -> 3
//            round 2   0 -> 4   1 -> 5   2 -> 6   3 -> 7
//
// The smallest possible number of rounds for any K, hence best for small N.  Cutting into chunks
// gains nothing: the root sends q N bytes whatever happens.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
#include <bit>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

int highest_bit(int value) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(value)));
}

// How far away the first child is; the others are at 2, 4, 8 ... times that.
int first_distance(int me) {
  return me == 0 ? 1 : 2 * highest_bit(me);
}

// The first child of the root gets the data on their way from the input to the output.
Instruction to_child(const Group& group, int distance, Span source, Span result) {
  const int child = group.me() + distance;
  return child == 1 ? store_and_send(source, result, group[1]) : send(group[child], result);
}

Program binomial_broadcast(Group group, Span source, Span result) {
  const int me = group.me();
  if (me > 0) co_yield receive(group[me - highest_bit(me)], result);
  for (int distance = first_distance(me); me + distance < group.size(); distance *= 2)
    co_yield to_child(group, distance, source, result);
}

// What a child sends is added; with the nearest child's the sum is complete and goes to the parent.
Instruction from_child(const Group& group, int distance, bool passes_on, Span source, Span sum) {
  const Endpoint child = group[group.me() + distance];
  return passes_on ? receive_reduce_send(child, source, group[group.me() - highest_bit(group.me())])
                   : receive_reduce(child, source, sum);
}

// A rank with children, the far ones first.  The sum of all but the last of them is in `sum`.
Program binomial_reduce(Group group, Span source, Span sum) {
  const int me = group.me();
  const int nearest = first_distance(me);
  int distance = nearest;
  while (me + 2 * distance < group.size()) distance *= 2;
  for (; distance >= nearest; distance /= 2) {
    co_yield from_child(group, distance, distance == nearest && me > 0, source, sum);
    source = sum;
  }
}

Program binomial_all_reduce(Group group, Span source, Span result) {
  const int me = group.me();
  // The first distance not in the tree.
  const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(group.size())));
  Span partial = source;
  int d = top / 2;
  for (; d > me; d /= 2) {
    if (me + d >= group.size()) continue;
    co_yield receive_reduce(group[me + d], partial, result);
    partial = result;
  }
  if (me > 0) {  // now d is the highest bit of me
    co_yield send(group[me - d], partial);
    co_yield receive(group[me - d], result);
  } else if (partial != result) {
    co_yield copy(partial, result);
  }
  for (d = me == 0 ? 1 : 2 * d; d < top && me + d < group.size(); d *= 2)
    co_yield send(group[me + d], result);
}

Program broadcast_by_binomial(const Task& task) {
  const Group group = from_root(task);
  const Span result = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), result);
  return binomial_broadcast(group, own_vector(task), result);
}

Program reduce_by_binomial(const Task& task) {
  const Group group = from_root(task);
  const int me = group.me();
  const Span own = own_vector(task);
  const bool leaf = me + first_distance(me) >= group.size();
  if (leaf && me > 0) return only(send(group[me - highest_bit(me)], own));
  if (leaf) return copy_alone(own, task.share(task.output));
  const Span sum = me == 0 ? task.share(task.output) : task.scratch.sub(0, own.count);
  return binomial_reduce(group, own, sum);
}

std::int64_t reduce_by_binomial_scratch(const Task& task) {
  const Group group = from_root(task);
  const int me = group.me();
  const bool two_children = me + 2 * first_distance(me) < group.size();
  return me > 0 && two_children ? task.share(task.input).count : 0;
}

}  // namespace

extern const Algorithm broadcast_binomial{
    .operation = Operation::broadcast,
    .name = "binomial",
    .summary = "twice as many ranks have the data after every round",
    .program = broadcast_by_binomial,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "q*hop(N)", "S", literature::thakur, when::tree_on_ports},
               {on::links, "floor(log2(K))*hop(N)", "S", literature::thakur}}}};

extern const Algorithm reduce_binomial{
    .operation = Operation::reduce,
    .name = "binomial",
    .summary = "half as many ranks remain after every round",
    .program = reduce_by_binomial,
    .scratch = reduce_by_binomial_scratch,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "q*(tau(N) + N*gamma + L)", "S", literature::thakur,
                when::all_of<when::one_chunk, when::tree_on_ports>},
               {on::links, "floor(log2(K))*(tau(N) + N*gamma + L)", "S", literature::thakur,
                when::all_of<when::one_chunk, when::tree_on_links>}}}};

extern const Algorithm all_reduce_binomial{
    .operation = Operation::all_reduce,
    .name = "binomial",
    .summary = "up a binomial tree to position 0, then down again",
    .program =
        [](const Task& task) {
          return binomial_all_reduce(task.group, source_vector(task), result_vector(task));
        },
    .messages_exceed_a_block = true,
    .costs = {
        {{on::ports, "q*(reduce_hop(N) + hop(N))", "S", literature::thakur, when::tree_on_ports},
         {on::links, "floor(log2(K))*(reduce_hop(N) + hop(N))", "S", literature::thakur,
          when::tree_on_links}}}};

}  // namespace collsim
