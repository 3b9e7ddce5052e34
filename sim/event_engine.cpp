// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/fabric.hpp"
#include "sim/radix_heap.hpp"
#include "sim/rank_machine.hpp"

namespace collsim {

namespace {

// Messages of different lanes compete for links, so they must be handed to the fabric in time
// order.  Only that needs a clock: whatever a lane does between two messages (waiting for one that
// is on its way and whose arrival is known, reducing, copying) is done at once, ahead of time.  So
// there is one pending event per lane, the time of its next message.
//
//   while something is pending:
//     now = the earliest time
//     flows that end or begin now; whoever that wakes runs until its next message
//     rounds: every lane whose next message is ready now hands over one, by rank, then lane;
//             again, until none is left
//     new rates for the flows
template <class Recorder>
class EventEngine : public RankMachine<EventEngine<Recorder>, Recorder> {
  using Base = RankMachine<EventEngine<Recorder>, Recorder>;

 public:
  EventEngine(const Topology& topology, const Schedule& schedule, const CostModel& costs,
              const SimulationOptions& options, Recorder& recorder)
      : Base(topology, schedule, costs, options, recorder), fabric_(topology, this->connections_) {}

  bool run_all();

  // --- what LaneMachine asks ---
  [[nodiscard]] static constexpr bool stopped() { return false; }
  void wake(LaneNumber lane) { runnable_.push_back(lane); }
  bool may_post(LaneNumber lane, const Connection& connection, Time ready);
  void post(Connection& connection, std::uint64_t message, Time ready);
  void left_behind(Connection& connection);
  void opened(Connection& connection) { fabric_.opened(connection); }

 private:
  static constexpr LaneNumber nobody = ~LaneNumber{0};

  void run_woken();
  void run_rounds();
  void sort_round();
  void finish_deliveries();
  void depart(Connection& connection, const Fabric::Passage& passage);
  [[nodiscard]] Time next_time() const {
    return std::min(posts_.empty() ? Time::never() : Time(posts_.top_time()), fabric_.next_event());
  }

  Fabric fabric_;
  Time now_{};
  RadixHeap<LaneNumber> posts_;    // lanes by the time of their next message
  std::vector<LaneNumber> round_;  // lanes whose next message is ready now: this round,
  std::vector<LaneNumber> again_;  // and the next one
  std::vector<LaneNumber> runnable_;
  LaneNumber turn_ = nobody;            // the lane that may hand over its message
  std::vector<std::uint64_t> members_;  // of the round being sorted, a bit per lane
};

template <class Recorder>
bool EventEngine<Recorder>::may_post(LaneNumber lane, const Connection& connection, Time ready) {
  if (connection.within_rank) return true;
  if (turn_ == lane) {
    turn_ = nobody;
    return true;
  }
  if (ready == now_)
    again_.push_back(lane);
  else
    posts_.push(ready.ps(), lane);
  return false;
}

template <class Recorder>
void EventEngine<Recorder>::post(Connection& connection, std::uint64_t message, Time ready) {
  Slot& slot = connection.slot(message);
  if (connection.within_rank) {
    slot.time = ready;
    return;
  }
  slot.time = Time::never();
  const Time duration = connection.duration(slot.count, this->element_size_);
  const auto passage =
      fabric_.carry(connection, message, slot.count * this->element_size_, duration, ready);
  if (passage) depart(connection, *passage);
}

// An exchange among all K ranks has K (K-1) connections, each for a message or a few.  They are
// forgotten when both ends are done with them, so that memory does not grow with messages: what
// is to come cannot be ready before now, and links and arrivals up to now have left no trace.
// Only freed slots may still lie in the future and matter; so not where slots are limited.
template <class Recorder>
void EventEngine<Recorder>::left_behind(Connection& connection) {
  if constexpr (Recorder::enabled) return;  // steps are filed by connection
  if (connection.source_at_hand || connection.target_at_hand || !connection.empty() ||
      connection.limit != Connection::unlimited)
    return;
  this->forget(connection, this->key_of(connection.source, connection.target));
}

template <class Recorder>
void EventEngine<Recorder>::depart(Connection& connection, const Fabric::Passage& passage) {
  connection.slot(passage.message).time = this->arrival(passage.left, connection.latency);
  connection.left = passage.left;
  if constexpr (Recorder::enabled) {
    const std::span<const LinkId> links = this->connections_.links(connection);
    this->recorder_.passed(connection, passage.message, links, passage.ready, passage.departed,
                           passage.left, passage.bytes);
  }
}

template <class Recorder>
void EventEngine<Recorder>::finish_deliveries() {
  for (const Fabric::Passage& passage : fabric_.delivered()) {
    Connection& connection = this->connections_[passage.connection];
    depart(connection, passage);
    if (!connection.receiver_waits) continue;
    connection.receiver_waits = false;
    wake(connection.target);
  }
  fabric_.delivered().clear();
}

template <class Recorder>
void EventEngine<Recorder>::run_woken() {
  while (!runnable_.empty()) {
    const LaneNumber lane = runnable_.back();
    runnable_.pop_back();
    this->run(lane);
  }
}

template <class Recorder>
void EventEngine<Recorder>::run_rounds() {
  if (!posts_.empty() && posts_.top_time() == now_.ps()) posts_.pop_all(again_);
  while (!again_.empty()) {
    round_.swap(again_);
    again_.clear();
    sort_round();
    for (const LaneNumber lane : round_) {
      turn_ = lane;
      this->run(lane);
      run_woken();
    }
  }
}

// A round of many lanes is sorted by ticking them off.
template <class Recorder>
void EventEngine<Recorder>::sort_round() {
  const std::size_t words = this->lanes_.size() / 64 + 1;
  if (round_.size() < words) {
    std::sort(round_.begin(), round_.end());
    return;
  }
  members_.assign(words, 0);
  for (const LaneNumber lane : round_) members_[lane / 64] |= std::uint64_t{1} << (lane % 64);
  round_.clear();
  for (std::size_t word = 0; word < words; ++word)
    for (std::uint64_t left = members_[word]; left != 0; left &= left - 1)
      round_.push_back(static_cast<LaneNumber>(64 * word) +
                       static_cast<LaneNumber>(std::countr_zero(left)));
}

template <class Recorder>
bool EventEngine<Recorder>::run_all() {
  for (std::size_t lane = this->lanes_.size(); lane-- > 0;)
    runnable_.push_back(static_cast<LaneNumber>(lane));
  run_woken();
  while (true) {
    fabric_.process(now_);
    finish_deliveries();
    run_woken();
    run_rounds();
    if (next_time() == now_) continue;
    fabric_.share(now_);
    if (next_time() == Time::never()) break;
    now_ = next_time();
  }
  if (this->finished_lanes_ != this->lanes_.size()) {
    fabric_.check_that_flows_end();
    this->report_stuck();
  }
  return true;
}

}  // namespace

std::optional<Simulation> simulate_by_events(const Topology& topology, const Schedule& schedule,
                                             const CostModel& costs,
                                             const SimulationOptions& options) {
  return run_machine<EventEngine>(Engine::event, topology, schedule, costs, options);
}

}  // namespace collsim
