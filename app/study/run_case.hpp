// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

struct CaseOptions {
  bool bottleneck_bandwidth = false;
  // Cases that need much memory take turns, when several are simulated at a time.
  std::mutex* turns = nullptr;
};

// Simulates; "auto" simulates every algorithm of the operation that works with this many ranks and
// takes the fastest (the first of equals).  Throws Error.
[[nodiscard]] CaseResult run_case(const Case& point, const CaseOptions& options = {});

// The case with its schedule and, instead of "auto", the algorithm that run_case() chooses.  Throws
// Error when simulating it is beyond the limits (limits.hpp).
[[nodiscard]] Case within_limits(Case asked);

}  // namespace collsim
