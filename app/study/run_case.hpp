// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "app/results/row.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/schedule.hpp"

namespace collsim {

struct CaseOptions {
  bool bottleneck_bandwidth = false;
  // Cases that need much memory take turns, when several are simulated at a time.
  std::mutex* turns = nullptr;
};

// Simulates; "auto" simulates every algorithm of the operation that works with this many ranks and
// takes the fastest (the first of equals).  Throws Error.
[[nodiscard]] Row run_case(const Case& point, const CaseOptions& options = {});

// The schedule of a case whose algorithm is not "auto" (Row::algorithm says what auto became).
// Refuses what is beyond the limits of effort.hpp.
[[nodiscard]] Schedule schedule_of(const Case& point);

}  // namespace collsim
