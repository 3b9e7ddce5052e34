// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/explain/explanation_internal.hpp"

namespace collsim {
namespace {

// Of the time that nobody had started, what was not the launch.
Time waiting_for_late_ranks(const Case& point, const Breakdown& breakdown) {
  if (breakdown.every_step_recorded) return breakdown.path.start - breakdown.launch;
  Time longest{};
  const auto& group = point.collective.group;
  for (const auto& [rank, late] : point.cluster->late)
    if (std::find(group.begin(), group.end(), rank) != group.end())
      longest = std::max(longest, late);
  return longest;
}

void find_narrowest_links(const Case& point, BoundExplanation& result) {
  const std::optional<NarrowestLinks> narrowest =
      narrowest_links(point.collective, point.cluster->topology);
  if (!narrowest) return;
  if (narrowest->position) {
    const Rank rank = point.collective.group[static_cast<std::size_t>(*narrowest->position)];
    result.rank = static_cast<std::uint32_t>(rank.index());
  }
  result.sends = narrowest->sends;
  result.bytes = narrowest->bytes;
  result.bytes_per_second = narrowest->bytes_per_second;
  result.links = narrowest->links;
}

}  // namespace

BoundExplanation explain_bound(const Case& point, const Row& row, const Breakdown& breakdown) {
  using Kind = BoundExplanation::Kind;
  BoundExplanation result;
  const Time bound = row.bounds.largest();
  if (bound == Time{}) return result;
  result.ratio = row.time.seconds() / row.bound.seconds();
  result.launch = row.bound - bound;
  result.late = waiting_for_late_ranks(point, breakdown);
  // Of equals, the one that says most.
  result.binding = bound == row.bounds.bandwidth ? Kind::bandwidth
                   : bound == row.bounds.latency ? Kind::latency
                                                 : Kind::compute;
  if (result.binding == Kind::bandwidth) find_narrowest_links(point, result);
  return result;
}

}  // namespace collsim
