// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "validate/cuda/cuda_machine.hpp"

namespace collsim {

// What a run costs from outside, many one after the other: started one by one, and as one CUDA
// graph of all of them.  Seconds per run.
struct LaunchCost {
  double in_kernel_s = 0;  // for comparison: the lanes' own time, when they start as they come
  double eager_wall_s = 0;
  double eager_event_s = 0;
  double graph_event_s = 0;   // 0: could not be measured
  std::string graph_problem;  // why not
};

// Runs the plan some 3 * `runs` + 3 times.  Throws NoMeasurement when a run fails.
[[nodiscard]] LaunchCost measure_launch_cost(CudaMachine& machine, int runs);

// "launched one by one 23.1 us per run, as a CUDA graph 14.0 us, of which the lanes ran 9.8 us"
[[nodiscard]] std::string to_text(const LaunchCost& cost);

}  // namespace collsim
