// SPDX-License-Identifier: Apache-2.0
//
// Barriers: no rank leaves before all have come.  Messages of 0 elements are the signals, so there
// is nothing to cut into chunks.
//
// Dissemination, round t = 0, 1, ... while 2^t < K: rank r signals r + 2^t and waits for r - 2^t.
// After round t a rank has heard, directly or not, of the 2^(t+1) ranks up to itself.
//
// Flat: all signal the root; when the root has heard of all, it signals them.
//
// Binomial: the signals go up a binomial tree to the root and down again, 2q rounds.
//
// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, IJPP 17 (1988).
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

Whole signal_to(Endpoint to) {
  return whole(send(to, {Buffer::input, 0, 0}));
}
Whole signal_from(Endpoint from) {
  return whole(receive(from, {Buffer::output, 0, 0}));
}

Program dissemination_barrier(Group group) {
  for (int distance = 1; distance < group.size(); distance *= 2) {
    co_yield signal_to(group[group.me() + distance]);
    co_yield signal_from(group[group.me() - distance]);
  }
}

Program flat_barrier(Group group) {
  if (group.me() > 0) {
    co_yield signal_to(group[0]);
    co_yield signal_from(group[0]);
    co_return;
  }
  for (int other = 1; other < group.size(); ++other) co_yield signal_from(group[other]);
  for (int other = 1; other < group.size(); ++other) co_yield signal_to(group[other]);
}

// The tree of the binomial gather: a rank serves the ranks that follow it up to its lowest bit.
Program binomial_barrier(Group group) {
  const int me = group.me();
  const int size = group.size();
  int distance = 1;
  for (; (me & distance) == 0 && distance < size; distance *= 2)
    if (me + distance < size) co_yield signal_from(group[me + distance]);
  if (me > 0) {
    co_yield signal_to(group[me - distance]);
    co_yield signal_from(group[me - distance]);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (me + distance < size) co_yield signal_to(group[me + distance]);
}

}  // namespace

extern const Algorithm barrier_dissemination{
    .operation = Operation::barrier,
    .name = "dissemination",
    .summary = "round t: signal the rank 2^t ahead, wait for the one 2^t behind",
    .program = [](const Task& task) { return dissemination_barrier(task.group); },
    .symmetry = Symmetry::rotation,
    .costs = {{{on::ports | on::links, "q*(alpha + L)", "1",
                "Hensgen, Finkel, Manber, Int. J. Parallel Programming 17 (1988)"}}}};

extern const Algorithm barrier_flat{
    .operation = Operation::barrier,
    .name = "flat",
    .aliases = {"linear"},
    .summary = "all ranks signal the root, then the root signals them",
    .program = [](const Task& task) { return flat_barrier(from_root(task)); },
    .costs = {{{on::ports, "2*((K-1)*alpha + L)", "1", literature::hockney},
               {on::links, "2*(alpha + L)", "1", literature::hockney}}}};

extern const Algorithm barrier_binomial{
    .operation = Operation::barrier,
    .name = "binomial",
    .summary = "signals go up a binomial tree and down again",
    .program = [](const Task& task) { return binomial_barrier(from_root(task)); },
    .costs = {{{on::ports, "2*q*(alpha + L)", "1", literature::thakur, when::tree_on_ports},
               {on::links, "2*floor(log2(K))*(alpha + L)", "1", literature::thakur}}}};

}  // namespace collsim
