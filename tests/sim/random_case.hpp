// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tests/sim/testing.hpp"

namespace collsim::testing {

// A collective on a machine, both small and drawn by lot: shapes, links that differ, algorithms,
// sub-groups, roots, chunks, channels, slots, costs, late ranks.  The same seed is the same case.
class RandomCase {
 public:
  struct Odds {
    int largest = 12;     // ranks
    int fair = 35;        // per cent of the links
    int half_duplex = 5;  // per cent of the shapes
    int differing = 50;   // per cent of the shapes have links of their own parameters
    bool round = false;   // a few values of everything, so that much happens at one instant
    bool routed = false;  // several ways, and routings that choose among them
    int segmented = 0;    // per cent of the links that are exclusive: rows by size of message
  };
  explicit RandomCase(std::uint64_t seed) : RandomCase(seed, Odds()) {}
  RandomCase(std::uint64_t seed, const Odds& odds) : odds_(odds), random_(seed) {}

  int up_to(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  bool chance(int percent) { return up_to(100) < percent; }

  LinkParameters link() {
    if (odds_.round) {
      LinkParameters round{Bandwidth(chance(50) ? 1'000'000'000 : 500'000'000)};
      if (chance(30)) round.startup = microseconds(1);
      if (chance(30)) round.latency = microseconds(1);
      if (chance(odds_.fair)) round.sharing = Sharing::fair;
      return round;
    }
    LinkParameters link{Bandwidth((1 + up_to(100)) * 1'000'000'007LL)};
    if (chance(60)) link.startup = picoseconds(up_to(3'000'000));
    if (chance(40)) link.latency = picoseconds(up_to(5'000'000));
    if (chance(odds_.fair)) link.sharing = Sharing::fair;
    if (chance(odds_.half_duplex)) link.half_duplex = true;
    if (link.sharing == Sharing::exclusive && odds_.segmented > 0 && chance(odds_.segmented))
      add_segments(link);
    return link;
  }

  // The last row ends where longer messages may go beyond it.
  void add_segments(LinkParameters& link) {
    Bytes up_to_bytes = 0;
    for (int rows = 2 + up_to(2); rows > 0; --rows) {
      link.segments.push_back({.up_to = up_to_bytes,
                               .bandwidth = Bandwidth((1 + up_to(100)) * 1'000'000'007LL),
                               .latency = picoseconds(up_to(5'000'000)),
                               .startup = picoseconds(up_to(3'000'000))});
      up_to_bytes += 1 + up_to(2'000);
    }
    take_best_of_segments(link);
  }

  Topology topology() {
    const std::size_t ranks = 2 + static_cast<std::size_t>(up_to(odds_.largest - 1));
    Topology topology = odds_.routed ? routed(ranks) : shape(ranks);
    if (!chance(odds_.differing)) return topology;
    std::vector<Topology::LinkChange> changes;
    const std::size_t links = topology.links().size();
    for (std::size_t i = 0; i < links; ++i) {
      if (topology.link(LinkId(i)).resource != LinkId(i) || chance(50)) continue;
      LinkParameters changed = link();
      changed.half_duplex = false;
      changes.push_back({LinkId(i), changed});
    }
    const bool half_duplex = std::any_of(
        topology.links().begin(), topology.links().end(),
        [&](const Link& link) { return topology.link(link.resource).from != link.from; });
    return half_duplex ? topology : topology.with_changed_links(changes);
  }

  Schedule schedule(std::size_t ranks) {
    while (true) {
      const auto all = algorithms();
      const Algorithm& algorithm =
          all[static_cast<std::size_t>(up_to(static_cast<int>(all.size())))];
      Collective collective = byte_collective(algorithm.operation, ranks, 0);
      if (chance(20) && ranks > 3) {
        std::shuffle(collective.group.begin(), collective.group.end(), random_);
        collective.group.resize(2 + static_cast<std::size_t>(up_to(static_cast<int>(ranks) - 2)));
      }
      const int members = collective.size();
      if (!algorithm.works_with(members)) continue;
      if (algorithm.operation != Operation::barrier)
        collective.count = odds_.round  ? (chance(50) ? 1000 * members : up_to(members))
                           : chance(50) ? members * 16 * (1 + up_to(100'000))
                                        : up_to(1'000'000);
      if (chance(30) && takes_root(algorithm)) collective.root = up_to(members);
      AlgorithmChoice choice;
      choice.name = algorithm.name;
      if (chance(50)) choice.chunks = 1 + up_to(5);
      if (chance(20)) choice.channels = 1 + up_to(3);
      if (chance(30)) choice.slots = 1 + up_to(8);
      return make_schedule(collective, choice);
    }
  }

  CostModel costs() {
    CostModel costs;
    if (chance(60)) return costs;
    if (chance(50)) costs.reduce_bandwidth = Bandwidth(1'000'000'000LL * (1 + up_to(500)));
    if (chance(50)) costs.copy_bandwidth = Bandwidth(1'000'000'000LL * (1 + up_to(500)));
    if (chance(50)) costs.instruction_overhead = picoseconds(up_to(1'000'000));
    if (chance(50)) costs.launch = picoseconds(up_to(9'000'000));
    if (chance(30)) costs.second_write_bandwidth = Bandwidth(1'000'000'000LL * (1 + up_to(500)));
    return costs;
  }

  SimulationOptions options(std::size_t ranks) {
    SimulationOptions options;
    if (chance(30))
      for (std::size_t rank = 0; rank < ranks; ++rank)
        if (chance(50)) options.late.emplace_back(Rank(rank), picoseconds(up_to(50'000'000)));
    return options;
  }

 private:
  Topology shape(std::size_t ranks) {
    switch (up_to(8)) {
      case 0: return make_chain(ranks, link());
      case 1:
      case 2: return make_ring(ranks, link());
      case 3: return make_fully_connected(ranks, link());
      case 4:
      case 5: return make_switch(ranks, link());
      case 6: return make_torus({2, static_cast<int>(ranks) / 2}, link());
      default: break;
    }
    NodesShape nodes{.intra_dims = {}, .intra_link = link(), .inter_link = link()};
    nodes.nodes = 2;
    nodes.gpus_per_node = std::max(1, static_cast<int>(ranks) / 2);
    nodes.nics_per_node = chance(50) ? nodes.gpus_per_node : 1;
    return make_nodes(nodes);
  }

  // Several ways, some of them down, and a routing that chooses among them.
  Topology routed(std::size_t ranks) {
    static constexpr std::array<Routing, 5> routings{Routing::usual, Routing::hash, Routing::spray,
                                                     Routing::adaptive, Routing::ugal};
    const Routing routing = routings[static_cast<std::size_t>(up_to(5))];
    const Topology whole = with_routing(chance(40) ? shape(ranks) : leaf_spine(ranks), routing,
                                        static_cast<std::uint64_t>(up_to(100)));
    if (chance(60)) return whole;
    const LinkId lost(static_cast<std::size_t>(up_to(static_cast<int>(whole.links().size()))));
    LinkParameters down = whole.parameters(lost);
    if (down.half_duplex) return whole;
    down.down = true;
    const std::vector<Topology::LinkChange> change{{lost, down}};
    return whole.with_changed_links(change);
  }

  Topology leaf_spine(std::size_t ranks) {
    TopologyBuilder builder;
    for (std::size_t i = 0; i < ranks; ++i) builder.add_node(NodeKind::gpu);
    std::array<NodeId, 2> leaves{builder.add_node(NodeKind::network_switch),
                                 builder.add_node(NodeKind::network_switch)};
    const LinkParameters port = link();
    for (std::size_t i = 0; i < ranks; ++i) builder.connect(NodeId(i), leaves[i % 2], port);
    const LinkParameters cable = link();
    for (int spines = 2 + up_to(2); spines > 0; --spines) {
      const NodeId spine = builder.add_node(NodeKind::network_switch);
      for (const NodeId leaf : leaves) builder.connect(leaf, spine, cable);
    }
    return builder.build();
  }

  Odds odds_;
  std::mt19937_64 random_;
};

// With the time that it takes; nothing where too few slots end in a deadlock.
struct RandomRun {
  Topology topology;
  Schedule schedule;
  Time time;
};
inline std::optional<RandomRun> random_run(std::uint64_t seed, const RandomCase::Odds& odds) {
  RandomCase random(seed, odds);
  const Topology topology = random.topology();
  const Schedule schedule = random.schedule(topology.rank_count());
  try {
    return RandomRun{topology, schedule, simulate(topology, schedule).time};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::deadlock);
    return std::nullopt;
  }
}

}  // namespace collsim::testing
