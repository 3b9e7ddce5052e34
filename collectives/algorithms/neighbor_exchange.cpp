// SPDX-License-Identifier: Apache-2.0
//
// Neighbour exchange: an all-gather around a ring of an even number of ranks, in which neighbours
// exchange pairwise, with one neighbour and the other in turn.
//
//   step 0              ranks 2i and 2i+1 exchange their own blocks, and so both have pair i: the
//                       blocks 2i and 2i+1
//   step t = 1 .. K/2-1  with its other neighbour each rank exchanges the pair that it received in
//                       the step before (in step 1: the one that step 0 made)
//
//   K = 6, pairs a = {0,1}, b = {2,3}, c = {4,5}:
//            step 0   0 <-> 1, 2 <-> 3, 4 <-> 5     one block each way
//            step 1   5 <-> 0, 1 <-> 2, 3 <-> 4     c <-> a, a <-> b, b <-> c
//            step 2   0 <-> 1, 2 <-> 3, 4 <-> 5     c <-> b, a <-> c, b <-> a
//
// So the even rank of pair i receives i-1, i+1, i-2, i+2, ... (mod K/2), the odd one i+1, i-1, i+2,
// i-2, ...
//
// As few bytes as the ring in half of its steps, and on a ring still only between neighbours; but
// both directions of every second cable rest in every step, and no chunk goes on before its step is
// over.  For middle sizes; the fewest steps are Bruck's.
//
// A pair is one stretch of the vector.  With several channels it is not, because each channel sees
// only its share of every block; the blocks are then laid out in scratch without gaps.
//
// J. Chen, L. Zhang, Y. Zhang, W. Yuan: Performance evaluation of allgather algorithms on terascale
// Linux cluster with fast Ethernet, HPC-Asia 2005.  It is Open MPI's neighborexchange.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"

namespace collsim {
namespace {

// `work` are the blocks without gaps: those of the output itself, or of scratch.
Program neighbor_all_gather(Group group, Span mine, Blocks work, Blocks output) {
  const int me = group.me(), pairs = group.size() / 2;
  if (pairs == 0) co_yield copy_alone(mine, output[0]);
  if (pairs == 0) co_return;
  const int first = me % 2 == 0 ? 1 : -1;  // the way to the neighbour of step 0
  const Span own = work[me];
  co_yield store_and_send(mine, own, group[me + first]);
  co_yield receive(group[me + first], work[me + first]);
  int pair = me / 2;
  for (int step = 1; step < pairs; ++step) {
    const int way = step % 2 == 0 ? first : -first;
    co_yield send(group[me + way], joined(work, 2 * pair, 2));
    pair = (me / 2 + way * ((step + 1) / 2) + pairs) % pairs;
    co_yield receive(group[me + way], joined(work, 2 * pair, 2));
  }
  if (work[0] == output[0]) co_return;
  for (int b = 0; b < group.size(); ++b) co_yield copy(work[b], output[b]);
}

}  // namespace

extern const Algorithm all_gather_neighbor_exchange{
    .operation = Operation::all_gather,
    .name = "neighbor-exchange",
    .summary = "what came from one neighbour is exchanged with the other: half the ring's steps",
    .program =
        [](const Task& task) {
          return neighbor_all_gather(task.group, gathered_block(task), blocks_without_gaps(task),
                                     task.blocks(task.output));
        },
    .scratch = scratch_without_gaps,
    .why_not = needs_even,
    .messages_exceed_a_block = true,
    .costs = {{{on::rings, "hop(N/K) + (K/2-1)*hop(2*N/K)", "K*S",
                "Chen, Zhang, Zhang, Yuan, HPC-Asia 2005"}}}};

}  // namespace collsim
