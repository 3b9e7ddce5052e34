// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "collectives/message_router.hpp"
#include "sim/lane_machine.hpp"
#include "sim/participants.hpp"
#include "sim/quotient.hpp"

namespace collsim {

// Internal to sim/: connections over the topology's routes.  With a quotient only the lanes of
// representatives exist; they send to lanes of any rank, numbered by rank, and links are orbits.
class RankWiring {
 public:
  // Gives the lanes their positions and ranks, and those of late ranks their start.
  RankWiring(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
             const Quotient* quotient);

  struct Ends {
    LaneNumber source;
    LaneNumber target;
  };
  // Error{bad_schedule} when the peer does not exist, or is the lane itself.
  [[nodiscard]] Ends ends(LaneNumber lane, Endpoint peer, Direction direction) const {
    if (quotient_ != nullptr) return ends_in_quotient(lane, peer, direction);
    const std::uint32_t member = participants_.member_of(peer.rank);
    if (member == Participants::absent || peer.lane.index() >= lanes_.per_rank) [[unlikely]]
      report_bad_peer(lanes_.programs, lanes_.endpoint_of(lane), peer);
    const auto other = static_cast<LaneNumber>(member * lanes_.per_rank + peer.lane.index());
    if (lane == other) [[unlikely]]
      report_talks_to_itself(peer);
    return direction == Direction::out ? Ends{lane, other} : Ends{other, lane};
  }
  // Of the connection that stands for this one.
  [[nodiscard]] Ends ends_of(Endpoint from, Endpoint to) const {
    if (quotient_ == nullptr) {
      const std::size_t member = participants_.member_of(from.rank);
      return ends(static_cast<LaneNumber>(member * lanes_.per_rank + from.lane.index()), to,
                  Direction::out);
    }
    const Rank target = quotient_->ends(from.rank, to.rank).target;
    const Lane its = lanes_.programs.turned(to.lane, to.rank, target);
    return ends_in_quotient(in_quotient(from), {target, its}, Direction::out);
  }
  // What its links cost is for the engine to note.
  Connection& open(Ends ends) {
    Connection& connection = lanes_.connections.open(ends.source, ends.target);
    find_route(connection);
    return connection;
  }
  // Of a connection that has none yet.
  void find_route(Connection& connection) {
    if (quotient_ != nullptr) {
      find_route_in_quotient(connection);
      return;
    }
    const Endpoint from = lanes_.endpoint_of(connection.source);
    const Endpoint to = lanes_.endpoint_of(connection.target);
    if (from.rank != to.rank) set_route(connection, router_.route(from, to));
  }
  // The lane that stands for a connection's target.
  [[nodiscard]] LaneNumber simulated(LaneNumber target) const {
    if (quotient_ == nullptr) return target;
    return in_quotient({Rank(target / lanes_.per_rank), Lane(target % lanes_.per_rank)});
  }
  // A message crosses two links of one orbit: it meets its own copies.
  [[nodiscard]] bool messages_meet_their_copies() const { return messages_meet_their_copies_; }
  [[nodiscard]] bool is_quotient() const { return quotient_ != nullptr; }
  // Who crosses the link at this place of all routes of a quotient, as seen from the link.
  [[nodiscard]] Rank user(std::uint32_t place) const { return users_[place]; }
  // Of a link of the quotient: a message is not alone on it.
  [[nodiscard]] bool has_copies_on(LinkId link) const {
    return quotient_ != nullptr && quotient_->copies(link) > 1;
  }
  [[nodiscard]] const Router::Choices* choices(const Connection& connection) {
    return router_.choices(lanes_.endpoint_of(connection.source),
                           lanes_.endpoint_of(connection.target));
  }

  // Once all lanes have finished; a quotient also needs that all messages were received.
  [[nodiscard]] Simulation result(Engine engine);

 private:
  // The lane that stands for another.
  [[nodiscard]] LaneNumber in_quotient(Endpoint lane) const {
    const Lane turned =
        lanes_.programs.turned(lane.lane, lane.rank, quotient_->representative(lane.rank));
    return static_cast<LaneNumber>(quotient_->number_of(lane.rank) * lanes_.per_rank +
                                   turned.index());
  }
  [[nodiscard]] Ends ends_in_quotient(LaneNumber lane, Endpoint peer, Direction direction) const;
  void find_route_in_quotient(Connection& connection);
  void note_users(const Connection& connection, std::span<const LinkId> route, Rank from);
  void set_route(Connection& connection, std::span<const LinkId> route) {
    lanes_.connections.set_links(connection, route);
    if (route.empty()) connection.path.kinds = Path::within_switch;
  }

  Lanes& lanes_;
  MessageRouter router_;
  Participants participants_;
  const Quotient* quotient_;
  std::vector<LinkId> route_;
  bool messages_meet_their_copies_ = false;
  std::vector<Rank> users_;  // of a quotient: by place among the links of all routes
};

[[nodiscard]] inline std::size_t simulated_ranks(const Programs& programs,
                                                 const Quotient* quotient) {
  return quotient != nullptr ? quotient->representatives().size()
                             : static_cast<std::size_t>(programs.size());
}

// Simulates with the recorder that the options ask for.
template <class Simulate>
std::optional<Simulation> with_recorder(const Topology& topology, const Programs& programs,
                                        const SimulationOptions& options,
                                        const Simulate& simulate) {
  if (options.recording == Recording::off) {
    NoRecorder recorder;
    return simulate(recorder);
  }
  TimelineRecorder recorder(topology, programs, options);
  std::optional<Simulation> result = simulate(recorder);
  if (result) recorder.finish(*result);
  return result;
}

}  // namespace collsim
