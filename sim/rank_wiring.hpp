// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "sim/lane_machine.hpp"
#include "sim/message_router.hpp"
#include "sim/participants.hpp"

namespace collsim {

// Internal to sim/: connections over the topology's routes, when every rank is simulated.
class RankWiring {
 public:
  // Gives the lanes their positions, and those of late ranks their start.
  RankWiring(const Topology& topology, Lanes& lanes, const SimulationOptions& options);

  struct Ends {
    LaneNumber source;
    LaneNumber target;
  };
  // Error{bad_schedule} when the peer does not exist, or is the lane itself.
  [[nodiscard]] Ends ends(LaneNumber lane, Endpoint peer, Direction direction) const {
    const std::uint32_t member = participants_.member_of(peer.rank);
    if (member == Participants::absent || peer.lane.index() >= lanes_.per_rank) [[unlikely]]
      report_bad_peer(lanes_.schedule, lanes_.endpoint_of(lane), peer);
    const auto other = static_cast<LaneNumber>(member * lanes_.per_rank + peer.lane.index());
    if (lane == other) [[unlikely]]
      report_talks_to_itself(peer);
    return direction == Direction::out ? Ends{lane, other} : Ends{other, lane};
  }
  Connection& open(Ends ends);

  // Once all lanes have finished.
  [[nodiscard]] Simulation result(Engine engine);

 private:
  const Topology& topology_;
  Lanes& lanes_;
  MessageRouter router_;
  Participants participants_;
};

// Simulates with the recorder that the options ask for.
template <class Simulate>
std::optional<Simulation> with_recorder(const Topology& topology, const Schedule& schedule,
                                        const SimulationOptions& options,
                                        const Simulate& simulate) {
  if (options.recording == Recording::off) {
    NoRecorder recorder;
    return simulate(recorder);
  }
  TimelineRecorder recorder(topology, schedule, options);
  std::optional<Simulation> result = simulate(recorder);
  if (result) recorder.finish(*result);
  return result;
}

}  // namespace collsim
