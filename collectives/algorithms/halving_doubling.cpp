// SPDX-License-Identifier: Apache-2.0
//
// Recursive doubling and halving: in every step rank r exchanges with rank r xor d.
//
// Recursive doubling, d = 1, 2, 4, ...: both send all that they have, so what each has doubles.
//   All-reduce: "all that it has" is the sum over the 2d ranks that agree in the bits above d, a
//   whole vector; log2 K steps are the fewest there can be.
//   All-gather: the d blocks of the ranks that agree with r in all but the bits below d, which are
//   neighbours in the output.
//
//   K = 4:   0 <-> 1, 2 <-> 3   then   0 <-> 2, 1 <-> 3
//            x0+x1    x2+x3            x0+x1+x2+x3 everywhere
//
// Recursive halving, d = K/2, ..., 2, 1: r and its partner still have partial sums of the same 2d
// blocks; each sends the other the half in which the other's block is and adds what it receives to
// the half in which its own block is.  After log2 K steps one block is left: a reduce-scatter.
//
//   K = 4, blocks 0..3:   0 <-> 2:  0 keeps {0,1}, 2 keeps {2,3}      (1 and 3 likewise)
//                         0 <-> 1:  0 keeps {0},   1 keeps {1}        (2 and 3 likewise)
//
// All-reduce by halving and doubling (Rabenseifner): halving, then the same exchanges backwards,
// now with finished blocks.  As few bytes as the ring in 2 log2 K instead of 2(K-1) steps, but
// partners are far apart, so the network needs full bisection bandwidth.
//
// Halves are neighbouring blocks, so a message is one stretch of the vector.  For all-gather and
// reduce-scatter with several channels it is not, because each channel sees only its share of every
// block; the blocks are then laid out in scratch without gaps.
//
// When K is not a power of two, an all-reduce folds: with p the largest power of two in K, each of
// the first K - p odd positions gives its vector to its even neighbour, which acts for both, and
// gets the sum from it afterwards.  On a switch those without a neighbour to act for are then a
// message ahead; theirs can take a port just before a later but longer one, which costs a little.
//
//   K = 6, p = 4:   position 0 1 | 2 3 | 4 | 5      1 and 3 sit out
//                   index    0     1     2   3
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005).
// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
#include <bit>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

// A position among the p that exchange.
struct Folding {
  Folding(int ranks, int position)
      : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - core),
        paired(position < 2 * extra),
        sits_out(paired && position % 2 == 1),
        neighbour(position % 2 == 1 ? position - 1 : position + 1),
        index(paired ? position / 2 : position - extra) {}

  [[nodiscard]] int position(int of_index) const {
    return of_index < extra ? 2 * of_index : of_index + extra;
  }

  int core;       // p
  int extra;      // K - p
  bool paired;    // I act for my neighbour, or it for me
  bool sits_out;  // it for me
  int neighbour;  // meaningful where paired
  int index;      // mine among the p; that of my neighbour where I sit out
};

// A rank that sits out gives its vector to its neighbour and gets the sum from it.
Program sit_out(Endpoint neighbour, Span source, Span result) {
  co_yield send(neighbour, source);
  co_yield receive(neighbour, result);
}

Program doubling_all_reduce(Group group, Folding folding, Span source, Span result) {
  const Endpoint neighbour = folding.paired ? group[folding.neighbour] : group.self();
  Span partial = source;
  if (folding.paired) {
    co_yield receive_reduce(neighbour, partial, result);
    partial = result;
  }
  for (int d = 1; d < folding.core; d *= 2) {
    const Endpoint partner = group[folding.position(folding.index ^ d)];
    co_yield send(partner, partial);
    co_yield receive_reduce(partner, partial, result);
    partial = result;
  }
  if (partial != result) co_yield copy(partial, result);
  if (folding.paired) co_yield send(neighbour, result);
}

Program halving_doubling_all_reduce(Group group, Folding folding, Span source, Span result) {
  if (group.size() == 1) co_yield copy_alone(source, result);
  const Endpoint neighbour = folding.paired ? group[folding.neighbour] : group.self();
  const int me = folding.index;
  const Blocks sum(result, folding.core);
  Blocks partial(source, folding.core);
  if (folding.paired) {
    co_yield receive_reduce(neighbour, source, result);
    partial = sum;
  }
  for (int d = folding.core / 2; d >= 1; d /= 2) {
    const Endpoint partner = group[folding.position(me ^ d)];
    co_yield send(partner, joined(partial, aligned(me ^ d, d), d));
    co_yield receive_reduce(partner, joined(partial, aligned(me, d), d),
                            joined(sum, aligned(me, d), d));
    partial = sum;
  }
  for (int d = 1; d < folding.core; d *= 2) {
    const Endpoint partner = group[folding.position(me ^ d)];
    co_yield send(partner, joined(sum, aligned(me, d), d));
    co_yield receive(partner, joined(sum, aligned(me ^ d, d), d));
  }
  if (folding.paired) co_yield send(neighbour, result);
}

// `work` are the blocks without gaps: those of the output itself, or of scratch.
Program doubling_all_gather(Group group, Span mine, Blocks work, Blocks output) {
  const int me = group.me();
  if (group.size() == 1) co_yield copy_alone(mine, output[0]);
  if (group.size() == 1) co_return;
  for (int d = 1; d < group.size(); d *= 2) {
    const Endpoint partner = group[me ^ d];
    const Span have = joined(work, aligned(me, d), d);
    co_yield d == 1 ? store_and_send(mine, have, partner) : send(partner, have);
    co_yield receive(partner, joined(work, aligned(me ^ d, d), d));
  }
  if (work[0] == output[0]) co_return;
  for (int b = 0; b < group.size(); ++b) co_yield copy(work[b], output[b]);
}

// Partial sums lie in `work`, which has no gaps.
Program halving_reduce_scatter(Group group, Blocks input, bool gaps, Blocks work, Span mine) {
  const int me = group.me();
  if (group.size() == 1) co_yield copy_alone(input[0], mine);
  if (group.size() == 1) co_return;
  if (gaps) {
    for (int b = 0; b < group.size(); ++b) co_yield copy(input[b], work[b]);
    input = work;
  }
  for (int d = group.size() / 2; d >= 1; d /= 2) {
    const Endpoint partner = group[me ^ d];
    co_yield send(partner, joined(input, aligned(me ^ d, d), d));
    co_yield receive_reduce(partner, joined(input, aligned(me, d), d),
                            d == 1 ? mine : joined(work, aligned(me, d), d));
    input = work;
  }
}

// --- what a task means for them -----------------------------------------------------------------

Program all_reduce_by_doubling(const Task& task) {
  const Folding folding(task.group.size(), task.group.me());
  if (folding.sits_out)
    return sit_out(task.group[folding.neighbour], source_vector(task), result_vector(task));
  return doubling_all_reduce(task.group, folding, source_vector(task), result_vector(task));
}

Program all_reduce_by_halving(const Task& task) {
  const Folding folding(task.group.size(), task.group.me());
  if (folding.sits_out)
    return sit_out(task.group[folding.neighbour], source_vector(task), result_vector(task));
  return halving_doubling_all_reduce(task.group, folding, source_vector(task), result_vector(task));
}

Program all_gather_by_doubling(const Task& task) {
  return doubling_all_gather(task.group, gathered_block(task), blocks_without_gaps(task),
                             task.blocks(task.output));
}

Program reduce_scatter_by_halving(const Task& task) {
  const Blocks work(scratch_for_shares(task, task.input), task.group.size());
  return halving_reduce_scatter(task.group, scattered_blocks(task), task.channel.of > 1, work,
                                scattered_block(task));
}

// --- cost ---------------------------------------------------------------------------------------

constexpr std::string_view rabenseifner = "Rabenseifner, ICCS 2004";

bool folds_evenly(const CostCase& c) {
  return when::only_links_cost(c) && c.in_order && when::one_chunk(c);
}
// With startups, ranks that need not fold run ahead and their messages get in the way.
bool halves_fold_evenly(const CostCase& c) {
  return folds_evenly(c) && c.symbols.alpha == 0;
}

}  // namespace

extern const Algorithm all_reduce_recursive_doubling{
    .operation = Operation::all_reduce,
    .name = "recursive-doubling",
    .summary = "whole vectors exchanged at distances 1, 2, 4, ...: fewest steps",
    .program = all_reduce_by_doubling,
    .symmetry = Symmetry::exchange,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "log2(K)*reduce_hop(N)", "S", literature::thakur,
                when::power_of_two},
               {on::ports, "(floor(log2(K)) + 2)*tau(N)", "S", literature::thakur, folds_evenly}}}};

extern const Algorithm all_reduce_halving_doubling{
    .operation = Operation::all_reduce,
    .name = "halving-doubling",
    .aliases = {"rabenseifner", "rhd", "recursive-halving-doubling"},
    .summary = "reduce-scatter by halving, then all-gather by doubling (Rabenseifner)",
    .program = all_reduce_by_halving,
    .symmetry = Symmetry::exchange,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "sum(i = 1..log2(K), reduce_hop(N/2^i) + hop(N/2^i))", "K*S",
                rabenseifner, when::power_of_two},
               {on::ports, "2*(p-1)/p*N/B + 2*N/B, p = 2^floor(log2(K))", "2^floor(log2(K))",
                rabenseifner, halves_fold_evenly}}}};

extern const Algorithm all_gather_recursive_doubling{
    .operation = Operation::all_gather,
    .name = "recursive-doubling",
    .summary = "all blocks known so far, exchanged at distances 1, 2, 4, ...",
    .program = all_gather_by_doubling,
    .symmetry = Symmetry::exchange,
    .scratch = scratch_without_gaps,
    .why_not = needs_power_of_two,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "log2(K)*(S*alpha + L) + (K-1)/K*N/B", "K*S",
                literature::thakur}}}};

extern const Algorithm reduce_scatter_recursive_halving{
    .operation = Operation::reduce_scatter,
    .name = "recursive-halving",
    .summary = "half of the remaining data, exchanged at distances K/2, K/4, ..., 1",
    .program = reduce_scatter_by_halving,
    .symmetry = Symmetry::exchange,
    .scratch = [](const Task& task) { return count_of_shares(task, task.input); },
    .why_not = needs_power_of_two,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "sum(i = 1..log2(K), reduce_hop(N/2^i))", "K*S",
                literature::thakur}}}};

}  // namespace collsim
