// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/rank_machine.hpp"

namespace collsim {

namespace {

// Every link is used by one lane only, so nobody competes and no clock is needed: a message starts
// when it is ready and the lane's earlier messages have left its links.  Lanes run in any order,
// here last woken first, which keeps a batch of messages and both ends of a connection in the
// cache.
//
// A lane that runs far ahead of its reader is put aside until the reader has caught up, so that
// unlimited slots do not mean unlimited memory; when nobody can go on without, the limit is
// doubled.
template <class Recorder>
class DataflowEngine : public RankMachine<DataflowEngine<Recorder>, Recorder> {
  using Base = RankMachine<DataflowEngine<Recorder>, Recorder>;

 public:
  DataflowEngine(const Topology& topology, const Schedule& schedule, const CostModel& costs,
                 const SimulationOptions& options, Recorder& recorder)
      : Base(topology, schedule, costs, options, recorder),
        first_user_(topology.links().size(), nobody),
        free_at_(topology.links().size()) {}

  // False when two lanes want the same link.
  bool run_all();

  // --- what LaneMachine asks ---
  [[nodiscard]] bool stopped() const { return link_is_contended_; }
  void wake(LaneNumber lane) { runnable_.push_back(lane); }
  bool may_post(LaneNumber, Connection& connection, Time) {
    if (connection.waiting() < run_ahead_) return true;
    connection.sender_waits = true;
    return false;
  }
  void post(Connection& connection, std::uint64_t message, Time ready);
  void opened(Connection& connection);
  static void left_behind(const Connection&) {}  // its links still know it

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  [[nodiscard]] Time free_links_at(const Connection& connection) const;
  void raise_run_ahead();

  std::vector<LaneNumber> runnable_;
  std::vector<std::uint32_t> first_user_;  // by link: the first connection over it
  std::vector<Time> free_at_;  // by link; kept only for links that several connections share
  std::uint64_t run_ahead_ = 64;
  bool link_is_contended_ = false;
};

template <class Recorder>
bool DataflowEngine<Recorder>::run_all() {
  for (std::size_t lane = this->lanes_.size(); lane-- > 0;)
    runnable_.push_back(static_cast<LaneNumber>(lane));
  while (!stopped()) {
    while (!runnable_.empty() && !stopped()) {
      const LaneNumber lane = runnable_.back();
      runnable_.pop_back();
      this->run(lane);
    }
    if (this->finished_lanes_ == this->lanes_.size() || stopped()) break;
    raise_run_ahead();
    if (runnable_.empty()) this->report_stuck();
  }
  return !stopped();
}

template <class Recorder>
void DataflowEngine<Recorder>::raise_run_ahead() {
  for (std::size_t number = 0; number < this->connections_.size(); ++number) {
    Connection& connection = this->connections_[number];
    if (!connection.sender_waits || connection.waiting() < run_ahead_) continue;
    connection.sender_waits = false;
    wake(connection.source);
  }
  run_ahead_ *= 2;
}

template <class Recorder>
void DataflowEngine<Recorder>::opened(Connection& connection) {
  for (const LinkId id : this->connections_.links(connection)) {
    std::uint32_t& first = first_user_[id.index()];
    if (first == nobody) {
      first = connection.number;
      continue;
    }
    Connection& other = this->connections_[first];
    const bool fair = this->topology_.link(id).sharing == Sharing::fair;
    if (fair || other.source != connection.source) link_is_contended_ = true;
    connection.shares_links = other.shares_links = true;
    free_at_[id.index()] = std::max(free_at_[id.index()], other.left);
  }
}

template <class Recorder>
Time DataflowEngine<Recorder>::free_links_at(const Connection& connection) const {
  Time free = connection.left;
  for (const LinkId link : this->connections_.links(connection))
    free = std::max(free, free_at_[link.index()]);
  return free;
}

template <class Recorder>
void DataflowEngine<Recorder>::post(Connection& connection, std::uint64_t message, Time ready) {
  Slot& slot = connection.slot(message);
  if (connection.within_rank) {
    slot.time = ready;
    return;
  }
  const Time duration = connection.duration(slot.count, this->element_size_);
  Time start{};
  if (!connection.crosses_exclusive_link) [[unlikely]] {
    start = std::max(ready + connection.overhead, connection.left);
    connection.left = start + (duration - connection.overhead);
  } else {
    start = std::max(ready, connection.shares_links ? free_links_at(connection) : connection.left);
    connection.left = start + duration;
    if (connection.shares_links)
      for (const LinkId link : this->connections_.links(connection))
        free_at_[link.index()] = connection.left;
  }
  slot.time = this->arrival(connection.left, connection.latency);
  if constexpr (Recorder::enabled) {
    const std::span<const LinkId> links = this->connections_.links(connection);
    this->recorder_.passed(connection, message, links, ready, start, connection.left,
                           slot.count * this->element_size_);
  }
}

}  // namespace

std::optional<Simulation> simulate_by_dataflow(const Topology& topology, const Schedule& schedule,
                                               const CostModel& costs,
                                               const SimulationOptions& options) {
  return run_machine<DataflowEngine>(Engine::dataflow, topology, schedule, costs, options);
}

}  // namespace collsim
