// SPDX-License-Identifier: Apache-2.0
#include "sim/wiring.hpp"

#include <algorithm>

namespace collsim {

void set_route(Connection& connection, const Topology& topology, std::span<const LinkId> route,
               std::vector<LinkId>& resources) {
  resources.clear();
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
    const bool listed = link.half_duplex && std::find(resources.begin(), resources.end(),
                                                      link.resource) != resources.end();
    if (!listed) resources.push_back(link.resource);
  }
}

}  // namespace collsim
