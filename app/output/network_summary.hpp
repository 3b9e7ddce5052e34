// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "topo/topology.hpp"

namespace collsim {

// Bytes per second that the network carries at once, one way, from one half of the ranks to the
// other, by maximum flow: the lower against the upper half by number; in grids the least of all
// dimensions' halves.
[[nodiscard]] std::int64_t bisection(const Topology& topology);

// The levels of a network with their cables and oversubscription, its bisection and the longest
// route; empty for networks without levels or dimensions.
[[nodiscard]] std::string network_summary(const Topology& topology);

}  // namespace collsim
