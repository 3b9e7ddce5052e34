// SPDX-License-Identifier: Apache-2.0
//
// All-gather in turns: in step t = 0 .. K-1 rank t sends its block to all others, one after the
// other; the others wait for it, so that no two ranks send at the same time.
//
//   K = 3:   step 0   0 -> 1, 0 -> 2
//            step 1   1 -> 2, 1 -> 0
//            step 2   2 -> 0, 2 -> 1
//
// The simplest all-gather there is; the loop over MPI_Bcast that a beginner writes.
#include "collectives/algorithms/roles.hpp"

namespace collsim {
namespace {

Program send_in_turns(Group group, Span mine, Blocks all) {
  const int me = group.me();
  if (mine != all[me]) co_yield copy(mine, all[me]);
  for (int turn = 0; turn < group.size(); ++turn) {
    if (turn != me) co_yield receive(group[turn], all[turn]);
    for (int d = 1; turn == me && d < group.size(); ++d) co_yield send(group[me + d], all[me]);
  }
}

}  // namespace

extern const Algorithm all_gather_in_turns{
    .operation = Operation::all_gather,
    .name = "in-turns",
    .summary = "one rank after the other sends its block to all others",
    .program =
        [](const Task& task) {
          return send_in_turns(task.group, gathered_block(task), task.blocks(task.output));
        },
    .costs = {{{on::links, "K*hop(N/K)", "K*S", literature::hockney}}}};

}  // namespace collsim
