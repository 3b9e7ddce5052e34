// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/lanes.hpp"
#include "topo/routes.hpp"

namespace collsim {

// Internal to sim/: connections whose messages take several ways (chooses_per_message()).
//
// Each way is a connection of its own for links and flows, from the same source to a lane that does
// not exist, so that nobody finds it; messages are those of the connection that owns it.
class Ways {
 public:
  Ways(const Topology& topology, Lanes& lanes)
      : topology_(topology),
        lanes_(lanes),
        chosen_(chooses_per_message(topology)),
        promised_(chosen_ ? topology.links().size() : 0) {}

  [[nodiscard]] bool are_chosen() const { return chosen_; }
  [[nodiscard]] bool are_sprayed_over() const {
    return topology_.parts().routing == Routing::spray;
  }
  // The ways of a new connection, which are open until it is closed; none where there are no
  // choices.  To be called for every connection when ways are chosen.
  std::vector<Connection*> open(const Connection& connection, const Router::Choices& choices);
  void close(const Connection& connection);

  [[nodiscard]] bool has(const Connection& connection) const {
    return chosen_ && connection.number < ways_.size() && !ways_[connection.number].empty();
  }
  [[nodiscard]] std::size_t count(const Connection& connection) const {
    return ways_[connection.number].size();
  }
  [[nodiscard]] Connection& way(const Connection& connection, std::size_t number) const {
    return lanes_.connections[ways_[connection.number][number]];
  }
  // Of a way; of another connection that itself.
  [[nodiscard]] Connection& owner(Connection& way) const {
    return chosen_ ? lanes_.connections[belongs_[way.number].owner] : way;
  }
  [[nodiscard]] const Connection& owner(const Connection& way) const {
    return chosen_ ? lanes_.connections[belongs_[way.number].owner] : way;
  }
  // Where the links of a way come among those of all parts of a message.
  [[nodiscard]] std::size_t first_place(const Connection& way) const {
    return chosen_ ? belongs_[way.number].first_place : 0;
  }

  // How long the exclusive link with most work still has to serve whoever has asked for it or
  // chosen it, and how many messages are on the fair link that has most.
  struct Load {
    Time wait{};
    std::uint32_t flows = 0;
  };
  // By wait, then flows, then the order of Router::choices(); for ugal, where ways differ in
  // length, the first two times the links of the way.
  template <class LoadOf>
  [[nodiscard]] Connection& least_loaded(const Connection& connection,
                                         const LoadOf& load_of) const {
    const bool weighs = topology_.parts().routing == Routing::ugal;
    Connection* best = nullptr;
    std::pair<double, std::uint64_t> least;
    for (const std::uint32_t number : ways_[connection.number]) {
      Connection& way = lanes_.connections[number];
      const Load load = load_of(way);
      const std::uint32_t weight = weighs ? way.path.links_count : 1;
      const std::pair<double, std::uint64_t> weighed{static_cast<double>(load.wait.ps()) * weight,
                                                     std::uint64_t{load.flows} * weight};
      if (best != nullptr && weighed >= least) continue;
      best = &way;
      least = weighed;
    }
    return *best;
  }
  // A message has chosen this way; now it has asked for a link of it.
  void chose(const Connection& way, Bytes bytes);
  void asked(const Connection& way, const Link& link, Time occupation) {
    if (!chosen_ || are_sprayed_over() || belongs_[way.number].owner == way.number) return;
    promised_[link.resource.index()] -= occupation;
  }
  // What messages that chose a link, but have not asked for it, will take of it.
  [[nodiscard]] Time promised(const Link& link) const { return promised_[link.resource.index()]; }

  // A message is sent in parts, one over each way.
  void split(const Connection& connection, std::uint64_t message) {
    parts_[{connection.number, message}].left = count(connection);
  }
  // Notes the arrival of one; true for the last, with the latest arrival of all.  Always true of a
  // message that is whole.
  [[nodiscard]] bool is_last_part(const Connection& connection, std::uint64_t message,
                                  Time& arrival) {
    return parts_.empty() || is_last_of_parts(connection, message, arrival);
  }
  [[nodiscard]] bool is_first_to_depart(const Connection& connection, std::uint64_t message);

 private:
  struct Belongs {
    std::uint32_t owner = 0;
    std::uint32_t first_place = 0;
  };
  struct Parts {
    std::size_t left = 0;
    Time arrival{};
    bool departed = false;
  };
  void belongs_to(const Connection& way, Belongs belongs);
  [[nodiscard]] bool is_last_of_parts(const Connection& connection, std::uint64_t message,
                                      Time& arrival);

  const Topology& topology_;
  Lanes& lanes_;
  bool chosen_;
  std::vector<Time> promised_;                    // by resource
  std::vector<std::vector<std::uint32_t>> ways_;  // by connection number: those of its ways
  std::vector<Belongs> belongs_;                  // by connection number
  std::map<std::pair<std::uint32_t, std::uint64_t>, Parts> parts_;  // of messages under way
};

}  // namespace collsim
