// SPDX-License-Identifier: Apache-2.0
//
// Direct all-to-all: everybody sends everything at once and then collects what comes.
//
//   rank r sends block r+d to rank r+d for d = 1 .. K-1, then receives from r-1, r-2, ...
//
// Cost with tau(n) = alpha + n/B, N one rank's buffer:
//   own link to every rank   tau(N/K)         all blocks travel at the same time
//   one port per rank        (K-1) tau(N/K)   as pairwise, while everybody keeps step
// Unlike pairwise, nothing holds a rank back that is ahead of the others; where ports compete, the
// network decides the order.  Starting with the next rank, not with rank 0, keeps everybody from
// sending to the same rank at the same time.  It is what grouped ncclSend/ncclRecv do.
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program direct_exchange(Group group, Blocks source, Blocks result, int chunks) {
  const int me = group.me();
  for (int distance = 1; distance < group.size(); ++distance) {
    const int target = group.wrap(me + distance);
    for (int c = 0; c < chunks; ++c) co_yield send(group[target], source(target, c));
  }
  co_yield copy(source[me], result[me]);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int origin = group.wrap(me - distance);
    for (int c = 0; c < chunks; ++c) co_yield receive(group[origin], result(origin, c));
  }
}

}  // namespace

Program all_to_all_direct(const Task& task) {
  return direct_exchange(task.group, task.blocks(task.input), task.blocks(task.output),
                         task.chunks);
}

}  // namespace collsim
