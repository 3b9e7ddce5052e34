// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Whether what the ranks of a training step do fits together (collectives/workload_checker.hpp):
// for people, with file, line and column of each rank's part in what does not, and for programs.
struct StepProof {
  bool proved = false;
  std::string text;
  // {proved, actions, collectives, messages, fault, rendezvous_fault, one_at_a_time_fault},
  // and of a step with a time-out {timeout: {timeout_s, gives_up, least_timeout_s}}
  JsonValue value;
};
// Of a case with a step.  That it would hang if sends waited for their receives is said, but does
// not refuse it: sends are posted here.  Throws Error.
[[nodiscard]] StepProof prove_step(const Case& one_case, const Sources& sources);

}  // namespace collsim
