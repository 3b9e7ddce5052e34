// SPDX-License-Identifier: Apache-2.0
#include "app/explain/step_explanation.hpp"

#include "app/explain/step_internal.hpp"
#include "app/study/run_step.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t most_recorded_steps = 2'000'000;
// Of one run, where the step is to be simulated some 20 times more.
constexpr std::uint64_t most_messages_of_a_knob = 500'000;

}  // namespace

StepExplanation explain_step(const Scenario& scenario, std::size_t point, const Case& chosen) {
  StepExplanation result;
  result.row = run_step(chosen);
  result.scheme = chosen.step->scheme;
  result.machine = chosen.cluster->description;
  try {
    const Simulation recorded = record_step(chosen, most_recorded_steps);
    explain_step_path(chosen, recorded, result);
    result.every_step_recorded = true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
  }
  if (result.row.messages <= most_messages_of_a_knob)
    explain_step_knobs(scenario, point, chosen, result);
  return result;
}

}  // namespace collsim
