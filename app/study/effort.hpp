// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/scenario/scenario.hpp"
#include "collectives/schedule.hpp"

namespace collsim {

// What it takes to simulate a case message by message, estimated from a few ranks' programs in one
// chunk and in two, so that asking costs microseconds.
struct Effort {
  double per_lane = 0;      // instructions of the longest lane that was looked at
  double instructions = 0;  // of all ranks
  double bytes = 0;         // of memory: lanes, connections, messages sent before anybody receives
};
[[nodiscard]] Effort effort_of(const Case& point, const Schedule& schedule);

// Beyond a limit of row.hpp: on one lane alone, or for the sum of all ranks.  The latter may still be
// within reach where one rank stands for all.
[[nodiscard]] bool is_too_long(const Effort& effort);
[[nodiscard]] bool is_too_much(const Effort& effort);

// Error{too_large} with the numbers, the limit and what would make the case smaller.
[[noreturn]] void refuse(const Effort& effort, const Schedule& schedule);

}  // namespace collsim
