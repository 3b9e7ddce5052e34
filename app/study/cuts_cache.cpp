// SPDX-License-Identifier: Apache-2.0
#include "app/study/cuts_cache.hpp"

#include <algorithm>

namespace collsim {

std::shared_ptr<const NetworkCuts> CutsCache::of(const Case& one_case) {
  const Topology& topology = one_case.cluster->topology;
  const Collective& collective = one_case.collective;
  if (one_case.protocol) return std::make_shared<NetworkCuts>(topology, collective.group);
  const auto is_other = [&](const Entry& entry) {
    // The cuts keep their topology alive, so no other can have its address.
    return &entry.cuts->topology().parts() != &topology.parts() ||
           !std::ranges::equal(entry.cuts->group(), collective.group);
  };
  std::erase_if(recent_, is_other);
  for (const Entry& entry : recent_)
    if (entry.operation == collective.operation && entry.root == collective.root) return entry.cuts;
  const auto cuts = std::make_shared<NetworkCuts>(topology, collective.group);
  cuts->search(collective.operation, collective.root);
  constexpr std::size_t most_entries = 16;
  if (recent_.size() == most_entries) recent_.erase(recent_.begin());
  recent_.push_back({cuts, collective.operation, collective.root});
  return cuts;
}

}  // namespace collsim
