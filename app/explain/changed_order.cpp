// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "app/explain/explanation_internal.hpp"

namespace collsim {
namespace {

using Message = std::tuple<Rank, Lane, std::uint32_t>;  // the step that sends it

struct OnLink {
  Message message;
  Time begun;
};

Rank sender(const OnLink& one) {
  return std::get<Rank>(one.message);
}

// By link, who crossed it, the first one first.
std::map<LinkId, std::vector<OnLink>> orders_of(const Timeline& timeline) {
  std::map<LinkId, std::vector<OnLink>> orders;
  for (const Step& step : timeline.steps)
    for (const Crossing& crossing : timeline.crossings_of(step))
      orders[crossing.link].push_back({{step.rank, step.lane, step.index}, crossing.begun});
  for (auto& [link, order] : orders) std::ranges::stable_sort(order, {}, &OnLink::begun);
  return orders;
}

bool take_the_same_way(const Timeline& a, const Step& one, const Timeline& b, const Step& other) {
  return std::ranges::equal(a.crossings_of(one), b.crossings_of(other), {}, &Crossing::link,
                            &Crossing::link);
}

}  // namespace

std::optional<ChangedOrder> changed_order(const Topology& topology, const Timeline& with,
                                          const Timeline& without) {
  if (with.steps.size() != without.steps.size()) return std::nullopt;
  ChangedOrder result;
  for (std::size_t i = 0; i < with.steps.size(); ++i)
    if (!take_the_same_way(with, with.steps[i], without, without.steps[i])) ++result.other_ways;
  const auto before = orders_of(without);
  Time first = Time::never();
  for (const auto& [link, order] : orders_of(with)) {
    const auto known = before.find(link);
    if (known == before.end()) continue;
    std::map<Message, Time> begun;
    for (const OnLink& one : known->second) begun[one.message] = one.begun;
    for (std::size_t i = 1; i < order.size() && order[i - 1].begun < first; ++i) {
      const auto ahead = begun.find(order[i - 1].message);
      const auto behind = begun.find(order[i].message);
      if (ahead == begun.end() || behind == begun.end() || ahead->second <= behind->second ||
          order[i - 1].begun == order[i].begun || sender(order[i - 1]) == sender(order[i]))
        continue;
      first = order[i - 1].begun;
      result.first =
          ChangedOrder::Pair{topology.name(link), first, sender(order[i - 1]), sender(order[i])};
    }
  }
  if (!result.first && result.other_ways == 0) return std::nullopt;
  return result;
}

}  // namespace collsim
