// SPDX-License-Identifier: Apache-2.0
//
// Recursive halving and doubling.
//
// Reduce-scatter by halving: in step d = K/2, K/4, ..., 1 rank r and rank r xor d still have
// partial sums of the same 2d blocks; each sends the other the half in which the other's block is
// and adds what it receives to the half in which its own block is.  After log2 K steps one block is
// left.
//
//   K = 4, blocks 0..3:   0 <-> 2:  0 keeps {0,1}, 2 keeps {2,3}      (1 and 3 likewise)
//                         0 <-> 1:  0 keeps {0},   1 keeps {1}        (2 and 3 likewise)
//
// All-reduce (Rabenseifner): halving, then the same exchanges backwards, now with finished blocks
// (recursive doubling).  As few bytes as the ring in 2 log2 K instead of 2(K-1) steps, but partners
// are far apart, so the network needs full bisection bandwidth.  When K is not a power of two the
// ranks beyond p = 2^f fold as in recursive doubling.
//
// Halves are neighbouring blocks, so a message is one stretch of the vector.  For the
// reduce-scatter with several channels it is not, because each channel sees only its share of every
// block; the input is then first copied to scratch without gaps.
//
// Cost:  reduce-scatter  log2 K alpha + (K-1)/K N/B + (K-1)/K N/gamma; K must be a power of two
//        all-reduce      2f alpha + 2 (p-1)/p N/B + (p-1)/p N/gamma,
//                        and 2 tau(N) + N/gamma more when folding
// When folding, those without a neighbour to act for are a message ahead; on a switch theirs can
// take a port just before a later but longer one, which then costs a little more than that.
//
// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
#include <bit>

#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/folding.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program halving_doubling_all_reduce(Group group, Span source, Span result, int chunks) {
  const Folding folding(group.size(), group.me());
  const Endpoint neighbour = folding.paired ? group[folding.neighbour] : group.self();
  if (folding.sits_out) {
    for (int c = 0; c < chunks; ++c) co_yield send(neighbour, source.piece(c, chunks));
    for (int c = 0; c < chunks; ++c) co_yield receive(neighbour, result.piece(c, chunks));
    co_return;
  }
  if (group.size() == 1 && source != result) co_yield copy(source, result);
  const int me = folding.index;
  const Blocks sum(result, folding.core);
  Blocks partial(source, folding.core);
  if (folding.paired) {
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(neighbour, source.piece(c, chunks), result.piece(c, chunks));
    partial = sum;
  }
  for (int d = folding.core / 2; d >= 1; d /= 2) {
    const Endpoint partner = group[folding.position(me ^ d)];
    const Span theirs = joined(partial, aligned(me ^ d, d), d);
    const Span mine = joined(partial, aligned(me, d), d);
    const Span kept = joined(sum, aligned(me, d), d);
    for (int c = 0; c < chunks; ++c) co_yield send(partner, theirs.piece(c, chunks));
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(partner, mine.piece(c, chunks), kept.piece(c, chunks));
    partial = sum;
  }
  for (int d = 1; d < folding.core; d *= 2) {
    const Endpoint partner = group[folding.position(me ^ d)];
    const Span have = joined(sum, aligned(me, d), d);
    const Span missing = joined(sum, aligned(me ^ d, d), d);
    for (int c = 0; c < chunks; ++c) co_yield send(partner, have.piece(c, chunks));
    for (int c = 0; c < chunks; ++c) co_yield receive(partner, missing.piece(c, chunks));
  }
  if (folding.paired)
    for (int c = 0; c < chunks; ++c) co_yield send(neighbour, result.piece(c, chunks));
}

// Partial sums lie in `work`, which has no gaps.
Program halving_reduce_scatter(Group group, Blocks input, bool gaps, Blocks work, Span mine,
                               int chunks) {
  const int me = group.me();
  if (group.size() == 1) {
    if (input[0] != mine) co_yield copy(input[0], mine);
    co_return;
  }
  if (gaps) {
    for (int b = 0; b < group.size(); ++b) co_yield copy(input[b], work[b]);
    input = work;
  }
  for (int d = group.size() / 2; d >= 1; d /= 2) {
    const Endpoint partner = group[me ^ d];
    const Span theirs = joined(input, aligned(me ^ d, d), d);
    const Span partial = joined(input, aligned(me, d), d);
    const Span kept = d == 1 ? mine : joined(work, aligned(me, d), d);
    for (int c = 0; c < chunks; ++c) co_yield send(partner, theirs.piece(c, chunks));
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(partner, partial.piece(c, chunks), kept.piece(c, chunks));
    input = work;
  }
}

}  // namespace

Program all_reduce_halving_doubling(const Task& task) {
  return halving_doubling_all_reduce(task.group, source_vector(task), result_vector(task),
                                     task.chunks);
}

std::int64_t reduce_scatter_recursive_halving_scratch(const Task& task) {
  return count_of_shares(task, task.input);
}

std::string needs_power_of_two(int ranks) {
  if (std::has_single_bit(static_cast<unsigned>(ranks))) return {};
  return "every step halves the blocks or doubles them, so the number of ranks must be a power of "
         "two: 1, 2, 4, 8, ...";
}

Program reduce_scatter_recursive_halving(const Task& task) {
  const Blocks work(scratch_for_shares(task, task.input), task.group.size());
  return halving_reduce_scatter(task.group, scattered_blocks(task), task.channel.of > 1, work,
                                scattered_block(task), task.chunks);
}

}  // namespace collsim
