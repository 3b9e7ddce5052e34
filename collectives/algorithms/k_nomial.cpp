// SPDX-License-Identifier: Apache-2.0
//
// The k-nomial tree: the binomial tree with more arms.  Ranks are numbers with base-k digits;
// level by level, from the highest digit down, every rank that has the data sends it to the k-1
// ranks that differ from it in that digit only.
//
//   k = 4, K = 16:   level 4   0 -> 4, 8, 12
//                    level 1   0 -> 1, 2, 3   4 -> 5, 6, 7   8 -> 9, 10, 11   12 -> 13, 14, 15
//
// So rank r > 0 receives from r with its lowest nonzero digit set to 0, and serves the digits
// below.  Ranks that do not exist are left out.
//
// With one port per rank k = 2 is best and k = 3 close.  Worth it where several messages can leave
// at once, or where the startup is spent on the receiving side.
//
// In MPICH as "knomial" (MPIR_CVAR_BCAST_TREE_KVAL); the radix is the knob.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

// Holding the data, rank `me` serves all levels below this one: its lowest nonzero digit, or for
// the root the first level beyond the ranks.
std::int64_t level_of(int me, int size, int radix) {
  std::int64_t level = 1;
  while (me > 0 ? me % (level * radix) == 0 : level < size) level *= radix;
  return level;
}

// What the root sends first it stores on the way.
Instruction to_arm(Endpoint arm, bool stored, Span source, Span result) {
  return stored ? send(arm, result) : store_and_send(source, result, arm);
}

Program k_nomial_broadcast(Group group, int radix, Span source, Span result) {
  const int me = group.me();
  std::int64_t level = level_of(me, group.size(), radix);
  const auto digit = static_cast<int>(me / level % radix * level);
  if (me > 0) co_yield receive(group[me - digit], result);
  bool stored = me > 0;
  for (level /= radix; level > 0; level /= radix)
    for (int arm = 1; arm < radix && me + arm * level < group.size(); ++arm) {
      co_yield to_arm(group[static_cast<int>(me + arm * level)], stored, source, result);
      stored = true;
    }
}

Program broadcast_by_k_nomial(const Task& task) {
  const Span result = task.share(task.output);
  if (task.group.size() == 1) return copy_alone(own_vector(task), result);
  return k_nomial_broadcast(from_root(task), task.radix, own_vector(task), result);
}

bool power_of_radix(const CostCase& c) {
  std::int64_t reach = 1;
  while (reach < c.ranks()) reach *= c.choice.radix;
  return reach == c.ranks();
}

}  // namespace

extern const Algorithm broadcast_k_nomial{
    .operation = Operation::broadcast,
    .name = "k-nomial",
    .summary = "the binomial tree with radix - 1 messages per level",
    .program = broadcast_by_k_nomial,
    .knobs = {.radix = true},
    .messages_exceed_a_block = true,
    .costs = {
        {{on::ports, "log(K, k)*((k-1)*S*tau(N/S) + L)", "S", literature::hockney, power_of_radix},
         {on::links, "log(K, k)*hop(N)", "S", literature::hockney, power_of_radix}}}};

}  // namespace collsim
