// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/connections.hpp"
#include "sim/max_min.hpp"
#include "sim/quotient.hpp"
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
// Flows that begin together, are alike and have had the same rates since are a batch: they end
// together.  What they have in common is kept once, so that each of millions takes few bytes.
//
// The caller advances time.
class Flows {
 public:
  // `quotient`: whose topology it is, or nullptr.
  Flows(const Topology& topology, const ConnectionTable& connections, const Quotient* quotient);

  // Takes note of a new connection over fair links.
  void opened(const Connection& connection);

  // A connection is closed while the only message that it ever had is under way: that is the
  // message of a guest from now on, with a number that the caller gives it.  It may come back.
  using Stream = std::uint32_t;
  [[nodiscard]] Stream leave(const Connection& connection, std::uint32_t guest);
  void come_back(const Connection& connection, Stream stream);

  struct Flow {
    std::uint32_t owner;  // number of its connection, or of the guest
    bool is_guest;
    std::uint64_t message;
    Bytes bytes;
    Time ready;  // startup included
    Time begun, ended;
    Time latency;  // of the fair links of its route
  };
  // A message comes to the fair links of its route, now or later; process() will end it in time.
  void add(const Connection& connection, std::uint64_t message, Bytes bytes, Time asked,
           Time not_before);

  // The next time at which something happens without a new message; never() if nothing will.
  [[nodiscard]] Time next_event() const {
    return events_.empty() ? Time::never() : Time(events_.top_time());
  }
  // Everything due at `now`: on_end(flow) for every flow that ends, which may not add messages.
  template <class OnEnd>
  void process(Time now, const OnEnd& on_end);
  // Gives every flow its new rate after flows have begun and ended at `now`.
  void share(Time now);

  // Error{overflow} if a flow would take longer than a Time can hold and nothing will change that.
  void check_that_flows_end() const;

  // How many messages have come to the fair links of their routes and not ended, on the one of this
  // connection's that has most of them.  Counted only where messages choose their way.
  [[nodiscard]] std::uint32_t most_on_a_link(const Connection& connection) const {
    std::uint32_t most = 0;
    for (const MaxMin::ConstraintId link : routes_[connection.number].links)
      most = std::max(most, under_way_[link.index()]);
    return most;
  }

 private:
  using BatchId = std::uint32_t;
  enum class Event : std::uint8_t { end, begin };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Message {
    std::uint64_t number = 0;
    Bytes bytes = 0;
    Time ready{};
    Time not_before{};          // when its last byte comes to the fair links
    std::uint32_t next = none;  // of its connection, in waiting_
  };
  // In which flows that begin together must be alike.
  struct Kind {
    Bytes bytes = 0;
    Time ready{};
    Time not_before{};
    Time latency{};
    Bandwidth alone = Path::unlimited;  // the smallest bandwidth of its links
    bool operator==(const Kind&) const = default;
  };
  struct Batch {
    Kind kind;
    Time begun{};
    double remaining = 0;  // bytes, at `since`
    double rate = 0;
    Time since{};
    // When its event is due, or looked at: an end that has moved away stays where it was, and moves
    // on when it comes up.  never(): there is none.
    Time event_at = Time::never();
    std::uint32_t version = 0;  // of its latest event; older ones are void
    Event event{};
    std::uint32_t size = 0;
    std::vector<Stream> members;  // and some that have left
    BatchId heir = none;          // whom members go to that get the heir's rate
  };
  // A connection with messages on fair links, or a guest; named as its variable.
  struct FirstMessage {
    std::uint32_t owner : 31 = 0;
    std::uint32_t is_guest : 1 = 0;
    BatchId batch = none;
    std::uint64_t message = 0;
  };
  struct Route {  // of one connection
    std::vector<MaxMin::ConstraintId> links;
    Bandwidth bandwidth = Path::unlimited;
    Time startup{};
    Time latency{};
    Stream stream = none;  // while messages are under way; behind the first one wait
    std::uint32_t first_waiting = none;
    std::uint32_t last_waiting = none;
  };

  void begin_when_ready(Stream stream, const Route& route, const Message& message, Time now);
  BatchId gathering(const Kind& kind, Time begins);
  BatchId new_batch(Kind kind);
  void let_go(BatchId id);  // of one member
  void keep_room(std::vector<Stream> members);
  void schedule(Time when, Event event, BatchId id);
  void schedule_end(BatchId id);
  void push_event(BatchId id);
  void drop_void_events();
  [[nodiscard]] bool take_due(Time now, BatchId& id);
  void begin_batch(BatchId id, Time now);
  template <class OnEnd>
  void end_batch(BatchId id, Time now, const OnEnd& on_end);
  void go_on_after(Stream stream, Time now);
  void wait(Route& route, const Message& message);
  void count(const Route& route, int messages);
  void change_rate(Stream stream, double rate, Time now);
  static void advance(Batch& batch, double rate, Time now);
  [[nodiscard]] static Time end_of(const Batch& batch);  // at its rate; never(): out of range
  [[nodiscard]] static double bytes_left(const Batch& batch);
  // Surely; false where it takes more to tell.
  [[nodiscard]] static bool ends_after(const Batch& batch, Time when);

  const Topology& topology_;
  const ConnectionTable& connections_;
  const Quotient* quotient_;
  const bool counts_messages_;
  std::vector<std::uint32_t> constraint_of_;  // by link, plus one; 0: none yet
  std::vector<Route> routes_;                 // by connection number
  std::vector<std::uint32_t> under_way_;      // messages, by constraint
  std::vector<FirstMessage> streams_;
  std::vector<Message> waiting_;
  std::vector<std::uint32_t> free_waiting_;
  std::vector<Batch> batches_;
  std::vector<BatchId> free_batches_;
  std::vector<std::vector<Stream>> spare_room_;  // for members of batches to come
  std::array<BatchId, 8> latest_{};              // that wait to begin, or did
  std::size_t next_latest_ = 0;
  std::vector<BatchId> with_heirs_;
  MaxMin sharing_;
  bool sharing_changed_ = false;
  RadixHeap<std::uint64_t> events_;
  std::size_t event_count_ = 0;       // in events_, void ones included
  std::size_t live_event_count_ = 0;  // batches with an event
};

template <class OnEnd>
void Flows::process(Time now, const OnEnd& on_end) {
  BatchId id = none;
  while (take_due(now, id)) {
    if (batches_[id].event == Event::begin) begin_batch(id, now);
    if (batches_[id].event == Event::end || batches_[id].kind.bytes == 0)
      end_batch(id, now, on_end);
  }
}

template <class OnEnd>
void Flows::end_batch(BatchId id, Time now, const OnEnd& on_end) {
  const Kind kind = batches_[id].kind;
  const Time begun = batches_[id].begun;
  const Time ended = std::max(now, kind.not_before);
  std::vector<Stream> members = std::move(batches_[id].members);
  for (const Stream stream : members) {
    const FirstMessage first = streams_[stream];
    if (first.batch != id) continue;
    if (kind.bytes > 0) sharing_.stop(MaxMin::VariableId(stream));
    streams_[stream].batch = none;
    let_go(id);
    on_end(Flow{first.owner, first.is_guest != 0, first.message, kind.bytes, kind.ready, begun,
                ended, kind.latency});
    go_on_after(stream, now);
  }
  keep_room(std::move(members));
  sharing_changed_ = sharing_changed_ || kind.bytes > 0;
}

}  // namespace collsim
