// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point: every rank sends its vector to at most one other and receives from at most one,
// as the pattern says (shift: r -> r+d, a pipeline of neighbours; exchange: 2i <-> 2i+1; or any
// pairs).
//
// Sending and receiving are two lanes, as they are two calls in a group in NCCL: a rank whose
// partner is slow to take its data is not kept from receiving.
//
// All pairs exchange at once; cutting into chunks gains nothing over one link.
#include <algorithm>
#include <cstdlib>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

constexpr int sender = 0;  // the role of the lane that sends; the other one receives

Program send_or_receive(const Task& task) {
  const int me = task.group.me();
  const bool sends = task.role == sender;
  const std::optional<int> peer =
      sends ? target_of(*task.collective, me) : source_of(*task.collective, me);
  const Span source = task.share(task.input);
  const Span result = task.share(task.output);
  if (!peer) return {};
  if (*peer == me) return sends ? copy_alone(source, result) : Program();
  const Endpoint other = role_above(task.group[*peer], sends ? 1 : -1);
  return only(sends ? send(other, source) : receive(other, result));
}

// Conditions under which no two messages share a link.
bool exchanges_neighbours(const CostCase& c) {
  return c.collective.pattern.kind == Pattern::Kind::exchange;
}
bool shifts_to_neighbour(const CostCase& c) {
  const int distance = c.collective.pattern.distance % c.ranks();
  return c.collective.pattern.kind == Pattern::Kind::shift &&
         (std::abs(distance) == 1 || std::abs(distance) == c.ranks() - 1);
}
bool some_pair_is_apart(const CostCase& c) {
  const Pattern& pattern = c.collective.pattern;
  if (pattern.kind == Pattern::Kind::shift) return pattern.distance % c.ranks() != 0;
  return std::any_of(pattern.pairs.begin(), pattern.pairs.end(),
                     [](const auto& pair) { return pair.first != pair.second; });
}

}  // namespace

extern const Algorithm send_recv_direct{
    .operation = Operation::send_recv,
    .name = "direct",
    .summary = "every pair at once",
    .program = send_or_receive,
    .lanes = 2,
    .messages_exceed_a_block = true,
    .messages = MessagesAtOnce::pairs,
    .costs = {{{on::any, "hop(N)", "S", literature::hockney, exchanges_neighbours},
               {on::ring, "hop(N)", "S", literature::hockney, shifts_to_neighbour},
               {on::ports | on::links, "hop(N)", "S", literature::hockney, some_pair_is_apart}}}};

}  // namespace collsim
