// SPDX-License-Identifier: Apache-2.0
//
// All-to-all: every rank has a block for every other rank.
//
// Pairwise: K-1 rounds in which every rank sends one block and receives one.
//
//   round d = 1 .. K-1: rank r sends its block r+d to rank r+d and receives from rank r-d
//
//   K = 4:   d = 1   0 -> 1   1 -> 2   2 -> 3   3 -> 0
//            d = 2   0 -> 2   1 -> 3   2 -> 0   3 -> 1
//            d = 3   0 -> 3   1 -> 0   2 -> 1   3 -> 2
//
// In every round the ranks form disjoint pairs, so no port is wanted twice, and a rank starts a
// round only when it has received in the one before.  Every block goes straight to its place:
// optimal in bytes, but K-1 startups.
//
// Direct: every rank sends all its blocks at once, to r+1, r+2, ..., and then collects what comes.
// Nothing holds a rank back that is ahead of the others; where ports compete, the network decides
// the order.  Starting with the next rank, not with rank 0, keeps the ranks from sending to the same
// one at the same time.  It is what grouped ncclSend/ncclRecv do.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
#include "collectives/algorithms/idioms.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

Program direct_exchange(Group group, Blocks source, Blocks result) {
  const int me = group.me();
  for (int distance = 1; distance < group.size(); ++distance) {
    const int target = group.wrap(me + distance);
    co_yield send(group[target], source[target]);
  }
  co_yield copy(source[me], result[me]);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int origin = group.wrap(me - distance);
    co_yield receive(group[origin], result[origin]);
  }
}

}  // namespace

extern const Algorithm all_to_all_pairwise{
    .operation = Operation::all_to_all,
    .name = "pairwise",
    .summary = "round d: send to the rank d ahead, receive from the one d behind",
    .program =
        [](const Task& task) {
          return pairwise_exchange(task.group, task.blocks(task.input), task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .costs = {{{on::ports | on::links, "(K-1)*hop(N/K)", "K*S", literature::thakur}}}};

extern const Algorithm all_to_all_direct{
    .operation = Operation::all_to_all,
    .name = "direct",
    .summary = "every rank sends everything at once",
    .program =
        [](const Task& task) {
          return direct_exchange(task.group, task.blocks(task.input), task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .costs = {{{on::ports, "(K-1)*S*tau(N/(K*S)) + L", "K*S", literature::hockney},
               {on::links, "hop(N/K)", "K*S", literature::hockney}}}};

}  // namespace collsim
