// SPDX-License-Identifier: Apache-2.0
//
// Swing all-reduce: halving and doubling with partners that are near on a ring or torus.  In step
// s = 0, 1, 2, ... rank r exchanges with r + rho_s if it is even and with r - rho_s if it is odd
// (mod K), where rho_s = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...: the distance about doubles
// while the messages halve.
//
// Halving, s = 0 .. q-1 (K = 2^q): the partner gets the blocks of all ranks that it reaches with
// the later steps (itself included), which are half of those that I still have; I keep the others,
// all that I reach.  Doubling: the same exchanges backwards.
//
//   K = 8:   s = 0   0 <-> 1, 2 <-> 3, 4 <-> 5, 6 <-> 7        4 blocks each
//            s = 1   0 <-> 7, 1 <-> 2, 3 <-> 4, 5 <-> 6        2 blocks
//            s = 2   0 <-> 3, 1 <-> 6, 2 <-> 5, 4 <-> 7        1 block
//
// Blocks lie in scratch in the order in which I reach their owners, bit q-1-s of the index standing
// for step s: what I send is always the upper half of what I have, what I keep the lower, and one
// message per step has no gaps.  The input is copied there and the sum copied back.
//
// On a one-dimensional torus, each link being used by up to (|rho_s|+1)/2 messages, it takes
//   2 sum over s of (alpha + (|rho_s|+1)/2 N/(2^(s+1) B)) + (K-1)/K N*gamma
// Fewer alphas than the ring, more bytes per link: for small and middle N.
//
// D. De Sensi, T. Bonato, D. Saam, T. Hoefler: Swing: short-cutting rings for higher bandwidth
// allreduce, NSDI 2024.
#include <array>
#include <bit>

#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

int swing_partner(int position, int step, int ranks) {
  const int power = 1 << (step + 1);
  const int rho = (1 - (step % 2 == 0 ? -power : power)) / 3;
  return (position + (position % 2 == 0 ? rho : -rho)) & (ranks - 1);
}

// The i-th rank that `position` reaches: bit q-1-s of i says whether to take step s.
int reached(int position, int i, int ranks) {
  for (int step = 0, bit = ranks / 2; bit > 0; ++step, bit /= 2)
    if ((i & bit) != 0) position = swing_partner(position, step, ranks);
  return position;
}

Program swing_all_reduce(Group group, Blocks source, Blocks result, Span scratch) {
  const int me = group.me(), ranks = group.size();
  // end[i]: where the first 2^i blocks in scratch end, hence where the halves of step q-1-i meet.
  //   K = 8, rank 0, 11 elements: the blocks 0 3 7 4 1 6 2 5 are 2 1 1 1 2 1 2 1 long, so end is
  //   2 3 5 11.  Step 0 keeps elements 0..4 (end[2] = 5) and sends 5..10, the blocks 1 6 2 5 that
  //   rank 1 reaches in later steps; step 1 keeps 0..2 and sends 3..4; step 2 keeps 0..1, sends 2.
  std::array<std::int64_t, 32> end{};
  Span place = scratch.sub(0, 0);
  for (int i = 0; i < ranks; ++i) {
    const Span block = source[reached(me, i, ranks)];
    place = {scratch.buffer, place.offset + place.count, block.count};
    co_yield copy(block, place);
    if (std::has_single_bit(static_cast<unsigned>(i + 1)))
      end[static_cast<std::size_t>(std::countr_one(static_cast<unsigned>(i)))] =
          place.offset + place.count - scratch.offset;
  }
  const int steps = std::countr_zero(static_cast<unsigned>(ranks));
  for (int exchange = 0; exchange < 2 * steps; ++exchange) {
    const bool halving = exchange < steps;
    const int step = halving ? exchange : 2 * steps - 1 - exchange;
    const std::size_t half = static_cast<std::size_t>(steps - 1 - step);
    const Endpoint partner = group[swing_partner(me, step, ranks)];
    const Span lower = scratch.sub(0, end[half]);
    const Span upper = scratch.sub(end[half], end[half + 1] - end[half]);
    co_yield send(partner, halving ? upper : lower);
    co_yield halving ? receive_reduce(partner, lower, lower) : receive(partner, upper);
  }
  place = scratch.sub(0, 0);
  for (int i = 0; i < ranks; ++i) {
    const Span block = result[reached(me, i, ranks)];
    place = {scratch.buffer, place.offset + place.count, block.count};
    co_yield copy(place, block);
  }
}

}  // namespace

extern const Algorithm all_reduce_swing{
    .operation = Operation::all_reduce,
    .name = "swing",
    .summary = "halving and doubling with partners that are near on a ring or torus",
    .program =
        [](const Task& task) {
          const int ranks = task.group.size();
          return swing_all_reduce(task.group, Blocks(source_vector(task), ranks),
                                  Blocks(result_vector(task), ranks), task.scratch);
        },
    .scratch = [](const Task& task) { return result_vector(task).count; },
    .why_not = needs_power_of_two,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "sum(i = 1..log2(K), reduce_hop(N/2^i) + hop(N/2^i))", "K*S",
                "De Sensi, Bonato, Saam, Hoefler, NSDI 2024", when::power_of_two}}}};

}  // namespace collsim
