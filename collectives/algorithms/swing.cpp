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
// Which block is whose does not matter in an all-reduce, so they are dealt out such that every
// message is one stretch of the vector.  Let v = r for even r and r - 1/3 for odd r (mod K, where 3
// has an inverse).  Step s changes the parity of r and adds (-2)^(s+1)/3 to v, or takes it off: bit
// s+1 flips, the lower ones stay.  So the ranks that I reach with steps s, s+1, ... are those that
// agree with me in bits 1 .. s of v, and their blocks are neighbours if rank r has the block with
// the bits of v in reverse, the parity of r last.
//
//   K = 8:   block   0 1 2 3 4 5 6 7
//            rank    0 3 4 7 2 5 6 1
//
// On a one-dimensional torus, each link being used by up to (|rho_s|+1)/2 messages, it takes
//   2 sum over s of (alpha + (|rho_s|+1)/2 N/(2^(s+1) B)) + (K-1)/K N*gamma
// Fewer alphas than the ring, more bytes per link: for small and middle N.
//
// D. De Sensi, T. Bonato, D. Saam, T. Hoefler: Swing: short-cutting rings for higher bandwidth
// allreduce, NSDI 2024.
#include <bit>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

int swing_partner(int position, int step, int ranks) {
  const int power = 1 << (step + 1);
  const int rho = (1 - (step % 2 == 0 ? -power : power)) / 3;
  return (position + (position % 2 == 0 ? rho : -rho)) & (ranks - 1);
}

int swing_block(int position, int ranks) {
  constexpr unsigned third = 0xaaaaaaab;  // 1/3 mod 2^32, hence mod every K
  const auto r = static_cast<unsigned>(position);
  const unsigned v = r % 2 == 0 ? r : r - third;
  unsigned block = 0;
  for (unsigned bit = 2; bit < static_cast<unsigned>(ranks); bit *= 2)
    block = 2 * block + ((v & bit) != 0 ? 1 : 0);
  return static_cast<int>(2 * block + r % 2);
}

Program swing_all_reduce(Group group, Span source, Span result) {
  const int me = group.me(), ranks = group.size();
  if (ranks == 1) co_yield copy_alone(source, result);
  const Blocks sum(result, ranks);
  Blocks partial(source, ranks);
  // The aligned group of so many blocks that has the one of this position.
  const auto half = [ranks](const Blocks& blocks, int position, int count) {
    return joined(blocks, aligned(swing_block(position, ranks), count), count);
  };
  for (int step = 0, count = ranks / 2; count > 0; ++step, count /= 2) {
    const int partner = swing_partner(me, step, ranks);
    co_yield send(group[partner], half(partial, partner, count));
    co_yield receive_reduce(group[partner], half(partial, me, count), half(sum, me, count));
    partial = sum;
  }
  for (int step = std::countr_zero(static_cast<unsigned>(ranks)), count = 1; step-- > 0;
       count *= 2) {
    const int partner = swing_partner(me, step, ranks);
    co_yield send(group[partner], half(sum, me, count));
    co_yield receive(group[partner], half(sum, partner, count));
  }
}

}  // namespace

extern const Algorithm all_reduce_swing{
    .operation = Operation::all_reduce,
    .name = "swing",
    .summary = "halving and doubling with partners that are near on a ring or torus",
    .program =
        [](const Task& task) {
          return swing_all_reduce(task.group, source_vector(task), result_vector(task));
        },
    .symmetry = Symmetry::even_rotation,
    .why_not = needs_power_of_two,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "sum(i = 1..log2(K), reduce_hop(N/2^i) + hop(N/2^i))", "K*S",
                "De Sensi, Bonato, Saam, Hoefler, NSDI 2024", when::power_of_two}}}};

}  // namespace collsim
