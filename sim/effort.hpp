// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/cost/cost_model.hpp"
#include "collectives/programs.hpp"
#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Longer lanes are not followed to their end.
inline constexpr std::int64_t max_instructions_per_lane = std::int64_t{1} << 26U;

// What it takes to simulate a schedule message by message, estimated from a few ranks' programs in
// one chunk and in two: asking costs little beside simulating.
struct Effort {
  double per_lane = 0;      // instructions of the longest lane that was looked at
  double instructions = 0;  // of all ranks
  double bytes = 0;         // of memory: lanes, connections, messages sent before any is received
};
// make_schedule() must have made the schedule from this choice.  `ways`: ways_of_messages().
[[nodiscard]] Effort effort_of(const Schedule& schedule, const AlgorithmChoice& choice,
                               double ways = 1);

// Over how many ways messages are sprayed, or among how many they choose; a mean of some pairs.
[[nodiscard]] double ways_of_messages(const Topology& topology, const std::vector<Rank>& group);

// How many links a message crosses: the mean over some of those whom one rank sends to.
[[nodiscard]] double links_per_message(const Topology& topology, const Schedule& schedule);

// For how many ranks each simulated one may stand by turns of the ranks; 1: all are simulated.
[[nodiscard]] std::size_t ranks_for_each(const Topology& topology, const Programs& programs,
                                         const CostModel& costs);

}  // namespace collsim
