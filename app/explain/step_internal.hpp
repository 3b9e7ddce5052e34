// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/explain/step_explanation.hpp"
#include "app/explain/variations.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/recorded_actions.hpp"
#include "sim/critical_path.hpp"

namespace collsim {

// Internal to explain_step(): its chapters.

// Everything for which every step must have been recorded.
void explain_step_path(const Case& one_case, const Simulation& simulation, StepExplanation& result);

// Simulates the step some 4 times.  The case is the one that `variations` makes with
// `result.changes`.
void explain_step_knobs(const Case& one_case, Variations& variations, StepExplanation& result);

// Simulates the step up to 20 times.  `document`: what is written, `workload`: with defaults.
void explain_step_settings(Variations& variations, const JsonValue& document,
                           const JsonValue& workload, StepExplanation& result);

}  // namespace collsim
