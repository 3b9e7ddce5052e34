// SPDX-License-Identifier: Apache-2.0
//
// Scatter + all-gather (van de Geijn): broadcast in which no rank sends the data more than twice,
// and without a chunk size to tune.  The vector is cut into K blocks, one per rank (counted from
// the root).
//
//   1. Binomial scatter, d = 2^(q-1), ..., 2, 1: a rank r that is a multiple of 2d holds the
//      blocks r .. r+2d-1 and sends the upper half of them, r+d .. r+2d-1 (those that exist), to
//      rank r+d.  Then rank r has block r.
//   2. Ring all-gather, step t = 0 .. K-2: rank r sends block r-t to r+1, receives block r-1-t.
//
// The root takes part in the ring like all others and receives blocks that it knows.
//
// Better than the chain while the chain's chunks are badly chosen, better than the binomial tree
// for large N.  MPICH's choice for long messages.
//
// M. Barnett, L. Shuler, R. van de Geijn et al.: Interprocessor collective communication library
// (InterCom), SHPCC 1994.
#include <algorithm>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

Program range_scatter(Group group, Blocks source, Blocks result) {
  const int me = group.me();
  const int size = group.size();
  const int reach = reach_of(me, size);
  if (me > 0) co_yield receive(group[me - reach], joined(result, me, std::min(reach, size - me)));
  for (int d = reach / 2; d > 0; d /= 2) {
    if (me + d >= size) continue;
    co_yield send(group[me + d], joined(source, me + d, std::min(d, size - me - d)));
  }
}

Program scatter_then_all_gather(Group group, Blocks source, Blocks result) {
  co_yield range_scatter(group, source, result);
  co_yield ring_all_gather(Ring::up(group), source[group.me()], result);
}

}  // namespace

extern const Algorithm broadcast_scatter_allgather{
    .operation = Operation::broadcast,
    .name = "scatter-allgather",
    .aliases = {"van-de-geijn"},
    .summary = "a block to every rank, then a ring all-gather (van de Geijn)",
    .program =
        [](const Task& task) {
          const Group group = from_root(task);
          const Span result = task.share(task.output);
          const Span source = group.me() == 0 ? own_vector(task) : result;
          return scatter_then_all_gather(group, Blocks(source, group.size()),
                                         Blocks(result, group.size()));
        },
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "(q+K-1)*(alpha+L) + 2*(K-1)/K*N/B", "K*S", literature::chan,
                when::all_of<when::one_chunk, when::power_of_two>}}}};

}  // namespace collsim
