// SPDX-License-Identifier: Apache-2.0
//
// Naive all-reduce: everybody sends its whole vector to everybody, one partner per round.  In round
// d = 1 .. K-1 rank r sends its vector to r+d and adds the vector of r-d (mod K), so in every round
// each port sends one message and receives one.
//
//   K = 3:   round 1   0 -> 1, 1 -> 2, 2 -> 0       round 2   0 -> 2, 1 -> 0, 2 -> 1
//
// Cost:  (K-1) (tau(N) + N/gamma) on a switch, and K(K-1) N bytes through it: the traffic grows
// with the square of K, which is what every other algorithm is about.
//
// Every round sends the vector that was given, so in place the sum grows in scratch and reaches the
// output with the last round.  See direct.cpp (one-shot) for the same messages all at once.
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program naive_all_reduce(Group group, Span source, Span work, Span result, int chunks) {
  const int me = group.me();
  Span partial = source;
  for (int d = 1; d < group.size(); ++d) {
    const Span sum = d == group.size() - 1 ? result : work;
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], source.piece(c, chunks));
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[me - d], partial.piece(c, chunks), sum.piece(c, chunks));
    partial = sum;
  }
  if (partial != result) co_yield copy(partial, result);
}

}  // namespace

Program all_reduce_naive(const Task& task) {
  const Span result = result_vector(task);
  const Span work = task.in_place ? task.scratch.sub(0, result.count) : result;
  return naive_all_reduce(task.group, source_vector(task), work, result, task.chunks);
}

std::int64_t all_reduce_naive_scratch(const Task& task) {
  return task.in_place ? result_vector(task).count : 0;
}

}  // namespace collsim
