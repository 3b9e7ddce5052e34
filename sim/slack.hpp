// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/simulate.hpp"

namespace collsim {

// By how much each step of a fully recorded run could have ended later without the run taking
// longer, provided that links keep their order and flows their rates: at least so much, since a
// message that is late may catch up where it waits for its next link.  0 on the critical path.
// Error{invalid_argument} when the simulation was not fully recorded.
[[nodiscard]] std::vector<Time> slack_of_steps(const Topology& topology,
                                               const Simulation& simulation);

}  // namespace collsim
