// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/connections.hpp"
#include "sim/link_queues.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Internal to sim/: messages over whole routes without a clock, for engines that know that each
// link serves one lane only.  They are handed over in the order in which that lane sends them,
// which is the order in which they ask for its own links.  Further on a later message may overtake
// an earlier one on another way; then a clock is needed after all, and is_in_order() says no.
class OrderedLinks {
 public:
  explicit OrderedLinks(const Topology& topology)
      : topology_(topology), queues_(topology), last_(topology.links().size()) {}

  [[nodiscard]] bool is_in_order() const { return is_in_order_; }

  struct Passage {
    Time departed, left, arrived;  // as in a Step
  };
  // on_link(place on the route, when it could have begun, began and ended) hears of every link.
  template <class OnLink>
  Passage carry(const Connection& connection, std::span<const LinkId> route, Bytes bytes,
                Time ready, const OnLink& on_link) {
    Passage passage{ready, ready, Time{}};
    Time head = ready;
    bool is_first = true;
    for (std::size_t i = 0; i < route.size(); ++i) {
      const Link& link = topology_.link(route[i]);
      if (link.sharing == Sharing::fair) continue;
      note_use(last_[link.resource.index()], connection.number, head, is_first);
      const LinkQueues::Service service = queues_.ask(route[i], bytes, head);
      on_link(i, head, service.begun, service.ended);
      if (is_first) passage.departed = service.begun;
      if (is_first) passage.left = service.ended;
      is_first = false;
      head = service.begun + service.latency;
      passage.arrived = std::max(passage.arrived, service.ended) + service.latency;
    }
    if (connection.path.crosses(Path::fair)) flow(connection, route, bytes, head, passage, on_link);
    return passage;
  }

  // The messages that a connection has sent so far went over links that are alike and served nobody
  // else, and so did not ask here; but the first link may have served its lane's other connections,
  // until `first_free`.
  void take_over(const Connection& connection, std::span<const LinkId> route, Time first_free) {
    Time free_at = connection.left_at;
    bool is_first = true;
    for (const LinkId number : route) {
      queues_.hold(number, is_first ? std::max(free_at, first_free) : free_at);
      LastUse& last = last_[topology_.link(number).resource.index()];
      // Or before, but for a message that took no time.
      const bool took_time = connection.path.startup > Time{} || was_full(connection.queue);
      last.asked = std::max(last.asked, took_time ? free_at - Time(1) : free_at);
      last.connection = connection.number;
      last.at_sender = is_first;
      is_first = false;
      free_at += topology_.link(number).latency;
    }
  }

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  struct LastUse {
    Time asked{};
    std::uint32_t connection = nobody;
    bool at_sender = false;  // where its route begins
  };

  [[nodiscard]] static bool was_full(const Queue& queue) {
    return queue.sent > 0 && queue.slot(queue.sent - 1).count > 0;
  }

  // Messages of one connection follow each other everywhere; those of one lane do where its own
  // links begin.  At one instant it is not known who came first.
  void note_use(LastUse& last, std::uint32_t connection, Time asked, bool at_sender) {
    const bool follows = last.connection == connection || last.connection == nobody ||
                         (at_sender && last.at_sender) || asked > last.asked;
    if (!follows) is_in_order_ = false;
    last.asked = asked;
    last.connection = connection;
    last.at_sender = at_sender;
  }

  // No other connection shares the fair links.
  template <class OnLink>
  void flow(const Connection& connection, std::span<const LinkId> route, Bytes bytes, Time head,
            Passage& passage, const OnLink& on_link) {
    Time startup{}, latency{};
    Bandwidth bandwidth = Path::unlimited;
    for (const LinkId number : route) {
      const Link& link = topology_.link(number);
      if (link.sharing != Sharing::fair) continue;
      startup = std::max(startup, link.startup);
      latency += link.latency;
      bandwidth = std::min(bandwidth, link.bandwidth);
    }
    if (flow_ended_.size() <= connection.number)
      flow_ended_.resize(connection.number + std::size_t{1});
    Time& ended = flow_ended_[connection.number];
    const Time begun = std::max(head + startup, ended);
    ended = begun + transfer_time(bytes, bandwidth);
    if (!connection.path.crosses(Path::exclusive)) passage = {begun, ended, Time{}};
    passage.arrived = std::max(passage.arrived, ended);
    for (std::size_t i = 0; i < route.size(); ++i)
      if (topology_.link(route[i]).sharing == Sharing::fair)
        on_link(i, head + startup, begun, passage.arrived);
    passage.arrived += latency;
  }

  const Topology& topology_;
  LinkQueues queues_;
  std::vector<LastUse> last_;     // by resource
  std::vector<Time> flow_ended_;  // by connection
  bool is_in_order_ = true;
};

}  // namespace collsim
