// SPDX-License-Identifier: Apache-2.0
#include "sim/wiring.hpp"

#include <algorithm>

namespace collsim {

void set_route(Connection& connection, const Topology& topology, std::span<const LinkId> route) {
  connection.bandwidth = topology.link(route.front()).bandwidth;
  for (const LinkId id : route) {
    const Link& link = topology.link(id);
    connection.overhead = std::max(connection.overhead, link.overhead);
    connection.bandwidth = std::min(connection.bandwidth, link.bandwidth);
    connection.latency += link.latency;
    if (link.sharing == Sharing::fair)
      connection.crosses_fair_link = true;
    else
      connection.crosses_exclusive_link = true;
  }
}

void resources_of(const Topology& topology, std::span<const LinkId> route,
                  std::vector<LinkId>& resources) {
  resources.clear();
  for (const LinkId id : route) {
    const LinkId resource = topology.link(id).resource;
    if (std::find(resources.begin(), resources.end(), resource) == resources.end())
      resources.push_back(resource);
  }
}

}  // namespace collsim
