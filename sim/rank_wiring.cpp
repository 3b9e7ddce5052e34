// SPDX-License-Identifier: Apache-2.0
#include "sim/rank_wiring.hpp"

#include "sim/fingerprint.hpp"

namespace collsim {

RankWiring::RankWiring(const Topology& topology, Lanes& lanes, const SimulationOptions& options)
    : topology_(topology),
      lanes_(lanes),
      router_(topology, lanes.schedule),
      participants_(topology, lanes.schedule) {
  for (std::size_t number = 0; number < lanes.all.size(); ++number)
    lanes.all[number].position = participants_.position_at(number / lanes.per_rank);
  for (const auto& [rank, late] : options.late) {
    const std::uint32_t member = participants_.member_of(rank);
    if (member == Participants::absent) continue;
    for (std::size_t lane = 0; lane < lanes.per_rank; ++lane)
      lanes.all[member * lanes.per_rank + lane].clock = lanes.costs.launch + late;
  }
}

Connection& RankWiring::open(Ends ends) {
  Connection& connection = lanes_.connections.open(ends.source, ends.target);
  const Endpoint from = lanes_.endpoint_of(ends.source);
  const Endpoint to = lanes_.endpoint_of(ends.target);
  if (from.rank == to.rank) return connection;
  const std::span<const LinkId> route = router_.route(from, to);
  lanes_.connections.set_route(connection, topology_, route);
  if (route.empty()) connection.path.kinds = Path::within_switch;
  return connection;
}

Simulation RankWiring::result(Engine engine) {
  Simulation result = lanes_.result(engine, 1);
  Fingerprint fingerprint;
  for (const LaneState& lane : lanes_.all)
    fingerprint.add_lane(lanes_.endpoint_of(lane).rank.index(), lane.lane.index(), lane.hash);
  result.fingerprint = fingerprint.value();
  return result;
}

}  // namespace collsim
