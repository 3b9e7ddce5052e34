// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include "sim/engines.hpp"
#include "sim/quotient.hpp"

namespace collsim {

// Few ranks stand for all: the dataflow or the event engine runs their lanes over one link for each
// orbit (Quotient).  This is exact as long as nothing depends on the order among ranks:
//   - links share fairly, or are never asked for by two ranks at once: then time alone orders them;
//   - nor by two lanes of a rank, where turns exchange its lanes.
// Nothing if the case turns out otherwise, or never to end: another engine says why.
std::optional<Simulation> simulate_by_symmetry(const Topology& topology, const Programs& programs,
                                               const CostModel& costs,
                                               const SimulationOptions& options) {
  if (!options.late.empty() || options.recording > Recording::activities) return std::nullopt;
  const std::optional<Quotient> quotient = Quotient::of(topology, programs, costs);
  if (!quotient) return std::nullopt;
  std::optional<Simulation> result =
      simulate_by_dataflow(topology, programs, costs, options, &*quotient);
  if (!result) result = simulate_by_events(topology, programs, costs, options, &*quotient);
  if (result)
    for (std::size_t rank = 0; rank < result->activities.size(); ++rank)
      result->activities[rank] = result->activities[quotient->representative(Rank(rank)).index()];
  return result;
}

}  // namespace collsim
