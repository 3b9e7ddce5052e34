// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/connections.hpp"
#include "sim/max_min.hpp"
#include "sim/radix_heap.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Internal to sim/: links for which messages compete, in time order.
//
// The caller advances time and hands over messages in the order in which they become ready.  A
// message that crosses exclusive links only, none of them held by a flow, is settled at once: its
// start is the latest release of its links, because all earlier arrivals have already been
// scheduled.  All others become transfers:
//
//   queued    waits behind earlier messages on its exclusive links (first in first out, head of
//             line), or behind earlier messages of its connection
//   starting  pays the startup
//   flowing   has a rate, given by max-min sharing; ends with its last byte, a time that every
//             change of rate moves
class Fabric {
 public:
  Fabric(const Topology& topology, const ConnectionTable& connections);

  // Takes note of a new connection, whose links are set.
  void opened(const Connection& connection);

  struct Passage {
    std::uint32_t connection;
    std::uint64_t message;
    Time ready, departed, left;
    Bytes bytes;
  };

  // A message is ready now.  Returns its passage if that is already known; otherwise delivered()
  // will have it later.
  [[nodiscard]] std::optional<Passage> carry(const Connection& connection, std::uint64_t message,
                                             Bytes bytes, Time now) {
    const Passage passage{connection.number, message, now, now, now, bytes};
    const Time duration = connection.path.duration;
    if (connection.path.crosses(Path::fair) || !queues_.empty())
      return carry_among_others(passage, duration);
    const std::span<const LinkId> links = connections_.links(connection);
    const Time start = all_free_at(links, now);
    if (start == Time::never()) return carry_among_others(passage, duration);
    return settle(passage, links, start, duration);
  }

  // The next time at which something happens without a new message; never() if nothing will.
  [[nodiscard]] Time next_event() const {
    return events_.empty() ? Time::never() : Time(events_.top_time());
  }
  // Everything due at `now`; may add to delivered().
  void process(Time now);
  // Gives every flow its new rate after flows have begun and ended at `now`.
  void share(Time now);

  // Error{overflow} if a flow would take longer than a Time can hold and nothing will change that.
  void check_that_flows_end() const;

  // Passages settled by process() or share(), oldest first; the caller empties it.
  [[nodiscard]] std::vector<Passage>& delivered() { return delivered_; }

 private:
  using TransferId = std::uint32_t;
  enum class Event : std::uint8_t { end, begin_flow };

  struct Transfer {
    Passage passage{};
    Time duration{};       // alone on its route, startup included
    double remaining = 0;  // bytes, at `since`
    double rate = 0;
    Time since{};
    std::uint32_t version = 0;      // of its latest event; older ones are void
    Time event_at = Time::never();  // when that is due; never(): there is none
    Event event{};
    MaxMin::VariableId variable{};
    bool flowing = false;
  };
  struct Route {                    // of one connection
    std::vector<LinkId> exclusive;  // what it occupies besides sharing
    std::vector<MaxMin::ConstraintId> fair;
    double exclusive_bandwidth = MaxMin::unbounded;
    Bandwidth bandwidth{1};
    Time startup{};
    // On fair links only: this connection's messages, the first one starting or flowing.
    std::deque<TransferId> in_order;
  };

  [[nodiscard]] bool others_wait_for(std::span<const LinkId> links) const;
  [[nodiscard]] std::optional<Passage> carry_among_others(const Passage& passage, Time duration);
  Passage settle(const Passage& passage, std::span<const LinkId> links, Time start, Time duration) {
    Passage settled = passage;
    settled.departed = start;
    settled.left = start + duration;
    for (const LinkId link : links) free_at_[link.index()] = settled.left;
    return settled;
  }
  [[nodiscard]] Time all_free_at(std::span<const LinkId> links, Time now) const {
    Time start = now;
    for (const LinkId link : links) start = std::max(start, free_at_[link.index()]);
    return start;
  }
  TransferId new_transfer(const Passage& passage, Time duration);
  void schedule(Time when, Event event, TransferId id);
  void push_event(TransferId id);
  void drop_void_events();
  void begin_flow(TransferId id, Time now);
  void end_flow(TransferId id, Time now);
  void take_links(TransferId id, Time now);
  void serve_queues(std::vector<LinkId> links, Time now);
  [[nodiscard]] bool may_start(TransferId id) const;
  [[nodiscard]] Time end_of(const Transfer& transfer, Time now) const;  // never(): out of range
  void deliver(TransferId id, Time left);

  [[nodiscard]] std::span<const LinkId> exclusive_links(const Connection& connection) const;

  const Topology& topology_;
  const ConnectionTable& connections_;
  std::vector<Time> free_at_;  // by link; never(): held by a flow
  std::unordered_map<std::size_t, std::deque<TransferId>>
      queues_;                                // by link; only links with waiting messages
  std::vector<std::uint32_t> constraint_of_;  // by link, plus one; 0: none yet
  std::vector<Route> routes_;                 // by connection number
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_transfers_;
  std::vector<TransferId> transfer_of_;  // by variable
  MaxMin sharing_;
  bool sharing_changed_ = false;
  RadixHeap<std::uint64_t> events_;
  std::size_t event_count_ = 0;       // in events_, void ones included
  std::size_t live_event_count_ = 0;  // transfers with an event
  std::vector<Passage> delivered_;
};

}  // namespace collsim
