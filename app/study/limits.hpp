// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/scenario/scenario.hpp"
#include "sim/effort.hpp"

namespace collsim {

// What a case may cost at most, beside max_instructions_per_lane; more is Error{too_large}.  The
// instructions take some minutes.
inline constexpr double max_instructions = 1e10;  // of all ranks that are simulated
inline constexpr double max_simulation_bytes = 8e9;
inline constexpr double much_memory_bytes = 250e6;

[[nodiscard]] inline Effort effort_of(const Case& point, const Schedule& schedule) {
  return effort_of(schedule, point.choice);
}

// Beyond a limit: on one lane alone, or for the sum of all ranks.  The latter may still be
// within reach where one rank stands for all.
[[nodiscard]] bool exceeds_lane_limit(const Effort& effort);
[[nodiscard]] bool exceeds_total_limit(const Effort& effort);

// Error{too_large} with the numbers, the limit and what would make the case smaller.
[[noreturn]] void throw_too_large(const Effort& effort, const Schedule& schedule);

}  // namespace collsim
