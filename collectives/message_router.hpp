// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "collectives/programs.hpp"
#include "topo/routes.hpp"

namespace collsim {

// Which links a message of a schedule crosses, from one lane to another: those between their ranks
// (Router), or, where a lane runs in the switch behind its rank, those between the other's rank and
// that switch; none between two lanes in the same switch.  A lane in the network runs in the first
// adding switch on the way from its rank to others.
class MessageRouter {
 public:
  MessageRouter(const Topology& topology, const Programs& programs)
      : router_(topology),
        topology_(topology),
        programs_(programs),
        some_in_switch_(programs.some_in_switches()) {}

  // The span is valid until the next call.
  [[nodiscard]] std::span<const LinkId> route(Endpoint from, Endpoint to) {
    return some_in_switch_ ? route_by_device(from, to)
                           : router_.route(from.rank, to.rank, from.lane);
  }
  // What messages choose among when they are sent; nullptr: they all take the route.
  [[nodiscard]] const Router::Choices* choices(Endpoint from, Endpoint to);

 private:
  [[nodiscard]] std::span<const LinkId> route_by_device(Endpoint from, Endpoint to);
  // Of the device in which a lane runs; nothing: in its rank, or in the network.
  [[nodiscard]] std::optional<LinkId> link_to_switch(Endpoint lane) const;
  [[nodiscard]] bool is_in_network(Endpoint lane) const;
  // Both lanes run in the same switch of a node.
  [[nodiscard]] bool within_switch(Endpoint from, Endpoint to) const;
  // The first link to a rank from the switch behind it.
  [[nodiscard]] LinkId link_from_switch(Rank rank);
  // Of a way between ranks, what leads to or from the switch of the network, where one lane runs.
  [[nodiscard]] std::span<const LinkId> route_by_network(Endpoint from, Endpoint to);
  // How many links a way has as far as the first adding switch of the network.
  [[nodiscard]] std::size_t links_to_network(std::span<const LinkId> way) const;

  Router router_;
  const Topology& topology_;
  const Programs& programs_;
  const bool some_in_switch_;  // the last lanes, if any
  LinkId link_;
  std::vector<LinkId> way_;
  std::vector<LinkId> from_switches_;  // by rank; empty until one is asked for
};

}  // namespace collsim
