// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling: in step d = 1, 2, 4, ... rank r exchanges all that it has with rank r xor d,
// so what everybody has doubles in every step.
//
// All-reduce: "all that it has" is the sum over the 2d ranks that agree in the bits above d, a
// whole vector of N bytes; log2 K steps are the fewest there can be.
//
//   K = 4:   0 <-> 1, 2 <-> 3   then   0 <-> 2, 1 <-> 3
//            x0+x1    x2+x3            x0+x1+x2+x3 everywhere
//
// When K is not a power of two, p = 2^f is the largest below it and K - p ranks fold: 2i+1 sends
// its vector to 2i before, and gets the sum from it afterwards.
//
// All-gather: "all that it has" is the d blocks of the ranks that agree with r in all but the bits
// below d, which are neighbours in the output.  With several channels they are not, because each
// channel sees only its share of every block; they are then gathered in scratch without gaps and
// copied at the end.
//
// Cost:  all-reduce   f tau(N) + f N/gamma, and 2 tau(N) + N/gamma more when folding
//        all-gather   log2 K alpha + (K-1)/K N/B; K must be a power of two
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005).
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/folding.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program doubling_all_reduce(Group group, Span source, Span result, int chunks) {
  const Folding folding(group.size(), group.me());
  const Endpoint neighbour = folding.paired ? group[folding.neighbour] : group.self();
  if (folding.sits_out) {
    for (int c = 0; c < chunks; ++c) co_yield send(neighbour, source.piece(c, chunks));
    for (int c = 0; c < chunks; ++c) co_yield receive(neighbour, result.piece(c, chunks));
    co_return;
  }
  Span partial = source;
  if (folding.paired) {
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(neighbour, partial.piece(c, chunks), result.piece(c, chunks));
    partial = result;
  }
  for (int d = 1; d < folding.core; d *= 2) {
    const Endpoint partner = group[folding.position(folding.index ^ d)];
    for (int c = 0; c < chunks; ++c) co_yield send(partner, partial.piece(c, chunks));
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(partner, partial.piece(c, chunks), result.piece(c, chunks));
    partial = result;
  }
  if (partial != result) co_yield copy(partial, result);
  if (folding.paired)
    for (int c = 0; c < chunks; ++c) co_yield send(neighbour, result.piece(c, chunks));
}

// `work` are the blocks without gaps: those of the output itself, or of scratch.
Program doubling_all_gather(Group group, Span mine, Blocks work, Blocks output, int chunks) {
  const int me = group.me();
  if (group.size() == 1) {
    if (mine != output[0]) co_yield copy(mine, output[0]);
    co_return;
  }
  for (int d = 1; d < group.size(); d *= 2) {
    const Endpoint partner = group[me ^ d];
    const Span have = joined(work, aligned(me, d), d);
    const Span missing = joined(work, aligned(me ^ d, d), d);
    for (int c = 0; c < chunks; ++c) {
      if (d == 1 && mine != have)
        co_yield copy_send(mine.piece(c, chunks), have.piece(c, chunks), partner);
      else
        co_yield send(partner, have.piece(c, chunks));
    }
    for (int c = 0; c < chunks; ++c) co_yield receive(partner, missing.piece(c, chunks));
  }
  if (work[0] == output[0]) co_return;
  for (int b = 0; b < group.size(); ++b) co_yield copy(work[b], output[b]);
}

}  // namespace

Program all_reduce_recursive_doubling(const Task& task) {
  return doubling_all_reduce(task.group, source_vector(task), result_vector(task), task.chunks);
}

Program all_gather_recursive_doubling(const Task& task) {
  const Blocks output = task.blocks(task.output);
  const Blocks work = task.channel.of == 1
                          ? output
                          : Blocks(scratch_for_shares(task, task.output), task.group.size());
  return doubling_all_gather(task.group, gathered_block(task), work, output, task.chunks);
}

std::int64_t all_gather_recursive_doubling_scratch(const Task& task) {
  return task.channel.of == 1 ? 0 : count_of_shares(task, task.output);
}

}  // namespace collsim
