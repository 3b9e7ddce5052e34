// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engines.hpp"
#include "sim/flows.hpp"
#include "sim/link_queues.hpp"
#include "sim/link_turn.hpp"
#include "sim/met_in_turn.hpp"
#include "sim/radix_heap.hpp"
#include "sim/rank_wiring.hpp"
#include "sim/ties.hpp"
#include "sim/time_limit.hpp"
#include "sim/ways.hpp"

namespace collsim {

namespace {

// Lanes compete for links, so links must be asked in time order.  Only that needs a clock: whatever
// a lane does between two messages (waiting for one in flight whose arrival is known, reducing,
// copying) is done at once, ahead of time.  So there is one pending event per lane, the time of its
// next message, and one per message that is under way between two links.
//
// A message that no other rank's message can get ahead of on its first link, and that asks for the
// second one later, need not wait for its turn at the first: that is done ahead of time, too.
//
//   while something is pending:
//     now = the earliest time
//     work and flows that end or begin now; lanes that this wakes run until their next message
//     rounds: whoever asks for a link now, by rank, then lane, then order of sending: lanes with
//             their next message, messages for their next link; again, until none is left
//     new rates for the flows
template <class Recorder>
class EventNetwork {
 public:
  static constexpr bool arrivals_are_known = false;

  EventNetwork(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
               const Quotient* quotient, Recorder& recorder)
      : topology_(quotient != nullptr ? quotient->topology() : topology),
        lanes_(lanes),
        wiring_(topology, lanes, options, quotient),
        recorder_(recorder),
        links_(topology_),
        only_turns_(links_.all_are_exclusive() &&
                    !SlowedWork::matters(lanes.programs, lanes.costs)),
        posts_early_(quotient == nullptr && lanes.per_rank == 1),
        into_the_network_(links_into_the_network(topology_)),
        drains_(lanes.programs.streams() > 0),
        flows_(topology_, lanes.connections, quotient),
        ways_(topology, lanes),
        work_(lanes.programs, lanes.costs, lanes.all.size()),
        posted_(lanes.all.size()),
        ties_(quotient != nullptr ? topology_.links().size() : 0),
        met_(quotient != nullptr ? lanes.all.size() : 0),
        flowing_(lanes.all.size()) {}

  [[nodiscard]] RankWiring& wiring() { return wiring_; }
  [[nodiscard]] Time now() const { return now_; }
  // A quotient turned out to depend on the order among ranks.
  [[nodiscard]] bool is_exact() const { return !ties_.any(); }
  [[nodiscard]] const Flows& flows() const { return flows_; }
  [[nodiscard]] const InstructionTimes& posted(LaneNumber lane) const { return posted_[lane]; }

  using Turn = LinkTurn;

  // Advances to the next time at which something happens; false if nothing will.
  bool advance();
  // Ends the work that ends now.
  void process_work() {
    if (only_turns_) return;
    work_.process(now_, [this](LaneNumber lane) { lanes_.runnable.push_back(lane); });
  }
  // Ends the flows that end now, and begins those that begin.
  void process_flows();
  // Who asks now and has not yet, in order; valid until the next call.
  [[nodiscard]] std::span<const Turn> next_round();
  // A message asks for its next link.
  void go_on(Turn turn);

  // --- see Network ---
  [[nodiscard]] Connection* connect(LaneNumber lane, Endpoint peer, Direction direction);
  static void set_duration(const Connection&, Bytes) {}  // each link has its own
  void release(Connection& connection, Direction direction);
  [[nodiscard]] bool may_post(LaneNumber lane, const Connection& connection,
                              const InstructionTimes& times);
  void post(Connection& connection, Slot& slot, Time ready);
  void wake(LaneNumber lane) { lanes_.runnable.push_back(lane); }
  void wake_receiver(const Connection& connection) { wake(wiring_.simulated(connection.target)); }
  [[nodiscard]] Time all_left(LaneNumber lane) {
    flowing_[lane].lane_waits = flowing_[lane].messages > 0;
    return flowing_[lane].lane_waits ? Time::never() : lanes_.left_at(lane);
  }
  [[nodiscard]] Time end_of_work(LaneNumber lane, Time began, Time duration) {
    return work_.end_of(lane, began, duration);
  }
  void note_call(LaneNumber lane, bool begins, Time at) { work_.note_call(lane, begins, at); }

 private:
  // Messages of a lane that cross fair links only, and have not left yet.
  struct Flowing {
    std::uint32_t messages = 0;
    bool lane_waits = false;
  };

  // Connections of a quotient; until there were more, none of them is closed.
  static constexpr std::size_t most_kept_open = std::size_t{1} << 14U;
  [[nodiscard]] static std::uint8_t bit_of(Direction direction) {
    return direction == Direction::out ? 1 : 2;
  }
  [[nodiscard, gnu::noinline]] Connection* find_in_turn(LaneNumber, Endpoint peer, Direction);
  [[nodiscard]] Connection* find_or_open(LaneNumber lane, Endpoint peer, Direction direction);
  [[nodiscard]] Connection& open(RankWiring::Ends ends, Direction direction);
  void find_route(Connection& connection);
  // Where messages rest: perhaps this connection's.
  [[gnu::noinline]] void take_back_or_find_route(Connection& connection, Direction direction);
  void note_links(Connection& connection);
  void open_ways(Connection& connection);
  void post_over_ways(Connection& connection, Bytes bytes, Time ready);
  void post_part(Connection& way, std::uint64_t message, Bytes bytes, Time ready);
  [[nodiscard]] Ways::Load load_of(const Connection& way) const;
  void note_departure(Connection& way, std::uint64_t message, Time departed, Time left);
  void end_flowing(LaneNumber lane) {
    Flowing& flowing = flowing_[lane];
    if (--flowing.messages > 0 || !flowing.lane_waits) return;
    flowing.lane_waits = false;
    wake(lane);
  }
  LinkQueues::Service ask(Transit& message, Time now);
  // The next exclusive one.
  void find_next_link(Transit& message) const;
  void wait_or_end(Turn turn, Time head);
  void wait_for_turn(Time time, Turn turn);
  std::uint32_t new_transit();
  // The only message of a connection to which neither end will turn soon flows, as one of millions.
  [[nodiscard]] bool may_rest(const Connection& connection) const;
  void end_of_resting(const Flows::Flow& flow);
  static void check_arrival(Time arrival) {
    if (arrival == Time::never()) [[unlikely]]
      throw_error(ErrorCode::overflow,
                  "a message arrives later than 64 bits of picoseconds can hold");
  }
  void arrive(Connection& way, std::uint64_t message, Time arrival);
  void record(const Connection& connection, const Flows::Flow& flow);
  [[nodiscard]] Time next_time() const {
    const Time turn = turns_.empty() ? Time::never() : Time(turns_.top_time());
    return only_turns_ ? turn : std::min({turn, flows_.next_event(), work_.next_event()});
  }

  const Topology& topology_;
  Lanes& lanes_;
  RankWiring wiring_;
  Recorder& recorder_;
  LinkQueues links_;
  const bool only_turns_;   // nothing ever flows, no work is slowed
  const bool posts_early_;  // where only one lane may ask for the first link
  const std::vector<char> into_the_network_;
  const bool drains_;  // lanes may wait until all that they sent has left
  Flows flows_;
  Ways ways_;
  SlowedWork work_;
  Time now_{};
  RadixHeap<Turn> turns_;
  std::vector<InstructionTimes> posted_;  // of the instructions with the next messages, by lane
  std::vector<Turn> round_;               // who asks now: this round,
  std::vector<Turn> again_;               // and the next one
  std::vector<Turn> sorted_;
  std::vector<Transit> transits_;
  std::vector<std::uint32_t> free_transits_;
  std::uint64_t sent_ = 0;
  std::uint64_t rounds_ = 0;
  Ties ties_;
  std::vector<std::array<MetInTurn, 2>> met_;  // by lane and direction; in a quotient
  std::vector<Flowing> flowing_;               // by lane
};

template <class Recorder>
inline Connection* EventNetwork<Recorder>::connect(LaneNumber lane, Endpoint peer,
                                                   Direction direction) {
  if (wiring_.is_quotient() && lanes_.connections.size() < most_kept_open) [[unlikely]]
    return find_in_turn(lane, peer, direction);
  return find_or_open(lane, peer, direction);
}

template <class Recorder>
Connection* EventNetwork<Recorder>::find_in_turn(LaneNumber lane, Endpoint peer,
                                                 Direction direction) {
  MetInTurn& met = met_[lane][direction == Direction::out ? 1 : 0];
  Connection* const next = met.find(peer);
  if (next == nullptr) return met.add(peer, find_or_open(lane, peer, direction));
  next->queue.users |= bit_of(direction);
  return ties_.any() ? nullptr : next;
}

template <class Recorder>
[[gnu::always_inline]] inline Connection* EventNetwork<Recorder>::find_or_open(
    LaneNumber lane, Endpoint peer, Direction direction) {
  const RankWiring::Ends ends = wiring_.ends(lane, peer, direction);
  Connection* connection = lanes_.connections.find(ends.source, ends.target);
  if (connection == nullptr)
    connection = &open(ends, direction);
  else if (direction == Direction::out && connection->path.has_no_route()) [[unlikely]]
    find_route(*connection);
  if (ties_.any()) return nullptr;
  connection->queue.users |= bit_of(direction);
  return connection;
}

template <class Recorder>
inline Connection& EventNetwork<Recorder>::open(RankWiring::Ends ends, Direction direction) {
  Connection& connection = lanes_.connections.open(ends.source, ends.target);
  if (lanes_.resting.empty()) [[likely]]
    find_route(connection);
  else
    take_back_or_find_route(connection, direction);
  return connection;
}

template <class Recorder>
void EventNetwork<Recorder>::take_back_or_find_route(Connection& connection, Direction direction) {
  RestingMessages::Message message;
  if (!lanes_.resting.take(connection.source, connection.target, message)) {
    find_route(connection);
    return;
  }
  lanes_.reopen(connection, message);
  connection.path.kinds = Path::fair;
  if (message.is_under_way() || direction == Direction::out) find_route(connection);
  if (message.is_under_way()) flows_.come_back(connection, message.stream());
}

template <class Recorder>
inline void EventNetwork<Recorder>::find_route(Connection& connection) {
  wiring_.find_route(connection);
  note_links(connection);
  Path& path = connection.path;
  if (ways_.are_chosen())
    open_ways(connection);
  else if (path.kinds == Path::exclusive && posts_early_ &&
           into_the_network_[lanes_.connections.link(path.links_begin).index()])
    path.kinds |= Path::own_first;
}

template <class Recorder>
void EventNetwork<Recorder>::open_ways(Connection& connection) {
  const Router::Choices* const choices = wiring_.choices(connection);
  for (Connection* const way :
       ways_.open(connection, choices != nullptr ? *choices : Router::Choices{}))
    note_links(*way);
}

template <class Recorder>
inline void EventNetwork<Recorder>::note_links(Connection& connection) {
  Path& path = connection.path;
  if (links_.all_are_exclusive()) {
    if (path.links_count > 0) path.kinds |= Path::exclusive;
    return;
  }
  std::uint8_t kinds = path.kinds;
  for (const LinkId id : lanes_.connections.links(connection))
    kinds |= links_.is_exclusive(id) ? Path::exclusive : Path::fair;
  path.kinds = kinds;
  if (path.crosses(Path::fair)) flows_.opened(connection);
}

// An exchange among all K ranks has K (K-1) connections, each for a message or a few.  They are
// closed when both ends are done with them, in a quotient only beyond some thousands, so that
// memory does not grow with messages: future messages cannot be ready before now, and past uses of
// links and arrivals no longer matter.  Only freed slots may still lie in the future and matter; so
// not where slots are limited.  A single message that flows when both ends have turned away rests
// without a connection.
template <class Recorder>
inline void EventNetwork<Recorder>::release(Connection& connection, Direction direction) {
  connection.queue.users &= static_cast<std::uint8_t>(~bit_of(direction));
  if (drains_ && direction == Direction::out) [[unlikely]]
    lanes_.note_left(connection);
  if constexpr (Recorder::enabled) return;  // steps are filed by connection
  if (connection.queue.users != 0 || connection.queue.limit != Queue::unlimited) return;
  if (wiring_.is_quotient() && lanes_.connections.size() < most_kept_open) return;
  if (connection.queue.empty()) {
    if (ways_.are_chosen()) ways_.close(connection);
    lanes_.close(connection);
  } else if (may_rest(connection)) {
    const RestingMessages::Number number = lanes_.close_with_message(connection);
    lanes_.resting.set_stream(number, flows_.leave(connection, number));
  }
}

template <class Recorder>
bool EventNetwork<Recorder>::may_rest(const Connection& connection) const {
  const Queue& queue = connection.queue;
  return connection.path.kinds == Path::fair && queue.sent == 1 && queue.received == 0 &&
         !ways_.are_chosen() && queue.slot(0).time == Time::never() &&
         queue.slot(0).count <= RestingMessages::most_elements;
}

template <class Recorder>
inline bool EventNetwork<Recorder>::may_post(LaneNumber lane, const Connection& connection,
                                             const InstructionTimes& times) {
  constexpr std::uint64_t most_early = 64;  // memory
  const Path& path = connection.path;
  if (path.is_free()) return true;
  if (path.crosses(Path::own_first) && connection.queue.waiting() < most_early) return true;
  posted_[lane] = times;
  wait_for_turn(times.ended, Turn::of(lane));
  return false;
}

template <class Recorder>
inline void EventNetwork<Recorder>::wait_for_turn(Time time, Turn turn) {
  if (time == now_)
    again_.push_back(turn);
  else
    turns_.push(time.ps(), turn);
}

template <class Recorder>
inline void EventNetwork<Recorder>::post(Connection& connection, Slot& slot, Time ready) {
  if (connection.path.is_free()) {
    slot.time = ready;
    return;
  }
  slot.time = Time::never();
  const Bytes bytes = slot.count * lanes_.element_size;
  if (ways_.has(connection))
    post_over_ways(connection, bytes, ready);
  else
    post_part(connection, connection.queue.sent - 1, bytes, ready);
}

// All parts of a sprayed message ask at once, in the order of their ways.
template <class Recorder>
void EventNetwork<Recorder>::post_over_ways(Connection& connection, Bytes bytes, Time ready) {
  const std::uint64_t message = connection.queue.sent - 1;
  if (!ways_.are_sprayed_over()) {
    Connection& way =
        ways_.least_loaded(connection, [this](const auto& one) { return load_of(one); });
    ways_.chose(way, bytes);
    post_part(way, message, bytes, ready);
    return;
  }
  const auto all = static_cast<Bytes>(ways_.count(connection));
  ways_.split(connection, message);
  for (Bytes i = 0; i < all; ++i)
    post_part(ways_.way(connection, static_cast<std::size_t>(i)), message,
              bytes / all + (i == 0 ? bytes % all : 0), ready);
}

template <class Recorder>
Ways::Load EventNetwork<Recorder>::load_of(const Connection& way) const {
  Ways::Load load;
  for (const LinkId id : lanes_.connections.links(way)) {
    const Link& link = topology_.link(id);
    if (link.sharing == Sharing::exclusive)
      load.wait =
          std::max(load.wait, std::max(Time{}, links_.free_at(id) - now_) + ways_.promised(link));
  }
  if (way.path.crosses(Path::fair)) load.flows = flows_.most_on_a_link(way);
  return load;
}

template <class Recorder>
void EventNetwork<Recorder>::post_part(Connection& connection, std::uint64_t number, Bytes bytes,
                                       Time ready) {
  const Path& path = connection.path;
  const std::uint32_t transit = new_transit();
  Transit& message = transits_[transit];
  message = {.connection = connection.number,
             .link = {},
             .next = path.links_begin,
             .end = path.links_begin + path.links_count,
             .message = number,
             .order = sent_++,
             .bytes = bytes,
             .last_byte = {}};
  if constexpr (Recorder::enabled)
    recorder_.sent(ways_.owner(connection), number, lanes_.connections.links(connection), bytes);
  Time head = ready;
  find_next_link(message);
  if (path.crosses(Path::exclusive)) {
    const LinkQueues::Service service = ask(message, ready);
    note_departure(connection, number, service.begun, service.ended);
    head = service.begun + service.latency;
  }
  wait_or_end(Turn::of(connection.source, transit), head);
}

template <class Recorder>
inline void EventNetwork<Recorder>::note_departure(Connection& way, std::uint64_t message,
                                                   Time departed, Time left) {
  Connection& connection = ways_.owner(way);
  connection.left_at = std::max(connection.left_at, left);
  if constexpr (Recorder::enabled)
    recorder_.departed(connection, message, departed, left,
                       ways_.is_first_to_depart(connection, message));
}

template <class Recorder>
inline void EventNetwork<Recorder>::go_on(Turn turn) {
  Transit& message = transits_[turn.transit()];
  const LinkQueues::Service service = ask(message, now_);
  wait_or_end(turn, service.begun + service.latency);
}

template <class Recorder>
inline LinkQueues::Service EventNetwork<Recorder>::ask(Transit& message, Time now) {
  const LinkId link = message.link;
  const LinkQueues::Service service = links_.ask(link, message.bytes, now);
  message.last_byte = std::max(message.last_byte, service.ended) + service.latency;
  if (ways_.are_chosen())
    ways_.asked(lanes_.connections[message.connection], topology_.link(link),
                service.ended - service.begun);
  if constexpr (Recorder::enabled) {
    const Connection& way = lanes_.connections[message.connection];
    const std::uint32_t place = message.next - way.path.links_begin;
    recorder_.crossed(ways_.owner(way), message.message, link, ways_.first_place(way) + place, now,
                      service.begun, service.ended, message.bytes);
  }
  if (wiring_.is_quotient()) [[unlikely]] {
    const LaneNumber lane = lanes_.connections[message.connection].source;
    ties_.note(link, {.round = rounds_,
                      .rank = wiring_.user(message.next),
                      .lane = lanes_.programs.turns_move_lanes() ? lane : 0});
  }
  ++message.next;
  find_next_link(message);
  return service;
}

template <class Recorder>
inline void EventNetwork<Recorder>::find_next_link(Transit& message) const {
  for (; message.next != message.end; ++message.next) {
    message.link = lanes_.connections.link(message.next);
    if (links_.is_exclusive(message.link)) return;
  }
}

// A message that has asked for its last exclusive link is over: its arrival is known, or flows say.
template <class Recorder>
inline void EventNetwork<Recorder>::wait_or_end(Turn turn, Time head) {
  const Transit& message = transits_[turn.transit()];
  if (message.next != message.end) {
    wait_for_turn(head, turn);
    return;
  }
  free_transits_.push_back(turn.transit());
  Connection& connection = lanes_.connections[message.connection];
  if (connection.path.crosses(Path::fair)) {
    if (!connection.path.crosses(Path::exclusive)) ++flowing_[connection.source].messages;
    flows_.add(connection, message.message, message.bytes, head, message.last_byte);
  } else {
    arrive(connection, message.message, message.last_byte);
  }
}

template <class Recorder>
inline std::uint32_t EventNetwork<Recorder>::new_transit() {
  if (free_transits_.empty()) {
    COLLSIM_CHECK(transits_.size() < (std::size_t{1} << 31U), "2^31 messages in flight at once");
    transits_.emplace_back();
    return static_cast<std::uint32_t>(transits_.size() - 1);
  }
  const std::uint32_t transit = free_transits_.back();
  free_transits_.pop_back();
  return transit;
}

template <class Recorder>
inline void EventNetwork<Recorder>::arrive(Connection& way, std::uint64_t message, Time arrival) {
  Connection& connection = ways_.owner(way);
  if (!ways_.is_last_part(connection, message, arrival)) return;
  check_arrival(arrival);
  connection.queue.slot(message).time = arrival;
  if constexpr (Recorder::enabled) recorder_.arrived(connection, message, arrival);
  if (!connection.queue.receiver_waits) return;
  connection.queue.receiver_waits = false;
  wake_receiver(connection);
}

template <class Recorder>
void EventNetwork<Recorder>::process_flows() {
  if (only_turns_) return;
  flows_.process(now_, [this](const Flows::Flow& flow) {
    if (flow.is_guest) {
      end_of_resting(flow);
      return;
    }
    Connection& connection = lanes_.connections[flow.owner];
    if (!connection.path.crosses(Path::exclusive)) {
      note_departure(connection, flow.message, flow.begun, flow.ended);
      lanes_.note_left(ways_.owner(connection));
      end_flowing(ways_.owner(connection).source);
    }
    if constexpr (Recorder::enabled) record(connection, flow);
    arrive(connection, flow.message, flow.ended + flow.latency);
  });
}

template <class Recorder>
void EventNetwork<Recorder>::end_of_resting(const Flows::Flow& flow) {
  const Time arrival = flow.ended + flow.latency;
  check_arrival(arrival);
  lanes_.resting.arrive(flow.owner, arrival);
  Time& left_at = lanes_.all[lanes_.resting[flow.owner].source].left_at;
  left_at = std::max(left_at, flow.ended);
  end_flowing(lanes_.resting[flow.owner].source);
}

template <class Recorder>
void EventNetwork<Recorder>::record(const Connection& connection, const Flows::Flow& flow) {
  const std::span<const LinkId> route = lanes_.connections.links(connection);
  for (std::size_t place = 0; place < route.size(); ++place)
    if (topology_.link(route[place]).sharing == Sharing::fair)
      recorder_.crossed(ways_.owner(connection), flow.message, route[place],
                        ways_.first_place(connection) + place, flow.ready, flow.begun, flow.ended,
                        flow.bytes);
}

template <class Recorder>
std::span<const typename EventNetwork<Recorder>::Turn> EventNetwork<Recorder>::next_round() {
  round_.clear();
  if (!turns_.empty() && turns_.top_time() == now_.ps()) turns_.pop_all(again_);
  round_.swap(again_);
  ++rounds_;
  // What a lane sent earlier asks first, its next message last.
  sort_turns(round_, sorted_, lanes_.all.size(), [this](const Turn& turn) {
    return turn.posts() ? sent_ : transits_[turn.transit()].order;
  });
  return round_;
}

template <class Recorder>
bool EventNetwork<Recorder>::advance() {
  if (next_time() == now_) return true;
  if (!only_turns_) flows_.share(now_);
  const Time next = next_time();
  if (next == Time::never()) return false;
  COLLSIM_CHECK(next >= now_,
                "the clock would go back from " + to_text(now_) + " to " + to_text(next));
  now_ = next;
  return true;
}

template <class Recorder>
std::optional<Simulation> run_all(const Topology& topology, Lanes& lanes,
                                  const SimulationOptions& options, const Quotient* quotient,
                                  Recorder& recorder) {
  EventNetwork<Recorder> network(topology, lanes, options, quotient, recorder);
  LaneMachine<EventNetwork<Recorder>, Recorder> machine(lanes, network, recorder);
  const auto run_woken = [&] {
    while (!lanes.runnable.empty() && network.is_exact()) machine.run(lanes.next_runnable());
  };
  TimeLimit limit(options, lanes, network.wiring());
  lanes.wake_all();
  do {
    limit.check(network.now());
    network.process_work();
    network.process_flows();
    run_woken();
    for (auto round = network.next_round(); !round.empty(); round = network.next_round()) {
      for (const auto turn : round) {
        if (turn.posts())
          machine.post_and_run(turn.lane(), network.posted(turn.lane()));
        else
          network.go_on(turn);
        run_woken();
      }
    }
  } while (network.is_exact() && network.advance());
  if (quotient != nullptr &&
      (!network.is_exact() || !lanes.all_finished() || !lanes.all_received()))
    return std::nullopt;
  if (!lanes.all_finished()) {
    network.flows().check_that_flows_end();
    if (!options.may_hang) lanes.report_stuck();
  }
  return network.wiring().result(Engine::event);
}

}  // namespace

std::optional<Simulation> simulate_by_events(const Topology& topology, const Programs& programs,
                                             const CostModel& costs,
                                             const SimulationOptions& options,
                                             const Quotient* quotient) {
  return with_recorder(topology, programs, options, [&](auto& recorder) {
    Lanes lanes(programs, costs, simulated_ranks(programs, quotient));
    return run_all(topology, lanes, options, quotient, recorder);
  });
}

}  // namespace collsim
