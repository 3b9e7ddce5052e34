// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/results/case_result.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// The row of a case that is a training step.  Throws Error.
[[nodiscard]] CaseResult run_step(const Case& one_case);

}  // namespace collsim
