// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "sim/connections.hpp"
#include "topo/routes.hpp"

namespace collsim {

// Internal to sim/: fills in what a message on a route costs (the largest overhead, the smallest
// bandwidth, the sum of latencies) and which kinds of links it crosses; and lists what it occupies:
// the links' resources, each once (half-duplex directions share one).
void set_route(Connection& connection, const Topology& topology, std::span<const LinkId> route,
               std::vector<LinkId>& resources);

}  // namespace collsim
