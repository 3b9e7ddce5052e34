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
// On a torus of several dimensions the dimensions take turns: first step 0 in each, then step 1 in
// each, and so on.  Partners are nearer then, and a block is numbered by what each step in turn
// tells apart.  Channel c begins with dimension c mod D of the D longer than 1 (the fastest is the
// first), and if c div D is odd swings the other way in all of them (-r takes the place of r), so
// that 2D channels use all links of a rank.
//
// D. De Sensi, T. Bonato, D. Saam, T. Hoefler: Swing: short-cutting rings for higher bandwidth
// allreduce, NSDI 2024.
#include <algorithm>
#include <vector>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

// The place of the partner on a line of so many, in step s.
int swing_partner(int place, int step, int size) {
  const int power = 1 << (step + 1);
  const int rho = (1 - (step % 2 == 0 ? -power : power)) / 3;
  return (place + (place % 2 == 0 ? rho : -rho)) & (size - 1);
}

// A place has one bit that step s changes, and no later step does.
int bit_of_step(int place, int step, int size) {
  constexpr unsigned third = 0xaaaaaaab;  // 1/3 mod 2^32, hence mod every size
  const auto r = static_cast<unsigned>(place);
  const unsigned v = r % 2 == 0 ? r : r - third;
  const unsigned bit = 2U << static_cast<unsigned>(step);
  return static_cast<int>(bit < static_cast<unsigned>(size) ? (v & bit) / bit : r % 2);
}

// A step on the lines of one dimension.
struct SwingStep {
  int step = 0;
  int size = 1;
  int stride = 1;  // between neighbours
  bool mirrored = false;

  // In the mirror, where there is one, or back from it.
  [[nodiscard]] int seen(int place) const { return mirrored ? (size - place) % size : place; }
  [[nodiscard]] int place(int position) const { return seen(position / stride % size); }
  [[nodiscard]] int partner(int position) const {
    const int place_of_partner = seen(swing_partner(place(position), step, size));
    return position + (place_of_partner - position / stride % size) * stride;
  }
  [[nodiscard]] int bit(int position) const { return bit_of_step(place(position), step, size); }
};

std::vector<SwingStep> swing_steps(const Task& task) {
  const int dimensions = std::max(1, dimensions_to_cross(task.dims));
  const bool mirrored = task.channel.part / dimensions % 2 == 1;
  std::vector<SwingStep> lines;
  int stride = 1;
  for (auto dim = task.dims.rbegin(); dim != task.dims.rend(); stride *= *dim++)
    if (*dim > 1) lines.push_back({0, *dim, stride, mirrored});
  std::rotate(lines.begin(), lines.begin() + task.channel.part % dimensions, lines.end());
  std::vector<SwingStep> steps;
  for (int step = 0; stride >> step > 1; ++step)
    for (SwingStep line : lines) {
      line.step = step;
      if (line.size >> step > 1) steps.push_back(line);
    }
  return steps;
}

int swing_block(const std::vector<SwingStep>& steps, int position) {
  int block = 0;
  for (const SwingStep& step : steps) block = 2 * block + step.bit(position);
  return block;
}

Program swing_all_reduce(Group group, std::vector<SwingStep> steps, Span source, Span result) {
  const int me = group.me(), ranks = group.size();
  if (ranks == 1) co_yield copy_alone(source, result);
  const Blocks sum(result, ranks);
  Blocks partial(source, ranks);
  // The aligned group of so many blocks that has the one of this position.
  const auto half = [&steps](const Blocks& blocks, int position, int count) {
    return joined(blocks, aligned(swing_block(steps, position), count), count);
  };
  int count = ranks;
  for (const SwingStep& step : steps) {
    const int partner = step.partner(me);
    count /= 2;
    co_yield send(group[partner], half(partial, partner, count));
    co_yield receive_reduce(group[partner], half(partial, me, count), half(sum, me, count));
    partial = sum;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step, count *= 2) {
    const int partner = step->partner(me);
    co_yield send(group[partner], half(sum, me, count));
    co_yield receive(group[partner], half(sum, partner, count));
  }
}

}  // namespace

extern const Algorithm all_reduce_swing{
    .operation = Operation::all_reduce,
    .name = "swing",
    .summary =
        "halving and doubling with near partners on a ring or torus, in each dimension in turn",
    .program =
        [](const Task& task) {
          return swing_all_reduce(task.group, swing_steps(task), source_vector(task),
                                  result_vector(task));
        },
    .knobs = {.dims = true},
    .symmetry = Symmetry::even_in_dimensions,
    .why_not = needs_power_of_two,
    .one_dimension_elsewhere = true,
    .channel_per_direction = true,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports | on::links, "sum(i = 1..log2(K), reduce_hop(N/2^i) + hop(N/2^i))", "K*S",
                "De Sensi, Bonato, Saam, Hoefler, NSDI 2024", when::power_of_two}}}};

}  // namespace collsim
