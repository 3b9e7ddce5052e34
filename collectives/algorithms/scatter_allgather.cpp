// SPDX-License-Identifier: Apache-2.0
//
// Scatter + all-gather (van de Geijn): broadcast without anybody sending the data more than twice,
// and without a chunk size to tune.  The vector is cut into K blocks, one per rank (counted from
// the root).
//
//   1. Binomial scatter, d = 2^(q-1), ..., 2, 1: a rank r that is a multiple of 2d holds the
//      blocks r .. r+2d-1 and sends the upper half of them, r+d .. r+2d-1 (those that exist), to
//      rank r+d.  Then rank r has block r.
//   2. Ring all-gather, step t = 0 .. K-2: rank r sends block r-t to r+1, receives block r-1-t.
//
// The root takes part in the ring like everybody else and receives blocks that it knows.
//
// Cost with q = ceil(log2 K), one port per rank:
//   q alpha + (K-1)/K N/B   +   (K-1)(alpha + N/(K B))   =   (q + K-1) alpha + 2 (K-1)/K N/B
// Better than the chain while the chain's chunks are badly chosen, better than the binomial tree
// for large N.  MPICH's choice for long messages.
//
// M. Barnett, L. Shuler, R. van de Geijn et al.: Interprocessor collective communication library
// (InterCom), SHPCC 1994.
#include <algorithm>

#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/algorithms/rooted.hpp"

namespace collsim {
namespace {

// Blocks first .. end-1 of a vector.
Span block_range(Span whole, int blocks, int first, int end) {
  const std::int64_t begin = whole.piece(first, blocks).offset;
  const Span last = whole.piece(end - 1, blocks);
  return {whole.buffer, begin, last.offset + last.count - begin};
}

Program range_scatter(Group group, Span source, Span result, int chunks) {
  const int me = group.me();
  const int size = group.size();
  const int reach = reach_of(me, size);
  if (me > 0) {
    const Span range = block_range(result, size, me, std::min(me + reach, size));
    for (int c = 0; c < chunks; ++c) co_yield receive(group[me - reach], range.piece(c, chunks));
  }
  for (int d = reach / 2; d > 0; d /= 2) {
    if (me + d >= size) continue;
    const Span range = block_range(source, size, me + d, std::min(me + 2 * d, size));
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], range.piece(c, chunks));
  }
}

Program scatter_allgather(Group group, Span source, Span result, int chunks) {
  co_yield range_scatter(group, source, result, chunks);
  const Span mine = source.piece(group.me(), group.size());
  co_yield ring_all_gather(Ring::up(group), mine, Blocks(result, group.size(), chunks), chunks);
}

}  // namespace

Program broadcast_scatter_allgather(const Task& task) {
  const Group group = from_root(task);
  const Span result = task.share(task.output);
  const Span source = group.me() == 0 ? own_vector(task) : result;
  return scatter_allgather(group, source, result, task.chunks);
}

}  // namespace collsim
