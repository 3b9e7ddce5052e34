// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "validate/backend.hpp"

namespace collsim {

// Runs `measure` in a forked copy of this process and returns its outcome, so that neither a crash
// nor a hang reaches the caller.  A child that takes longer than `limit_s` is killed.  Errors
// thrown by `measure` become NoMeasurement.  The calling process must have no other threads; it
// calls `meanwhile` about twice a second while a run lasts.
[[nodiscard]] RunOutcome run_in_child(const std::function<RunOutcome()>& measure, double limit_s,
                                      const std::function<void()>* meanwhile = nullptr);

// The same of measure(0) to measure(count - 1), in turn, in one child as long as all goes well:
// starting CUDA takes longer than most runs.  After a run that got stuck, failed, crashed or took
// longer than limit_s of it, the next has a new child.  `take` gets each outcome as it comes; false
// from it ends all.
void run_in_children(std::size_t count, const std::function<RunOutcome(std::size_t)>& measure,
                     const std::function<double(std::size_t)>& limit_s,
                     const std::function<bool(std::size_t, RunOutcome)>& take,
                     const std::function<void()>* meanwhile = nullptr);

}  // namespace collsim
