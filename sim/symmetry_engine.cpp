// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/lane_machine.hpp"
#include "sim/wiring.hpp"
#include "topo/routes.hpp"

namespace collsim {

namespace {

// One rank stands for all: rank 0.  When programs and network look the same from everywhere, every
// rank does the same at the same time, so a message that rank 0 receives from distance d is the one
// it sends to distance d in the mirror: its own connection, with its own times.  Likewise links:
// all links that the renaming maps onto each other (an orbit) are one link here, used once by rank
// 0 for every use of each of them.
//
// That is exact while nothing depends on who is first among ranks:
//   - a message crosses no orbit twice (it would compete with the same message of another rank);
//   - fair links carry one connection per orbit;
//   - with several lanes, exclusive links serve one lane per orbit.  With one lane, every rank
//     hands over its n-th message in the same round as all others, so each link serves the senders'
//     messages in program order.
class SymmetryEngine : public LaneMachine<SymmetryEngine, NoRecorder> {
  using Base = LaneMachine<SymmetryEngine, NoRecorder>;

 public:
  SymmetryEngine(const Topology& topology, const Schedule& schedule, const CostModel& costs,
                 NoRecorder& recorder)
      : Base(schedule, costs, 1, recorder),
        topology_(topology),
        participants_(topology, schedule),
        router_(topology),
        symmetry_(schedule.symmetry()) {}

  // False when the case turns out not to be symmetric, or never to end (another engine says why).
  bool run_all();
  [[nodiscard]] Simulation result();

  // --- what LaneMachine asks ---
  [[nodiscard]] bool stopped() const { return not_exact_; }
  void wake(LaneNumber lane) { runnable_.push_back(lane); }
  static constexpr bool may_post(LaneNumber, const Connection&, Time) { return true; }
  void post(Connection& connection, std::uint64_t message, Time ready);
  static void left_behind(const Connection&) {}  // as many as distances: not worth it
  Connection& connection(const LaneState& lane, Endpoint peer, Direction direction);

 private:
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};

  void open(Connection& connection, std::size_t distance);
  [[nodiscard]] std::size_t mirrored(std::size_t distance) const {
    const auto ranks = static_cast<std::size_t>(schedule_.size());
    return symmetry_ == Symmetry::exchange || distance == 0 ? distance : ranks - distance;
  }

  const Topology& topology_;
  Participants participants_;
  Router router_;
  const Symmetry symmetry_;
  std::vector<LaneNumber> runnable_;
  std::vector<std::uint64_t> owner_;  // by orbit
  std::vector<Time> free_at_;         // by orbit
  bool not_exact_ = false;
};

Connection& SymmetryEngine::connection(const LaneState& lane, Endpoint peer, Direction direction) {
  if (participants_.seat_of(peer.rank) == Participants::absent ||
      peer.lane.index() >= lanes_per_rank_)
    report_bad_peer(schedule_, endpoint_of(lane), peer);
  const bool out = direction == Direction::out;
  const std::size_t distance = out ? peer.rank.index() : mirrored(peer.rank.index());
  const std::size_t source = out ? lane.lane.index() : peer.lane.index();
  const std::size_t target = out ? peer.lane.index() : lane.lane.index();
  if (distance == 0 && source == target) report_talks_to_itself(peer);
  const std::uint64_t key =
      (static_cast<std::uint64_t>(distance) << 32U) | (source << 16U) | target;
  if (Connection* const known = connections_.find(key)) return *known;
  Connection& connection = connections_.open(key);
  connection.source = static_cast<LaneNumber>(source);
  connection.target = static_cast<LaneNumber>(target);
  connection.within_rank = distance == 0;
  if (distance != 0) {
    limit(connection);
    open(connection, distance);
  }
  return connection;
}

void SymmetryEngine::open(Connection& connection, std::size_t distance) {
  const std::span<const LinkId> route = router_.route(Rank(0), Rank(distance));
  std::vector<LinkId> orbits;
  set_route(connection, topology_, route, orbits);
  orbits.clear();
  for (const LinkId id : route) {
    const std::optional<std::uint32_t> orbit = topology_.orbit(symmetry_, id);
    const Link& link = topology_.link(id);
    const bool again =
        orbit && std::find(orbits.begin(), orbits.end(), LinkId(*orbit)) != orbits.end();
    if (!orbit || again || link.resource != id) {
      not_exact_ = true;
      return;
    }
    orbits.emplace_back(*orbit);
    if (owner_.size() <= *orbit) {
      owner_.resize(*orbit + std::size_t{1}, nobody);
      free_at_.resize(*orbit + std::size_t{1});
    }
    std::uint64_t& owner = owner_[*orbit];
    const std::uint64_t user =
        link.sharing == Sharing::fair ? connection.number : connection.source;
    if (owner == nobody) owner = user;
    if (owner != user) not_exact_ = true;
  }
  connections_.set_links(connection, orbits);
}

void SymmetryEngine::post(Connection& connection, std::uint64_t message, Time ready) {
  Slot& slot = connection.slot(message);
  if (connection.within_rank) {
    slot.time = ready;
    return;
  }
  const Time duration = connection.duration(slot.count, element_size_);
  if (!connection.crosses_exclusive_link) {
    const Time start = std::max(ready + connection.overhead, connection.left);
    connection.left = start + (duration - connection.overhead);
  } else {
    Time start = ready;
    for (const LinkId orbit : connections_.links(connection))
      start = std::max(start, free_at_[orbit.index()]);
    connection.left = start + duration;
    for (const LinkId orbit : connections_.links(connection))
      free_at_[orbit.index()] = connection.left;
  }
  slot.time = arrival(connection.left, connection.latency);
}

bool SymmetryEngine::run_all() {
  for (std::size_t lane = lanes_.size(); lane-- > 0;)
    runnable_.push_back(static_cast<LaneNumber>(lane));
  while (!runnable_.empty() && !stopped()) {
    const LaneNumber lane = runnable_.back();
    runnable_.pop_back();
    run(lane);
  }
  bool all_received = true;
  for (std::size_t number = 0; number < connections_.size(); ++number)
    all_received = all_received && connections_[number].empty();
  return !stopped() && finished_lanes_ == lanes_.size() && all_received;
}

Simulation SymmetryEngine::result() {
  const auto ranks = static_cast<std::size_t>(schedule_.size());
  Simulation result;
  result.engine = Engine::symmetry;
  Fingerprint fingerprint;
  for (const LaneState& lane : lanes_) {
    result.time = std::max(result.time, lane.clock);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      fingerprint.add_lane(rank, lane.lane.index(), lane.hash);
  }
  for (std::size_t number = 0; number < connections_.size(); ++number) {
    const Connection& connection = connections_[number];
    result.time = std::max(result.time, connection.left);
    if (!connection.within_rank) result.messages += ranks * connection.sent;
  }
  result.finished.assign(ranks, result.time);
  result.instructions = ranks * instructions_;
  result.wire_bytes = bytes_sent(static_cast<std::int64_t>(ranks));
  result.fingerprint = fingerprint.value();
  return result;
}

}  // namespace

std::optional<Simulation> simulate_by_symmetry(const Topology& topology, const Schedule& schedule,
                                               const CostModel& costs,
                                               const SimulationOptions& options) {
  const bool whole_machine = static_cast<std::size_t>(schedule.size()) == topology.rank_count() &&
                             Participants(topology, schedule).in_order();
  if (schedule.symmetry() == Symmetry::none || !whole_machine || !options.late.empty() ||
      options.recording != Recording::off || schedule.size() < 2)
    return std::nullopt;
  NoRecorder recorder;
  SymmetryEngine engine(topology, schedule, costs, recorder);
  if (!engine.run_all()) return std::nullopt;
  return engine.result();
}

}  // namespace collsim
