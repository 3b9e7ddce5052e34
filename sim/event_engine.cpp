// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/fabric.hpp"
#include "sim/radix_heap.hpp"
#include "sim/rank_wiring.hpp"

namespace collsim {

namespace {

// Messages of different lanes compete for links, so they must be handed to the fabric in time
// order.  Only that needs a clock: whatever a lane does between two messages (waiting for one in
// flight whose arrival is known, reducing, copying) is done at once, ahead of time.  So there is
// one pending event per lane, the time of its next message.
//
//   while something is pending:
//     now = the earliest time
//     flows that end or begin now; lanes that this wakes run until their next message
//     rounds: every lane whose next message is ready now hands over one, by rank, then lane;
//             again, until none is left
//     new rates for the flows
template <class Recorder>
class EventNetwork {
 public:
  static constexpr bool arrivals_are_known = false;

  EventNetwork(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
               Recorder& recorder)
      : lanes_(lanes),
        wiring_(topology, lanes, options),
        recorder_(recorder),
        fabric_(topology, lanes.connections),
        posted_(lanes.all.size()) {}

  [[nodiscard]] RankWiring& wiring() { return wiring_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] const InstructionTimes& posted(LaneNumber lane) const { return posted_[lane]; }

  // Advances to the next time at which something happens; false if nothing will.
  bool advance();
  // Ends the flows that end now, and begins those that begin.
  void process_flows();
  // The lanes whose next message is ready now and has not been handed over, by rank, then lane;
  // valid until the next call.
  [[nodiscard]] std::span<const LaneNumber> next_round();

  // --- see Network ---
  [[nodiscard]] Connection* connect(LaneNumber lane, Endpoint peer, Direction direction);
  void release(Connection& connection, Direction direction);
  [[nodiscard]] bool may_post(LaneNumber lane, const Connection& connection,
                              const InstructionTimes& times);
  void post(Connection& connection, Slot& slot, Time ready);
  void wake(LaneNumber lane) { lanes_.runnable.push_back(lane); }

 private:
  [[nodiscard]] static std::uint8_t bit_of(Direction direction) {
    return direction == Direction::out ? 1 : 2;
  }
  [[nodiscard]] Connection& open(RankWiring::Ends ends);
  void sort_round();
  void depart(Connection& connection, const Fabric::Passage& passage);
  [[nodiscard]] Time next_time() const {
    return std::min(posts_.empty() ? Time::never() : Time(posts_.top_time()), fabric_.next_event());
  }

  Lanes& lanes_;
  RankWiring wiring_;
  Recorder& recorder_;
  Fabric fabric_;
  Time now_{};
  RadixHeap<LaneNumber> posts_;           // lanes by the time of their next message
  std::vector<InstructionTimes> posted_;  // of the instructions with these messages, by lane
  std::vector<LaneNumber> round_;         // lanes whose next message is ready now: this round,
  std::vector<LaneNumber> again_;         // and the next one
  std::vector<std::uint64_t> in_round_;   // of the round being sorted, a bit per lane
  std::vector<std::uint8_t> users_;       // by connection: bit_of() the lanes that used it last
};

template <class Recorder>
inline Connection* EventNetwork<Recorder>::connect(LaneNumber lane, Endpoint peer,
                                                   Direction direction) {
  const RankWiring::Ends ends = wiring_.ends(lane, peer, direction);
  Connection* connection = lanes_.connections.find(ends.source, ends.target);
  if (connection == nullptr) connection = &open(ends);
  users_[connection->number] |= bit_of(direction);
  return connection;
}

template <class Recorder>
Connection& EventNetwork<Recorder>::open(RankWiring::Ends ends) {
  Connection& connection = wiring_.open(ends);
  fabric_.opened(connection);
  if (connection.number >= users_.size()) users_.resize(connection.number + std::size_t{1});
  return connection;
}

// An exchange among all K ranks has K (K-1) connections, each for a message or a few.  They are
// closed when both ends are done with them, so that memory does not grow with messages: future
// messages cannot be ready before now, and past uses of links and arrivals no longer matter.  Only
// freed slots may still lie in the future and matter; so not where slots are limited.
template <class Recorder>
void EventNetwork<Recorder>::release(Connection& connection, Direction direction) {
  std::uint8_t& users = users_[connection.number];
  users &= static_cast<std::uint8_t>(~bit_of(direction));
  if constexpr (Recorder::enabled) return;  // steps are filed by connection
  if (users == 0 && connection.queue.empty() && connection.queue.limit == Queue::unlimited)
    lanes_.close(connection);
}

template <class Recorder>
bool EventNetwork<Recorder>::may_post(LaneNumber lane, const Connection& connection,
                                      const InstructionTimes& times) {
  if (connection.path.is_free()) return true;
  posted_[lane] = times;
  if (times.ended == now_)
    again_.push_back(lane);
  else
    posts_.push(times.ended.ps(), lane);
  return false;
}

template <class Recorder>
void EventNetwork<Recorder>::post(Connection& connection, Slot& slot, Time ready) {
  if (connection.path.is_free()) {
    slot.time = ready;
    if constexpr (Recorder::enabled)
      if (connection.path.kinds == Path::within_switch)
        recorder_.passed(connection, connection.queue.sent - 1, {}, ready, ready, ready,
                         slot.count * lanes_.element_size);
    return;
  }
  slot.time = Time::never();
  const auto passage =
      fabric_.carry(connection, connection.queue.sent - 1, slot.count * lanes_.element_size, ready);
  if (passage) depart(connection, *passage);
}

template <class Recorder>
void EventNetwork<Recorder>::depart(Connection& connection, const Fabric::Passage& passage) {
  const Time arrival = passage.left + connection.path.latency;
  if (arrival == Time::never()) [[unlikely]]
    throw_error(ErrorCode::overflow,
                "a message arrives later than 64 bits of picoseconds can hold");
  connection.queue.slot(passage.message).time = arrival;
  connection.left_at = passage.left;
  if constexpr (Recorder::enabled)
    recorder_.passed(connection, passage.message, lanes_.connections.links(connection),
                     passage.ready, passage.departed, passage.left, passage.bytes);
}

template <class Recorder>
void EventNetwork<Recorder>::process_flows() {
  fabric_.process(now_);
  for (const Fabric::Passage& passage : fabric_.delivered()) {
    Connection& connection = lanes_.connections[passage.connection];
    depart(connection, passage);
    if (!connection.queue.receiver_waits) continue;
    connection.queue.receiver_waits = false;
    wake(connection.target);
  }
  fabric_.delivered().clear();
}

template <class Recorder>
std::span<const LaneNumber> EventNetwork<Recorder>::next_round() {
  round_.clear();
  if (!posts_.empty() && posts_.top_time() == now_.ps()) posts_.pop_all(again_);
  round_.swap(again_);
  sort_round();
  return round_;
}

// A round of many lanes is sorted with a bitmap.
template <class Recorder>
void EventNetwork<Recorder>::sort_round() {
  const std::size_t words = lanes_.all.size() / 64 + 1;
  if (round_.size() < words) {
    std::sort(round_.begin(), round_.end());
    return;
  }
  in_round_.assign(words, 0);
  for (const LaneNumber lane : round_) in_round_[lane / 64] |= std::uint64_t{1} << (lane % 64);
  round_.clear();
  for (std::size_t word = 0; word < words; ++word)
    for (std::uint64_t rest = in_round_[word]; rest != 0; rest &= rest - 1)
      round_.push_back(static_cast<LaneNumber>(64 * word) +
                       static_cast<LaneNumber>(std::countr_zero(rest)));
}

template <class Recorder>
bool EventNetwork<Recorder>::advance() {
  if (next_time() == now_) return true;
  fabric_.share(now_);
  const Time next = next_time();
  if (next == Time::never()) return false;
  COLLSIM_CHECK(next >= now_,
                "the clock would go back from " + to_text(now_) + " to " + to_text(next));
  now_ = next;
  return true;
}

template <class Recorder>
std::optional<Simulation> run_all(const Topology& topology, Lanes& lanes,
                                  const SimulationOptions& options, Recorder& recorder) {
  EventNetwork<Recorder> network(topology, lanes, options, recorder);
  LaneMachine<EventNetwork<Recorder>, Recorder> machine(lanes, network, recorder);
  const auto run_woken = [&] {
    while (!lanes.runnable.empty()) machine.run(lanes.next_runnable());
  };
  lanes.wake_all();
  do {
    network.process_flows();
    run_woken();
    for (auto round = network.next_round(); !round.empty(); round = network.next_round()) {
      for (const LaneNumber lane : round) {
        machine.post_and_run(lane, network.posted(lane));
        run_woken();
      }
    }
  } while (network.advance());
  if (!lanes.all_finished()) {
    network.fabric().check_that_flows_end();
    lanes.report_stuck();
  }
  return network.wiring().result(Engine::event);
}

}  // namespace

std::optional<Simulation> simulate_by_events(const Topology& topology, const Schedule& schedule,
                                             const CostModel& costs,
                                             const SimulationOptions& options) {
  return with_recorder(topology, schedule, options, [&](auto& recorder) {
    Lanes lanes(schedule, costs, static_cast<std::size_t>(schedule.size()));
    return run_all(topology, lanes, options, recorder);
  });
}

}  // namespace collsim
