// SPDX-License-Identifier: Apache-2.0
//
// The two all-reduces that come to mind first, and that all others improve on.
//
// Naive: every rank sends its whole vector to every other, one partner per round.  In round
// d = 1 .. K-1 rank r sends its vector to r+d and adds the vector of r-d (mod K), so in every round
// each port sends one message and receives one.
//
//   K = 3:   round 1   0 -> 1, 1 -> 2, 2 -> 0       round 2   0 -> 2, 1 -> 0, 2 -> 1
//
// K(K-1) N bytes cross the switch: the traffic grows with the square of K.  Every round sends the
// vector that was given, so in place the sum grows in scratch and reaches the output with the last
// round.  See direct.cpp (one-shot) for the same messages all at once.
//
// Master (a parameter server with one server): all others send their vectors to the root, which
// adds them in order of position, then sends the sum to all, one after the other.  Everything
// passes the root's one port; the others send and receive only N bytes each, and adding ranks makes
// only the root busier.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

Program naive_all_reduce(Group group, Span source, Span work, Span result) {
  const int me = group.me();
  Span partial = source;
  for (int d = 1; d < group.size(); ++d) {
    const Span sum = d == group.size() - 1 ? result : work;
    co_yield send(group[me + d], source);
    co_yield receive_reduce(group[me - d], partial, sum);
    partial = sum;
  }
  if (partial != result) co_yield copy(partial, result);
}

// The master is position 0.
Program master_all_reduce(Group group, Span source, Span result) {
  if (group.me() > 0) {
    co_yield send(group[0], source);
    co_yield receive(group[0], result);
    co_return;
  }
  Span partial = source;
  for (int worker = 1; worker < group.size(); ++worker) {
    co_yield receive_reduce(group[worker], partial, result);
    partial = result;
  }
  if (partial != result) co_yield copy(partial, result);
  for (int worker = 1; worker < group.size(); ++worker) co_yield send(group[worker], result);
}

}  // namespace

extern const Algorithm all_reduce_naive{
    .operation = Operation::all_reduce,
    .name = "naive",
    .summary = "every rank sends its whole vector to every other, one partner per round",
    .program =
        [](const Task& task) {
          const Span result = result_vector(task);
          const Span work = task.in_place ? task.scratch.sub(0, result.count) : result;
          return naive_all_reduce(task.group, source_vector(task), work, result);
        },
    .symmetry = Symmetry::rotation,
    .scratch = [](const Task& task) { return task.in_place ? result_vector(task).count : 0; },
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "(K-1)*reduce_hop(N)", "S", literature::hockney}}}};

extern const Algorithm all_reduce_master{
    .operation = Operation::all_reduce,
    .name = "master",
    .aliases = {"parameter-server"},
    .summary = "all ranks send to the root, which adds up and sends the sum back",
    .program =
        [](const Task& task) {
          return master_all_reduce(from_root(task), source_vector(task), result_vector(task));
        },
    .knobs = {.root = true},
    .messages_exceed_a_block = true,
    .costs = {
        {{on::ports, "2*((K-1)*S*tau(N/S) + L)", "S", literature::hockney, when::adding_is_free},
         {on::ports, "tau(N) + L + (K-2)*max(tau(N), N*gamma) + N*gamma + (K-1)*tau(N) + L", "S",
          literature::hockney, when::all_of<when::one_chunk, when::root_takes_in_order>},
         {on::links, "reduce_hop(N) + (K-2)*N*gamma + hop(N)", "S", literature::hockney}}}};

}  // namespace collsim
