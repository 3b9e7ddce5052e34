// SPDX-License-Identifier: Apache-2.0
#include "collectives/kinds_of_ranks.hpp"

#include <map>
#include <tuple>

namespace collsim {

namespace {

using Doing = std::tuple<Action::Kind, std::int64_t, Label::Kind, std::int32_t, std::int32_t,
                         std::uint16_t, Operation>;

std::vector<Doing> doings_of(const Workload& workload, Rank rank) {
  std::vector<Doing> doings;
  Script script = workload.script(rank);
  while (const Action* const action = script.next())
    if (action->kind == Action::Kind::work || action->kind == Action::Kind::collective)
      doings.emplace_back(action->kind, action->amount, action->label.kind, action->label.number,
                          action->label.microbatch, action->communicator, action->call.operation);
  return doings;
}

}  // namespace

std::vector<RankKind> kinds_of_ranks(const Workload& workload) {
  std::vector<RankKind> kinds;
  std::map<std::vector<Doing>, std::size_t> known;
  for (const Rank rank : workload.group()) {
    const auto [found, is_new] = known.emplace(doings_of(workload, rank), kinds.size());
    if (is_new)
      kinds.push_back({rank});
    else
      ++kinds[found->second].ranks;
  }
  return kinds;
}

}  // namespace collsim
