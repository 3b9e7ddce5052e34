// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engines.hpp"
#include "sim/fingerprint.hpp"
#include "sim/lane_machine.hpp"
#include "sim/ordered_links.hpp"
#include "topo/routes.hpp"

namespace collsim {

namespace {

// One rank stands for all: rank 0.  When programs and network look the same from everywhere, every
// rank does the same at the same time, so a message that rank 0 receives from distance d is the one
// it sends to distance d in the mirror: its own connection, with its own times.  Likewise links:
// all links that the renaming maps onto each other (an orbit) are one link here, used once by rank
// 0 for every use of each of them.
//
// This is exact as long as nothing depends on the order among ranks:
//   - a message crosses no orbit twice (it would compete with the same message of another rank);
//   - fair links carry one connection per orbit;
//   - with several lanes, exclusive links serve one lane per orbit;
//   - links serve messages in the order in which programs send them (OrderedLinks).
class SymmetryNetwork {
 public:
  static constexpr bool arrivals_are_known = true;

  SymmetryNetwork(const Topology& topology, Lanes& lanes)
      : topology_(topology),
        lanes_(lanes),
        participants_(topology, lanes.schedule),
        router_(topology),
        symmetry_(lanes.schedule.symmetry()),
        links_(topology.links().size()) {}

  [[nodiscard]] bool is_exact() const { return is_exact_ && links_.is_in_order(); }

  // --- see Network ---
  [[nodiscard]] Connection* connect(LaneNumber lane, Endpoint peer, Direction direction);
  static void release(const Connection&, Direction) {}  // as many as distances: not worth it
  [[nodiscard]] static bool may_post(LaneNumber, const Connection&, const InstructionTimes&) {
    return true;
  }
  void post(Connection& connection, Slot& slot, Time ready);
  // Connections lead from rank 0 to the others, for all of which it stands.
  void wake(LaneNumber lane) {
    lanes_.runnable.push_back(static_cast<LaneNumber>(lane % lanes_.per_rank));
  }

 private:
  static constexpr std::uint64_t no_owner = ~std::uint64_t{0};

  void set_route(Connection& connection, std::size_t distance);
  [[nodiscard]] std::size_t mirrored(std::size_t distance) const {
    const auto ranks = static_cast<std::size_t>(lanes_.schedule.size());
    return symmetry_ == Symmetry::exchange || distance == 0 ? distance : ranks - distance;
  }

  const Topology& topology_;
  Lanes& lanes_;
  Participants participants_;
  Router router_;
  const Symmetry symmetry_;
  OrderedLinks links_;                // by orbit
  std::vector<std::uint64_t> owner_;  // by orbit
  bool is_exact_ = true;
};

Connection* SymmetryNetwork::connect(LaneNumber lane, Endpoint peer, Direction direction) {
  if (participants_.member_of(peer.rank) == Participants::absent ||
      peer.lane.index() >= lanes_.per_rank)
    report_bad_peer(lanes_.schedule, lanes_.endpoint_of(lane), peer);
  const bool out = direction == Direction::out;
  const std::size_t distance = out ? peer.rank.index() : mirrored(peer.rank.index());
  const auto other = static_cast<LaneNumber>(peer.lane.index());
  if (distance == 0 && other == lane) report_talks_to_itself(peer);
  const LaneNumber source = out ? lane : other;
  const auto target = static_cast<LaneNumber>(distance * lanes_.per_rank + (out ? other : lane));
  if (Connection* const known = lanes_.connections.find(source, target)) return known;
  Connection& connection = lanes_.connections.open(source, target);
  if (distance != 0) set_route(connection, distance);
  return is_exact_ ? &connection : nullptr;
}

void SymmetryNetwork::set_route(Connection& connection, std::size_t distance) {
  const std::span<const LinkId> route = router_.route(Rank(0), Rank(distance));
  lanes_.connections.set_route(connection, topology_, route);
  std::vector<LinkId> orbits;
  for (const LinkId id : route) {
    const std::optional<std::uint32_t> orbit = topology_.orbit(symmetry_, id);
    const Link& link = topology_.link(id);
    const bool again =
        orbit && std::find(orbits.begin(), orbits.end(), LinkId(*orbit)) != orbits.end();
    if (!orbit || again || link.resource != id) {
      is_exact_ = false;
      return;
    }
    orbits.emplace_back(*orbit);
    links_.add(orbits.back(), orbits.back(), link);
    if (owner_.size() <= *orbit) owner_.resize(*orbit + std::size_t{1}, no_owner);
    std::uint64_t& owner = owner_[*orbit];
    const std::uint64_t user =
        link.sharing == Sharing::fair ? connection.number : connection.source;
    if (owner == no_owner) owner = user;
    if (owner != user) is_exact_ = false;
  }
  lanes_.connections.set_links(connection.path, orbits);
}

void SymmetryNetwork::post(Connection& connection, Slot& slot, Time ready) {
  const Path& path = connection.path;
  if (path.kinds == Path::within_rank) {
    slot.time = ready;
    return;
  }
  if (!path.crosses(Path::exclusive)) {
    const Time start = std::max(ready + path.startup, connection.left_at);
    connection.left_at = start + (path.duration - path.startup);
    slot.time = connection.left_at + path.latency;
    return;
  }
  const OrderedLinks::Passage passage =
      links_.carry(connection, lanes_.connections.links(connection),
                   slot.count * lanes_.element_size, ready, [](std::size_t, Time, Time, Time) {});
  connection.left_at = passage.left;
  slot.time = passage.arrived;
}

Simulation result_for_all_ranks(Lanes& lanes) {
  const auto ranks = static_cast<std::size_t>(lanes.schedule.size());
  Simulation result = lanes.result(Engine::symmetry, ranks);
  result.finished.assign(ranks, result.time);
  Fingerprint fingerprint;
  for (const LaneState& lane : lanes.all)
    for (std::size_t rank = 0; rank < ranks; ++rank)
      fingerprint.add_lane(rank, lane.lane.index(), lane.hash);
  result.fingerprint = fingerprint.value();
  return result;
}

}  // namespace

// Nothing if the case turns out not to be symmetric, or never to end: another engine says why.
std::optional<Simulation> simulate_by_symmetry(const Topology& topology, const Schedule& schedule,
                                               const CostModel& costs,
                                               const SimulationOptions& options) {
  const bool whole_machine = static_cast<std::size_t>(schedule.size()) == topology.rank_count() &&
                             Participants(topology, schedule).in_order();
  if (schedule.symmetry() == Symmetry::none || !whole_machine || !options.late.empty() ||
      options.recording != Recording::off || schedule.size() < 2)
    return std::nullopt;
  Lanes lanes(schedule, costs, 1);
  SymmetryNetwork network(topology, lanes);
  NoRecorder recorder;
  LaneMachine<SymmetryNetwork, NoRecorder> machine(lanes, network, recorder);
  lanes.wake_all();
  while (!lanes.runnable.empty() && network.is_exact()) machine.run(lanes.next_runnable());
  if (!network.is_exact() || !lanes.all_finished() || !lanes.all_received()) return std::nullopt;
  return result_for_all_ranks(lanes);
}

}  // namespace collsim
