// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "app/scenario/scenario.hpp"
#include "collectives/schedule.hpp"

namespace collsim {

// What a case may cost at most; more is Error{too_large}.  The instructions take some minutes.
inline constexpr std::int64_t max_instructions_per_lane = std::int64_t{1} << 26U;
inline constexpr double max_instructions = 1e10;  // of all ranks that are simulated
inline constexpr double max_simulation_bytes = 8e9;
inline constexpr double much_memory_bytes = 250e6;

// What it takes to simulate a case message by message, estimated from a few ranks' programs in one
// chunk and in two, so that asking costs microseconds.
struct Effort {
  double per_lane = 0;      // instructions of the longest lane that was looked at
  double instructions = 0;  // of all ranks
  double bytes = 0;         // of memory: lanes, connections, messages sent before anybody receives
};
[[nodiscard]] Effort effort_of(const Case& point, const Schedule& schedule);

// Beyond a limit: on one lane alone, or for the sum of all ranks.  The latter may still be
// within reach where one rank stands for all.
[[nodiscard]] bool is_too_long(const Effort& effort);
[[nodiscard]] bool is_too_much(const Effort& effort);

// Error{too_large} with the numbers, the limit and what would make the case smaller.
[[noreturn]] void refuse(const Effort& effort, const Schedule& schedule);

}  // namespace collsim
