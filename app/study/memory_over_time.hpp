// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/scenario/workload/workload.hpp"
#include "collectives/recorded_actions.hpp"

// What memory a rank of a step needs, and when, of a transformer (StepMemory):
//
//   during the whole step   parameters, gradients and the optimizer's state, as far as the rank
//                           keeps them
//   activations             of a layer and microbatch, from its forward pass until its backward
//                           pass has ended (that of the weights, where it is apart)
//   whole layers            FSDP: parameters, from when they are gathered until the pass that needs
//                           them has ended; gradients, from the backward pass until they have been
//                           scattered

namespace collsim {

struct MemoryPoint {
  Time time;
  double bytes = 0;  // from then on
};
// In order of time, each other than the one before; empty: nothing is known of the scheme's memory.
[[nodiscard]] std::vector<MemoryPoint> memory_over_time(const TrainingStep& step,
                                                        const RecordedActions& actions, Rank rank);

// Where the rank that needs most has no more room: "at forward of layer 7", "at microbatch 3:
// forward of layer 7", "whatever its layers keep"; of other models and programs "during the step".
// Empty: it fits, or its device is not known.
[[nodiscard]] std::string out_of_memory(const TrainingStep& step);

}  // namespace collsim
