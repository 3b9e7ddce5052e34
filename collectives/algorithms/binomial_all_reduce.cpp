// SPDX-License-Identifier: Apache-2.0
//
// Binomial all-reduce: a binomial tree adds everything up at position 0, then the same tree sends
// the sum back down.  With q = ceil(log2 K), step d = 2^(q-1), ..., 2, 1: positions d .. 2d-1 send
// their sums to d less and are done; then the same steps backwards, the other way round.
//
//   K = 6:   4 -> 0, 5 -> 1    2 -> 0, 3 -> 1    1 -> 0           up
//            0 -> 1            0 -> 2, 1 -> 3    0 -> 4, 1 -> 5   down
//
// Cost:  2q tau(N) + q N/gamma, for any K.  Good for small N only: the root handles every vector
// whole q times, and chunks do not help it.
#include <bit>

#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program binomial_all_reduce(Group group, Span source, Span result, int chunks) {
  const int me = group.me();
  // The first distance not in the tree.
  const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(group.size())));

  Span partial = source;
  int d = top / 2;
  for (; d > me; d /= 2) {
    if (me + d >= group.size()) continue;
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[me + d], partial.piece(c, chunks), result.piece(c, chunks));
    partial = result;
  }
  if (me > 0) {  // now d is the highest bit of me
    const Endpoint parent = group[me - d];
    for (int c = 0; c < chunks; ++c) co_yield send(parent, partial.piece(c, chunks));
    for (int c = 0; c < chunks; ++c) co_yield receive(parent, result.piece(c, chunks));
  } else if (partial != result) {
    co_yield copy(partial, result);
  }
  for (d = me == 0 ? 1 : 2 * d; d < top; d *= 2) {
    if (me + d >= group.size()) break;
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], result.piece(c, chunks));
  }
}

}  // namespace

Program all_reduce_binomial(const Task& task) {
  return binomial_all_reduce(task.group, source_vector(task), result_vector(task), task.chunks);
}

}  // namespace collsim
