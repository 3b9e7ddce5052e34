// SPDX-License-Identifier: Apache-2.0
#include "sim/rank_wiring.hpp"

#include <algorithm>

#include "sim/fingerprint.hpp"

namespace collsim {

RankWiring::RankWiring(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
                       const Quotient* quotient)
    : lanes_(lanes),
      router_(topology, lanes.programs),
      participants_(topology, lanes.programs),
      quotient_(quotient) {
  lanes.executed = options.executed;
  for (std::size_t number = 0; number < lanes.all.size(); ++number) {
    const std::size_t member = number / lanes.per_rank;
    lanes.place(lanes.all[number],
                quotient != nullptr
                    ? static_cast<std::uint32_t>(quotient->representatives()[member].index())
                    : participants_.position_at(member));
  }
  for (const auto& [rank, late] : options.late) {
    const std::uint32_t member = participants_.member_of(rank);
    if (member == Participants::absent) continue;
    for (std::size_t lane = 0; lane < lanes.per_rank; ++lane)
      lanes.all[member * lanes.per_rank + lane].clock = lanes.costs.launch + late;
  }
}

RankWiring::Ends RankWiring::ends_in_quotient(LaneNumber lane, Endpoint peer,
                                              Direction direction) const {
  const Endpoint me = lanes_.endpoint_of(lane);
  if (participants_.member_of(peer.rank) == Participants::absent ||
      peer.lane.index() >= lanes_.per_rank)
    report_bad_peer(lanes_.programs, me, peer);
  if (peer == me) report_talks_to_itself(peer);
  const auto number = [this](Rank rank, Lane its) {
    return static_cast<LaneNumber>(rank.index() * lanes_.per_rank + its.index());
  };
  if (direction == Direction::out) return {lane, number(peer.rank, peer.lane)};
  const Rank me_turned = quotient_->ends(peer.rank, me.rank).target;
  return {in_quotient(peer),
          number(me_turned, lanes_.programs.turned(me.lane, me.rank, me_turned))};
}

void RankWiring::find_route_in_quotient(Connection& connection) {
  const LaneNumber target = connection.target;
  const Endpoint from = lanes_.endpoint_of(connection.source);
  const Endpoint to{Rank(target / lanes_.per_rank), Lane(target % lanes_.per_rank)};
  if (from.rank == to.rank) return;
  route_.clear();
  const std::span<const LinkId> route = router_.route(from, to);
  for (const LinkId link : route) {
    const LinkId orbit = quotient_->orbit(link);
    if (std::find(route_.begin(), route_.end(), orbit) != route_.end())
      messages_meet_their_copies_ = true;
    route_.push_back(orbit);
  }
  set_route(connection, route_);
  note_users(connection, route, from.rank);
}

void RankWiring::note_users(const Connection& connection, std::span<const LinkId> route,
                            Rank from) {
  std::uint32_t place = connection.path.links_begin;
  if (users_.size() < place + route.size()) users_.resize(2 * (place + route.size()));
  for (const LinkId link : route) users_[place++] = quotient_->seen_from(link, from);
}

Simulation RankWiring::result(Engine engine) {
  Simulation result = quotient_ == nullptr ? lanes_.result(engine, 1)
                                           : lanes_.result(Engine::symmetry, quotient_->order());
  Fingerprint fingerprint;
  if (quotient_ == nullptr) {
    for (const LaneState& lane : lanes_.all)
      fingerprint.add_lane(lanes_.endpoint_of(lane).rank.index(), lane.lane.index(), lane.hash);
  } else {
    for (std::size_t rank = 0; rank < result.finished.size(); ++rank) {
      result.finished[rank] = result.finished[quotient_->representative(Rank(rank)).index()];
      for (std::size_t lane = 0; lane < lanes_.per_rank; ++lane)
        fingerprint.add_lane(rank, lane, lanes_.all[in_quotient({Rank(rank), Lane(lane)})].hash);
    }
  }
  result.fingerprint = fingerprint.value();
  return result;
}

}  // namespace collsim
