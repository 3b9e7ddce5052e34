// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "topo/topology.hpp"

namespace collsim {

// Bytes per second that the network carries at once from one half of the ranks to the other, the
// less of both ways, by maximum flow.  Of at most 16 ranks the least of all halves; of more the
// lower against the upper half by number, and in grids the least of that and the halves of
// dimensions.
struct Bisection {
  std::int64_t bytes_per_second = 0;
  std::string halves = {};  // which: "the least of all halves", "between ranks 0-31 and 32-63"
  bool symmetric = true;    // as much either way
};
[[nodiscard]] Bisection bisection(const Topology& topology);

// The levels of a network with their cables, but those that are down, and oversubscription, its
// bisection and the longest route; empty for networks without levels or dimensions.
[[nodiscard]] std::string network_summary(const Topology& topology);

}  // namespace collsim
