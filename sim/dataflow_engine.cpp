// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/rank_wiring.hpp"

namespace collsim {

namespace {

// Every link is used by one lane only, so lanes do not compete and no clock is needed: a message
// starts when it is ready and the lane's earlier messages have left its links.
template <class Recorder>
class DataflowNetwork {
 public:
  static constexpr bool arrivals_are_known = true;

  DataflowNetwork(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
                  Recorder& recorder)
      : topology_(topology),
        lanes_(lanes),
        wiring_(topology, lanes, options),
        recorder_(recorder),
        first_user_(topology.links().size(), no_user),
        free_at_(topology.links().size()) {}

  // Two lanes want the same link.
  [[nodiscard]] bool link_is_contended() const { return link_is_contended_; }
  [[nodiscard]] RankWiring& wiring() { return wiring_; }

  // --- see Network ---
  [[nodiscard]] Connection* connect(LaneNumber lane, Endpoint peer, Direction direction);
  static void release(const Connection&, Direction) {}  // its links still know it
  [[nodiscard]] static bool may_post(LaneNumber, const Connection&, const InstructionTimes&) {
    return true;
  }
  void post(Connection& connection, Slot& slot, Time ready);
  void wake(LaneNumber lane) { lanes_.runnable.push_back(lane); }

 private:
  static constexpr std::uint32_t no_user = ~std::uint32_t{0};

  void note_users(Connection& connection);
  Time start_among_others(Connection& connection, Time ready);

  const Topology& topology_;
  Lanes& lanes_;
  RankWiring wiring_;
  Recorder& recorder_;
  std::vector<std::uint32_t> first_user_;  // by link: the first connection over it
  std::vector<Time> free_at_;  // by link; kept only for links that several connections share
  bool link_is_contended_ = false;
};

template <class Recorder>
Connection* DataflowNetwork<Recorder>::connect(LaneNumber lane, Endpoint peer,
                                               Direction direction) {
  const RankWiring::Ends ends = wiring_.ends(lane, peer, direction);
  if (Connection* const known = lanes_.connections.find(ends.source, ends.target)) return known;
  Connection& connection = wiring_.open(ends);
  note_users(connection);
  return link_is_contended_ ? nullptr : &connection;
}

template <class Recorder>
void DataflowNetwork<Recorder>::note_users(Connection& connection) {
  for (const LinkId id : lanes_.connections.links(connection)) {
    std::uint32_t& first = first_user_[id.index()];
    if (first == no_user) {
      first = connection.number;
      continue;
    }
    Connection& other = lanes_.connections[first];
    const bool fair = topology_.link(id).sharing == Sharing::fair;
    if (fair || other.source != connection.source) link_is_contended_ = true;
    connection.path.kinds |= Path::shared;
    other.path.kinds |= Path::shared;
    free_at_[id.index()] = std::max(free_at_[id.index()], other.left_at);
  }
}

// Where other messages of the lane may be on the same links.
template <class Recorder>
Time DataflowNetwork<Recorder>::start_among_others(Connection& connection, Time ready) {
  const std::span<const LinkId> links = lanes_.connections.links(connection);
  Time start = ready;
  for (const LinkId link : links) start = std::max(start, free_at_[link.index()]);
  connection.left_at = start + connection.path.duration;
  for (const LinkId link : links) free_at_[link.index()] = connection.left_at;
  return start;
}

template <class Recorder>
inline void DataflowNetwork<Recorder>::post(Connection& connection, Slot& slot, Time ready) {
  const Path& path = connection.path;
  Time start = std::max(ready, connection.left_at);
  if (path.kinds == Path::exclusive) [[likely]] {
    connection.left_at = start + path.duration;
  } else if (path.is_free()) {
    slot.time = ready;
    if constexpr (Recorder::enabled)
      if (path.kinds == Path::within_switch)
        recorder_.passed(connection, connection.queue.sent - 1, {}, ready, ready, ready,
                         slot.count * lanes_.element_size);
    return;
  } else if (!path.crosses(Path::exclusive)) {
    start = std::max(ready + path.startup, connection.left_at);
    connection.left_at = start + (path.duration - path.startup);
  } else {
    start = start_among_others(connection, start);
  }
  slot.time = connection.left_at + path.latency;
  if constexpr (Recorder::enabled)
    recorder_.passed(connection, connection.queue.sent - 1, lanes_.connections.links(connection),
                     ready, start, connection.left_at, slot.count * lanes_.element_size);
}

// A lane that runs far ahead of its reader is paused until the reader has caught up, so that
// unlimited slots do not need unlimited memory; if no lane can continue otherwise, the limit
// doubles.
void raise_run_ahead(Lanes& lanes) {
  const std::uint64_t before = lanes.connections.run_ahead();
  for (std::size_t number = 0; number < lanes.connections.size(); ++number) {
    const Connection& connection = lanes.connections[number];
    Queue& queue = lanes.connections[number].queue;
    if (!queue.sender_waits || queue.waiting() < before || queue.waiting() >= queue.limit) continue;
    queue.sender_waits = false;
    lanes.runnable.push_back(connection.source);
  }
  lanes.connections.set_run_ahead(2 * before);
}

// Lanes run in any order, here last woken first, which keeps a batch of messages and both ends of a
// connection in the cache.
template <class Recorder>
std::optional<Simulation> run_dataflow(const Topology& topology, Lanes& lanes,
                                       const SimulationOptions& options, Recorder& recorder) {
  DataflowNetwork<Recorder> network(topology, lanes, options, recorder);
  LaneMachine<DataflowNetwork<Recorder>, Recorder> machine(lanes, network, recorder);
  lanes.connections.set_run_ahead(64);
  lanes.wake_all();
  while (true) {
    while (!lanes.runnable.empty() && !network.link_is_contended())
      machine.run(lanes.next_runnable());
    if (network.link_is_contended()) return std::nullopt;
    if (lanes.all_finished()) return network.wiring().result(Engine::dataflow);
    raise_run_ahead(lanes);
    if (lanes.runnable.empty()) lanes.report_stuck();
  }
}

}  // namespace

std::optional<Simulation> simulate_by_dataflow(const Topology& topology, const Schedule& schedule,
                                               const CostModel& costs,
                                               const SimulationOptions& options) {
  return with_recorder(topology, schedule, options, [&](auto& recorder) {
    Lanes lanes(schedule, costs, static_cast<std::size_t>(schedule.size()));
    return run_dataflow(topology, lanes, options, recorder);
  });
}

}  // namespace collsim
