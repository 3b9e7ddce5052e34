// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engines.hpp"
#include "sim/ordered_links.hpp"
#include "sim/rank_wiring.hpp"

namespace collsim {

namespace {

// Every link is used by one lane only, so lanes do not compete and no clock is needed: a message
// begins on a link when it is there and the lane's earlier messages have left it.
template <class Recorder>
class DataflowNetwork {
 public:
  static constexpr bool arrivals_are_known = true;

  DataflowNetwork(const Topology& topology, Lanes& lanes, const SimulationOptions& options,
                  const Quotient* quotient, Recorder& recorder)
      : topology_(quotient != nullptr ? quotient->topology() : topology),
        lanes_(lanes),
        wiring_(topology, lanes, options, quotient),
        recorder_(recorder),
        first_user_(topology_.links().size(), no_user) {}

  // Two lanes, or copies of one, want the same link, or messages of one lane overtake each other on
  // the way to it.
  [[nodiscard]] bool link_is_contended() const {
    return link_is_contended_ || wiring_.messages_meet_their_copies() ||
           (links_ && !links_->is_in_order());
  }

  // --- see Network ---
  [[nodiscard]] Connection* connect(LaneNumber lane, Endpoint peer, Direction direction);
  void set_duration(Connection& connection, Bytes bytes) {
    Bandwidth bandwidth = Path::unlimited;
    for (const LinkId id : lanes_.connections.links(connection))
      bandwidth = std::min(bandwidth, topology_.link(id).bandwidth);
    connection.path.set_duration(bytes, bandwidth);
  }
  // Stays open: its links still know it.
  void release(const Connection& connection, Direction direction) {
    if (direction == Direction::out) lanes_.note_left(connection);
  }
  [[nodiscard]] static bool may_post(LaneNumber, const Connection&, const InstructionTimes&) {
    return true;
  }
  void post(Connection& connection, Slot& slot, Time ready);
  void wake(LaneNumber lane) { lanes_.runnable.push_back(lane); }
  void wake_receiver(const Connection& connection) { wake(wiring_.simulated(connection.target)); }
  [[nodiscard]] Time all_left(LaneNumber lane) const { return lanes_.left_at(lane); }
  // Only a clock tells what else is under way.
  [[nodiscard]] static Time end_of_work(LaneNumber, Time began, Time duration) {
    return began + duration;
  }
  static void note_call(LaneNumber, bool, Time) {}

  // Once all lanes have finished or wait for ever.  What only they needed makes room for it.
  [[nodiscard]] Simulation result() {
    first_user_ = std::vector<std::uint32_t>();
    lanes_.runnable = std::vector<LaneNumber>();
    links_.reset();
    return wiring_.result(Engine::dataflow);
  }

 private:
  static constexpr std::uint32_t no_user = ~std::uint32_t{0};

  void note_users(Connection& connection);
  [[nodiscard]] bool share_first_link(Connection& connection, Connection& other, std::size_t place);
  void end_sharing_of_first_links();
  OrderedLinks& links_in_order() {
    if (!links_) links_.emplace(topology_);
    return *links_;
  }
  void carry(Connection& connection, Slot& slot, Time ready);

  const Topology& topology_;
  Lanes& lanes_;
  RankWiring wiring_;
  Recorder& recorder_;
  std::vector<std::uint32_t> first_user_;  // by link: the first connection over it
  std::optional<OrderedLinks> links_;      // of routes that are not like one link
  bool link_is_contended_ = false;
  bool first_links_are_shared_ = true;  // without links_
};

template <class Recorder>
Connection* DataflowNetwork<Recorder>::connect(LaneNumber lane, Endpoint peer,
                                               Direction direction) {
  const RankWiring::Ends ends = wiring_.ends(lane, peer, direction);
  if (Connection* const known = lanes_.connections.find(ends.source, ends.target)) return known;
  Connection& connection = wiring_.open(ends);
  const std::span<const LinkId> route = lanes_.connections.links(connection);
  for (const LinkId id : route)
    connection.path.add(topology_.link(id), topology_.link(route.front()));
  note_users(connection);
  return link_is_contended_ || wiring_.messages_meet_their_copies() ? nullptr : &connection;
}

template <class Recorder>
void DataflowNetwork<Recorder>::note_users(Connection& connection) {
  const std::span<const LinkId> route = lanes_.connections.links(connection);
  for (std::size_t place = 0; place < route.size(); ++place) {
    const LinkId id = route[place];
    const Link& link = topology_.link(id);
    std::uint32_t& first = first_user_[link.resource.index()];
    if (wiring_.has_copies_on(id)) link_is_contended_ = true;
    if (first == no_user) {
      first = connection.number;
      continue;
    }
    if (first == connection.number) continue;
    Connection& other = lanes_.connections[first];
    if (link.sharing == Sharing::fair || other.source != connection.source)
      link_is_contended_ = true;
    if (share_first_link(connection, other, place)) continue;
    end_sharing_of_first_links();
    if (other.path.is_like_one_link() && !Recorder::enabled)
      links_in_order().take_over(other, lanes_.connections.links(other), Time{});
    other.path.kinds |= Path::shared;
    connection.path.kinds |= Path::shared;
  }
}

// Of links that are alike only the first makes messages wait, in the order in which their lane
// sends them: so one time is all that must be known of it.  False where they share more than that.
template <class Recorder>
bool DataflowNetwork<Recorder>::share_first_link(Connection& connection, Connection& other,
                                                 std::size_t place) {
  if (Recorder::enabled || !first_links_are_shared_ || link_is_contended_ || place > 0)
    return false;
  const auto resource_of = [this](LinkId id) { return topology_.link(id).resource; };
  const bool is_its_first = resource_of(lanes_.connections.links(other).front()) ==
                            resource_of(lanes_.connections.links(connection).front());
  const bool is_free_behind = other.path.is_like_one_link() || other.path.shares_first_link_only();
  if (!is_its_first || !is_free_behind || !connection.path.is_like_one_link()) return false;
  if (other.path.is_like_one_link()) other.first_free = other.left_at;
  other.path.keeper = connection.path.keeper = other.number;
  other.path.kinds |= Path::own_first;
  connection.path.kinds |= Path::own_first;
  return true;
}

// Some of them share other links, too.
template <class Recorder>
void DataflowNetwork<Recorder>::end_sharing_of_first_links() {
  if (Recorder::enabled || !std::exchange(first_links_are_shared_, false)) return;
  for (std::size_t number = 0; number < lanes_.connections.size(); ++number) {
    Connection& connection = lanes_.connections[number];
    if (!connection.path.shares_first_link_only()) continue;
    if (connection.queue.sent > 0)
      links_in_order().take_over(connection, lanes_.connections.links(connection),
                                 lanes_.connections[connection.path.keeper].first_free);
    connection.path.kinds = Path::exclusive | Path::shared;
  }
}

template <class Recorder>
void DataflowNetwork<Recorder>::carry(Connection& connection, Slot& slot, Time ready) {
  const std::span<const LinkId> route = lanes_.connections.links(connection);
  const Bytes bytes = slot.count * lanes_.element_size;
  const std::uint64_t message = connection.queue.sent - 1;
  if constexpr (Recorder::enabled) recorder_.sent(connection, message, route, bytes);
  const OrderedLinks::Passage passage = links_in_order().carry(
      connection, route, bytes, ready, [&](std::size_t place, Time asked, Time begun, Time ended) {
        if constexpr (Recorder::enabled)
          recorder_.crossed(connection, message, route[place], place, asked, begun, ended, bytes);
      });
  connection.left_at = passage.left;
  slot.time = passage.arrived;
  if constexpr (Recorder::enabled) {
    recorder_.departed(connection, message, passage.departed, passage.left);
    recorder_.arrived(connection, message, passage.arrived);
  }
}

template <class Recorder>
inline void DataflowNetwork<Recorder>::post(Connection& connection, Slot& slot, Time ready) {
  const Path& path = connection.path;
  if (!Recorder::enabled && path.is_like_one_link()) [[likely]] {
    connection.left_at = std::max(ready, connection.left_at) + path.duration;
    slot.time = connection.left_at + path.latency;
  } else if (!Recorder::enabled && path.shares_first_link_only()) {
    Time& free_at = lanes_.connections[connection.path.keeper].first_free;
    free_at = connection.left_at = std::max(ready, free_at) + path.duration;
    slot.time = free_at + path.latency;
  } else if (path.is_free()) {
    slot.time = ready;
  } else if (!Recorder::enabled && !path.crosses(Path::exclusive)) {
    const Time start = std::max(ready + path.startup, connection.left_at);
    connection.left_at = start + (path.duration - path.startup);
    slot.time = connection.left_at + path.latency;
  } else {
    carry(connection, slot, ready);
  }
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
                                       const SimulationOptions& options, const Quotient* quotient,
                                       Recorder& recorder) {
  DataflowNetwork<Recorder> network(topology, lanes, options, quotient, recorder);
  LaneMachine<DataflowNetwork<Recorder>, Recorder> machine(lanes, network, recorder);
  lanes.connections.set_run_ahead(64);
  lanes.wake_all();
  while (true) {
    while (!lanes.runnable.empty() && !network.link_is_contended())
      machine.run(lanes.next_runnable());
    if (network.link_is_contended()) return std::nullopt;
    if (lanes.all_finished()) {
      if (quotient != nullptr && !lanes.all_received()) return std::nullopt;
      return network.result();
    }
    raise_run_ahead(lanes);
    if (!lanes.runnable.empty()) continue;
    if (quotient != nullptr) return std::nullopt;
    if (!options.may_hang) lanes.report_stuck();
    return network.result();
  }
}

}  // namespace

std::optional<Simulation> simulate_by_dataflow(const Topology& topology, const Programs& programs,
                                               const CostModel& costs,
                                               const SimulationOptions& options,
                                               const Quotient* quotient) {
  if (SlowedWork::matters(programs, costs)) return std::nullopt;
  return with_recorder(topology, programs, options, [&](auto& recorder) {
    Lanes lanes(programs, costs, simulated_ranks(programs, quotient));
    return run_dataflow(topology, lanes, options, quotient, recorder);
  });
}

}  // namespace collsim
