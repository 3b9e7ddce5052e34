// SPDX-License-Identifier: Apache-2.0
//
// Direct exchanges: every rank sends straight to every other, all at once.  Rank r posts its
// messages to r+1, r+2, ... (mod K), then takes those from r-1, r-2, ...; starting with the
// neighbour spreads the load: at any moment each rank is sent to by another one.
//
//   all-gather       r sends its block to all
//   reduce-scatter   r sends block j to rank j, for all j, and adds up what it gets of block r
//   one-shot         all-reduce: r sends its whole vector to all, and adds up all K vectors
//   two-shot         all-reduce: direct reduce-scatter, then direct all-gather
//   all-to-all       r sends block j to rank j, for all j; it is what grouped ncclSend/ncclRecv do
//
// Nothing holds a rank back that is ahead of the others; where ports compete, the network decides
// the order.
//
// One round is the least there can be, and on a full mesh everything flows at once.  One-shot moves
// K/2 times the bytes of two-shot: it is for vectors so short that only alpha counts.
//
// One-shot and two-shot are the custom all-reduce kernels of vLLM and TensorRT-LLM.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {

// What goes to each other rank: the same to all.
struct Everything {
  Span all;
  [[nodiscard]] Span operator[](int /*target*/) const { return all; }
};

namespace {

// A source says what I have for rank i: Blocks or Everything.
template <class Source>
Program direct_exchange(Group group, Source source, Blocks result) {
  const int me = group.me();
  for (int d = 1; d < group.size(); ++d) co_yield send(group[me + d], source[group.wrap(me + d)]);
  if (source[me] != result[me]) co_yield copy(source[me], result[me]);
  for (int d = 1; d < group.size(); ++d)
    co_yield receive(group[me - d], result[group.wrap(me - d)]);
}

// Adds up what all ranks have for me.
template <class Source>
Program direct_sum(Group group, Source source, Span mine) {
  const int me = group.me();
  for (int d = 1; d < group.size(); ++d) co_yield send(group[me + d], source[group.wrap(me + d)]);
  Span partial = source[me];
  for (int d = 1; d < group.size(); ++d) {
    co_yield receive_reduce(group[me - d], partial, mine);
    partial = mine;
  }
  if (partial != mine) co_yield copy(partial, mine);
}

Program two_shot(Group group, Blocks source, Blocks result) {
  const Span mine = result[group.me()];
  co_yield direct_sum(group, source, mine);
  co_yield direct_exchange(group, Everything{mine}, result);
}

}  // namespace

extern const Algorithm all_gather_direct{
    .operation = Operation::all_gather,
    .name = "direct",
    .summary = "every rank sends its block to all others at once",
    .program =
        [](const Task& task) {
          return direct_exchange(task.group, Everything{gathered_block(task)},
                                 task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .exchanges_in_rounds = true,
    .costs = {{{on::ports, "(K-1)*S*tau(N/(K*S)) + L", "K*S", literature::hockney},
               {on::links, "hop(N/K)", "K*S", literature::hockney}}}};

extern const Algorithm reduce_scatter_direct{
    .operation = Operation::reduce_scatter,
    .name = "direct",
    .summary = "every rank sends each other rank its block at once",
    .program =
        [](const Task& task) {
          return direct_sum(task.group, scattered_blocks(task), scattered_block(task));
        },
    .symmetry = Symmetry::rotation,
    .exchanges_in_rounds = true,
    .costs = {{{on::ports, "t + L + ((K-1)*S-1)*max(t, g) + g, t = tau(N/(K*S)), g = N/(K*S)*gamma",
                "K*S", literature::hockney},
               {on::links, "reduce_hop(N/K) + (K-2)/K*N*gamma", "K*S", literature::hockney}}}};

extern const Algorithm all_reduce_one_shot{
    .operation = Operation::all_reduce,
    .name = "one-shot",
    .summary = "every rank sends its whole vector to all others at once",
    .program =
        [](const Task& task) {
          return direct_sum(task.group, Everything{source_vector(task)}, result_vector(task));
        },
    .symmetry = Symmetry::rotation,
    .exchanges_in_rounds = true,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "tau(N/S) + L + ((K-1)*S-1)*max(tau(N/S), N/S*gamma) + N/S*gamma", "S",
                literature::hockney},
               {on::links, "reduce_hop(N) + (K-2)*N*gamma", "S", literature::hockney}}}};

extern const Algorithm all_reduce_two_shot{
    .operation = Operation::all_reduce,
    .name = "two-shot",
    .summary = "direct reduce-scatter, then direct all-gather: two rounds",
    .program =
        [](const Task& task) {
          const int ranks = task.group.size();
          return two_shot(task.group, Blocks(source_vector(task), ranks),
                          Blocks(result_vector(task), ranks));
        },
    .symmetry = Symmetry::rotation,
    .exchanges_in_rounds = true,
    .costs = {
        {{on::ports,
          "t + L + ((K-1)*S-1)*max(t, g) + g + (K-1)*S*t + L, t = tau(N/(K*S)), "
          "g = N/(K*S)*gamma",
          "K*S", literature::hockney},
         {on::links, "reduce_hop(N/K) + (K-2)/K*N*gamma + hop(N/K)", "K*S", literature::hockney}}}};

extern const Algorithm all_to_all_direct{
    .operation = Operation::all_to_all,
    .name = "direct",
    .summary = "every rank sends everything at once",
    .program =
        [](const Task& task) {
          return direct_exchange(task.group, task.blocks(task.input), task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .exchanges_in_rounds = true,
    .costs = {{{on::ports, "(K-1)*S*tau(N/(K*S)) + L", "K*S", literature::hockney},
               {on::links, "hop(N/K)", "K*S", literature::hockney}}}};

}  // namespace collsim
