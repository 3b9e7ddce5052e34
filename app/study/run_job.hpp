// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "app/results/step_result.hpp"
#include "app/scenario/workload/workload.hpp"

namespace collsim {

// What failures leave of a long job of this step, which takes so long; `time_of` simulates the step
// with fewer ranks.  Throws Error.
[[nodiscard]] StepResult::Job job_of(const TrainingStep& step, Time takes,
                                     const std::function<Time(const TrainingStep&)>& time_of);

}  // namespace collsim
