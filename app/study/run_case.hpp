// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "app/results/case_result.hpp"
#include "app/scenario/model.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/schedule.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// What the instructions of a schedule cost on a machine that was measured.  The size that counts is its
// working_set(), which frequent callers keep.  How many lanes work at once is what a first
// simulation says in which none slows down another: the sum of the time that all of them work,
// divided by the time that the whole takes.  (With a slowdown both grow alike, as far as the work
// is what takes the time.)  Launch is not among them.
[[nodiscard]] CostModel calibrated_costs(const Topology& topology, const Schedule& schedule,
                                         Bytes working_set, const Calibration& calibration,
                                         const SimulationOptions& options = {});

// The same case with its costs in place of its calibration; unchanged when it has none, or when its
// algorithm is "auto".  Where all lanes together are too much to simulate, all count as working.
[[nodiscard]] Case with_calibrated_costs(Case asked);

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
