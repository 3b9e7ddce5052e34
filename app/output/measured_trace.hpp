// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/timeline.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// A measured timeline in the form in which write_trace() takes simulated ones: each message with its
// receiver, the time at which every rank had finished, and messages that leave their links before
// they fly.  Everything else of a simulation is empty.
[[nodiscard]] Simulation as_simulation(const Topology& topology, const Schedule& schedule,
                                       Timeline timeline);

}  // namespace collsim
