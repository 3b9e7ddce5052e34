// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "validate/backend.hpp"

namespace collsim {

// Runs `measure` in a forked copy of this process and returns its outcome, so that neither a crash
// nor a hang reaches the caller.  A child that takes longer than `limit_s` is killed.  Errors
// thrown by `measure` become NoMeasurement.  The calling process must have no other threads.
[[nodiscard]] RunOutcome run_in_child(const std::function<RunOutcome()>& measure, double limit_s);

}  // namespace collsim
