// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/connections.hpp"
#include "sim/max_min.hpp"
#include "sim/radix_heap.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Internal to sim/: messages on fair links, in time order.
//
// A message crosses all fair links of its route at once, after the exclusive ones:
//
//   waits     for its startup, and for earlier messages of its connection
//   flows     at a rate that max-min sharing gives it, until its last byte: a time that every
//             change of rate moves
//   ends      then, but not before its last byte has come over the exclusive links
//
// The caller advances time.
class Flows {
 public:
  Flows(const Topology& topology, const ConnectionTable& connections);

  // Takes note of a new connection over fair links.
  void opened(const Connection& connection);

  struct Flow {
    std::uint32_t connection;
    std::uint64_t message;
    Bytes bytes;
    Time ready{};       // startup included
    Time not_before{};  // when its last byte comes to the fair links
    Time begun{}, ended{};
  };
  // A message comes to the fair links of its route, now or later; ended() will have it in time.
  void add(const Connection& connection, std::uint64_t message, Bytes bytes, Time asked,
           Time not_before);

  // The next time at which something happens without a new message; never() if nothing will.
  [[nodiscard]] Time next_event() const {
    return events_.empty() ? Time::never() : Time(events_.top_time());
  }
  // Everything due at `now`; may add to ended().
  void process(Time now);
  // Gives every flow its new rate after flows have begun and ended at `now`.
  void share(Time now);

  // Error{overflow} if a flow would take longer than a Time can hold and nothing will change that.
  void check_that_flows_end() const;

  // What process() ended, oldest first; the caller empties it.
  [[nodiscard]] std::vector<Flow>& ended() { return ended_; }
  // How many messages have come to the fair links of their routes and not ended, on the one of this
  // connection's that has most of them.
  [[nodiscard]] std::uint32_t most_on_a_link(const Connection& connection) const {
    std::uint32_t most = 0;
    for (const MaxMin::ConstraintId link : routes_[connection.number].links)
      most = std::max(most, under_way_[link.index()]);
    return most;
  }
  // Of the fair links of a connection's route.
  [[nodiscard]] Time latency(const Connection& connection) const {
    return routes_[connection.number].latency;
  }

 private:
  using TransferId = std::uint32_t;
  enum class Event : std::uint8_t { end, begin_flow };

  struct Transfer {
    Flow flow{};
    double remaining = 0;  // bytes, at `since`
    double rate = 0;
    Time since{};
    std::uint32_t version = 0;      // of its latest event; older ones are void
    Time event_at = Time::never();  // when that is due; never(): there is none
    Event event{};
    MaxMin::VariableId variable{};
    bool flowing = false;
  };
  struct Route {  // of one connection
    std::vector<MaxMin::ConstraintId> links;
    Bandwidth bandwidth = Path::unlimited;
    Time startup{};
    Time latency{};
    std::deque<TransferId> in_order;  // its messages; the first one starts or flows
  };

  TransferId new_transfer(const Flow& flow);
  void schedule(Time when, Event event, TransferId id);
  void push_event(TransferId id);
  void drop_void_events();
  void begin_flow(TransferId id, Time now);
  void end_flow(TransferId id, Time now);
  [[nodiscard]] Time end_of(const Transfer& transfer, Time now) const;  // never(): out of range

  const Topology& topology_;
  const ConnectionTable& connections_;
  std::vector<std::uint32_t> constraint_of_;  // by link, plus one; 0: none yet
  std::vector<Route> routes_;                 // by connection number
  std::vector<std::uint32_t> under_way_;      // messages, by constraint
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  std::vector<TransferId> transfer_of_;  // by variable
  MaxMin sharing_;
  bool sharing_changed_ = false;
  RadixHeap<std::uint64_t> events_;
  std::size_t event_count_ = 0;       // in events_, void ones included
  std::size_t live_event_count_ = 0;  // transfers with an event
  std::vector<Flow> ended_;
};

}  // namespace collsim
