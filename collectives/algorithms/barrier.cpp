// SPDX-License-Identifier: Apache-2.0
//
// Barriers: nobody leaves before all have come.  Messages of 0 elements are the signals, so there
// is nothing to cut into chunks.
//
// Dissemination, round t = 0, 1, ... while 2^t < K: rank r signals r + 2^t and waits for r - 2^t.
// After round t a rank has heard, directly or not, of the 2^(t+1) ranks up to itself.
//   q = ceil(log2 K) rounds, any K, no root:   q alpha + q L
//
// Flat: everybody signals the root; when the root has heard of all, it signals everybody.
//   2 (K-1) alpha at the root's port
//
// Binomial: the signals go up a binomial tree to the root and down again, 2q rounds.
//
// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, IJPP 17 (1988).
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"

namespace collsim {
namespace {

constexpr Span nothing_to_send{Buffer::input, 0, 0};
constexpr Span nothing_received{Buffer::output, 0, 0};

Program dissemination_barrier(Group group) {
  for (int distance = 1; distance < group.size(); distance *= 2) {
    co_yield send(group[group.me() + distance], nothing_to_send);
    co_yield receive(group[group.me() - distance], nothing_received);
  }
}

Program flat_barrier(Group group) {
  if (group.me() > 0) {
    co_yield send(group[0], nothing_to_send);
    co_yield receive(group[0], nothing_received);
    co_return;
  }
  for (int place = 1; place < group.size(); ++place)
    co_yield receive(group[place], nothing_received);
  for (int place = 1; place < group.size(); ++place) co_yield send(group[place], nothing_to_send);
}

// The tree of the binomial gather: a rank serves the ranks that follow it up to its lowest bit.
Program binomial_barrier(Group group) {
  const int me = group.me();
  const int size = group.size();
  int distance = 1;
  for (; (me & distance) == 0 && distance < size; distance *= 2)
    if (me + distance < size) co_yield receive(group[me + distance], nothing_received);
  if (me > 0) {
    co_yield send(group[me - distance], nothing_to_send);
    co_yield receive(group[me - distance], nothing_received);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (me + distance < size) co_yield send(group[me + distance], nothing_to_send);
}

}  // namespace

Program barrier_dissemination(const Task& task) {
  return dissemination_barrier(task.group);
}

Program barrier_flat(const Task& task) {
  return flat_barrier(from_root(task));
}

Program barrier_binomial(const Task& task) {
  return binomial_barrier(from_root(task));
}

}  // namespace collsim
