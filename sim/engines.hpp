// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/quotient.hpp"
#include "sim/simulate.hpp"

namespace collsim {

// Internal to sim/: the three engines behind simulate().  Each returns nothing when it cannot
// simulate the case exactly.  With a quotient, only that is simulated.
[[nodiscard]] std::optional<Simulation> simulate_by_dataflow(const Topology& topology,
                                                             const Programs& programs,
                                                             const CostModel& costs,
                                                             const SimulationOptions& options,
                                                             const Quotient* quotient = nullptr);
[[nodiscard]] std::optional<Simulation> simulate_by_events(const Topology& topology,
                                                           const Programs& programs,
                                                           const CostModel& costs,
                                                           const SimulationOptions& options,
                                                           const Quotient* quotient = nullptr);
[[nodiscard]] std::optional<Simulation> simulate_by_symmetry(const Topology& topology,
                                                             const Programs& programs,
                                                             const CostModel& costs,
                                                             const SimulationOptions& options);

}  // namespace collsim
