// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/cuts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collectives/cost/bounds.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

constexpr Operation searched_operations[] = {
    Operation::broadcast,      Operation::reduce, Operation::all_reduce, Operation::all_gather,
    Operation::reduce_scatter, Operation::gather, Operation::scatter};

LinkParameters cable(std::int64_t gigabytes) {
  return {.bandwidth = gigabytes_per_second(gigabytes)};
}

// Up to seven devices, two of them or more GPUs, joined one way or both by links of any rate.
Topology random_network(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const unsigned gpus = 2 + below(4);
  const unsigned switches = below(8 - gpus);
  TopologyBuilder builder;
  std::vector<NodeId> devices;
  for (unsigned d = 0; d < gpus + switches; ++d)
    devices.push_back(builder.add_node(d < gpus ? NodeKind::gpu : NodeKind::network_switch));
  const unsigned density = 1 + below(4);
  for (const NodeId from : devices)
    for (const NodeId to : devices)
      if (from != to && below(5) < density)
        builder.connect_one_way(from, to, {.bandwidth = Bandwidth(1 + below(30) * below(1000))});
  return builder.build();
}

std::vector<Rank> random_group(std::mt19937& random, std::size_t ranks) {
  std::vector<Rank> group = first_ranks(ranks);
  std::shuffle(group.begin(), group.end(), random);
  group.resize(2 + random() % (ranks - 1));
  return group;
}

struct Ratio {
  std::int64_t capacity = 0;
  std::int64_t members = 0;  // 0: there is no such cut
};

// What NetworkCuts::search says it finds, by looking at every set of devices.
Ratio least_of_all_cuts(const Topology& network, const std::vector<Rank>& group, Operation op,
                        int root) {
  Ratio least;
  for (std::uint32_t set = 0; set < 1U << network.node_count(); ++set) {
    const auto inside = [&](NodeId node) { return (set >> node.index() & 1U) != 0; };
    std::int64_t members = 0;
    for (const Rank rank : group) members += inside(network.node_of(rank)) ? 1 : 0;
    if (members == 0 || members == static_cast<std::int64_t>(group.size())) continue;
    std::int64_t out = 0;
    std::int64_t in = 0;
    for (const Link& link : network.links()) {
      if (inside(link.from) && !inside(link.to)) out += link.bandwidth.bytes_per_second();
      if (!inside(link.from) && inside(link.to)) in += link.bandwidth.bytes_per_second();
    }
    const bool has_root = inside(network.node_of(group[static_cast<std::size_t>(root)]));
    const auto see = [&](bool counts, std::int64_t capacity, std::int64_t pieces) {
      if (counts && (least.members == 0 || capacity * least.members < least.capacity * pieces))
        least = {capacity, pieces};
    };
    see(op == Operation::broadcast && has_root, out, 1);
    see(op == Operation::reduce && has_root, in, 1);
    see(op == Operation::all_reduce, out, 1);
    see(op == Operation::all_gather || (op == Operation::gather && !has_root), out, members);
    see(op == Operation::reduce_scatter || (op == Operation::scatter && !has_root), in, members);
  }
  return least;
}

TEST(NetworkCuts, SearchFindsTheTightestOfAllCuts) {
  std::mt19937 random(7);
  int rates = 0;
  int tighter_than_structure = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Topology network = random_network(random);
    const std::vector<Rank> group = random_group(random, network.rank_count());
    for (const Operation op : searched_operations) {
      const int root = static_cast<int>(random() % group.size());
      const Ratio least = least_of_all_cuts(network, group, op, root);
      NetworkCuts cuts(network, group);
      const std::size_t before = cuts.divisions().size();
      const std::optional<NetworkCuts::Rate> rate = cuts.search(op, root);
      ASSERT_EQ(rate.has_value(), least.capacity > 0) << to_string(op) << " " << trial;
      if (!rate) continue;
      EXPECT_TRUE(rate->exact);
      EXPECT_EQ(rate->capacity * least.members, least.capacity * rate->members)
          << to_string(op) << " " << trial;
      ++rates;
      if (cuts.divisions().size() > before) ++tighter_than_structure;
    }
  }
  EXPECT_GT(rates, 1000);
  EXPECT_GT(tighter_than_structure, 20) << "or the search does nothing";
}

// The bound of the tightest cut is the bandwidth bound: pieces of 1 MB, no startup, no latency.
TEST(NetworkCuts, BoundIsThatOfTheTightestCut) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const Topology network = random_network(random);
    const std::vector<Rank> group = random_group(random, network.rank_count());
    for (const Operation op : searched_operations) {
      if (op == Operation::all_reduce) continue;  // 2(K-1) N of all may be more
      const auto members = static_cast<int>(group.size());
      const bool pieces = op != Operation::broadcast && op != Operation::reduce;
      constexpr Bytes piece = 1'000'000;
      Collective collective =
          collective_of(op, members, pieces ? members * piece : piece, ElementType::u8);
      collective.group = group;
      collective.root = has_root(op) ? static_cast<int>(random() % group.size()) : 0;
      const Ratio least = least_of_all_cuts(network, group, op, collective.root);
      if (least.capacity == 0) continue;
      NetworkCuts cuts(network, group);
      cuts.search(op, collective.root);
      const double exact =
          1e12 * static_cast<double>(least.members) * piece / static_cast<double>(least.capacity);
      const auto bound = static_cast<double>(lower_bounds(collective, cuts).bandwidth.ps());
      EXPECT_LE(bound, exact * (1 + 1e-15)) << to_string(op) << " " << trial;
      EXPECT_GT(bound, exact * (1 - 1e-15) - 1) << to_string(op) << " " << trial;
    }
  }
}

// dgx-h100-like boxes: 8 GPUs of 450 GB/s, 50 GB/s each to the network; theory says 7/50 and 3/10.
TEST(NetworkCuts, RatesOfBoxesAreThoseOfForestColl) {
  const auto rate_of = [](int nodes, Operation op) {
    const Topology network = make_nodes({.nodes = nodes,
                                         .gpus_per_node = 8,
                                         .nics_per_node = 8,
                                         .intra_link = cable(450),
                                         .inter_link = cable(50)});
    NetworkCuts cuts(network, first_ranks(network.rank_count()));
    return cuts.search(op, 0);
  };
  for (const Operation op : {Operation::all_gather, Operation::reduce_scatter}) {
    const auto eight = rate_of(8, op);
    ASSERT_TRUE(eight && eight->exact);
    EXPECT_EQ(eight->members * 50'000'000'000, eight->capacity * 7);
    const auto sixteen = rate_of(16, op);
    ASSERT_TRUE(sixteen && sixteen->exact);
    EXPECT_EQ(sixteen->members * 10'000'000'000, sixteen->capacity * 3);
  }
}

std::vector<Topology> shapes_with_structure() {
  return {make_torus({4, 6}, cable(50)),
          make_mesh({3, 5}, cable(50)),
          make_ring(9, cable(50)),
          make_hypercube(16, cable(50)),
          make_switch(12, cable(50)),
          make_fat_tree(4, cable(50)),
          make_dragonfly(
              {.groups = 5, .routers_per_group = 3, .ranks_per_router = 2, .link = cable(50)}),
          make_nodes({.nodes = 5,
                      .gpus_per_node = 4,
                      .nics_per_node = 2,
                      .intra_link = cable(200),
                      .inter_link = cable(25)})};
}

// What a search finds in regular networks, their structure says without one.
TEST(NetworkCuts, StructureHasTheTightestCutsOfRegularShapes) {
  for (const Topology& network : shapes_with_structure())
    for (const Operation op : searched_operations) {
      NetworkCuts cuts(network, first_ranks(network.rank_count()));
      const std::size_t before = cuts.divisions().size();
      const auto rate = cuts.search(op, 0);
      ASSERT_TRUE(rate && rate->exact) << network.shape();
      EXPECT_EQ(cuts.divisions().size(), before) << network.shape() << " " << to_string(op);
    }
}

Time bandwidth_bound(const Topology& network, Operation op, Bytes bytes) {
  return lower_bound(
      collective_of(op, static_cast<int>(network.rank_count()), bytes, ElementType::u8), network);
}

// By hand: what crosses the border of a node, of half a torus, of a group, of a leaf, over the
// bandwidth there.
TEST(NetworkCuts, AllToAllIsBoundByTheNarrowestStructure) {
  const Topology nodes = make_nodes({.nodes = 16,
                                     .gpus_per_node = 8,
                                     .nics_per_node = 8,
                                     .intra_link = cable(450),
                                     .inter_link = cable(50)});
  EXPECT_EQ(bandwidth_bound(nodes, Operation::all_to_all, gibibytes(1)).ps(), 20'132'659'200);
  EXPECT_EQ(
      bandwidth_bound(make_torus({8, 8}, cable(50)), Operation::all_to_all, mebibytes(64)).ps(),
      1'342'177'280)
      << "32 x 32 pieces of 1 MiB over 16 cables";
  EXPECT_EQ(
      bandwidth_bound(make_mesh({8, 8}, cable(50)), Operation::all_to_all, mebibytes(64)).ps(),
      2 * 1'342'177'280LL);
  const Topology dragonfly = make_dragonfly(
      {.groups = 16, .routers_per_group = 8, .ranks_per_router = 4, .link = cable(50)});
  EXPECT_EQ(bandwidth_bound(dragonfly, Operation::all_to_all, mebibytes(64)).ps(), 2'684'354'560)
      << "32 x 480 pieces of 128 KiB through 15 cables";

  TopologyBuilder builder;  // leaf and spine, 2:1
  std::vector<NodeId> gpus, leaves, spines;
  for (int i = 0; i < 64; ++i) gpus.push_back(builder.add_node(NodeKind::gpu));
  for (int i = 0; i < 4; ++i) leaves.push_back(builder.add_node(NodeKind::network_switch));
  for (int i = 0; i < 8; ++i) spines.push_back(builder.add_node(NodeKind::network_switch));
  for (std::size_t i = 0; i < 64; ++i) builder.connect(gpus[i], leaves[i / 16], cable(50));
  for (const NodeId leaf : leaves)
    for (const NodeId spine : spines) builder.connect(leaf, spine, cable(50));
  const Topology leaf_spine = builder.build();
  EXPECT_EQ(bandwidth_bound(leaf_spine, Operation::all_to_all, mebibytes(64)).ps(), 2'013'265'920);
  NetworkCuts cuts(leaf_spine, first_ranks(64));
  const auto narrowest = narrowest_links(
      collective_of(Operation::all_to_all, 64, mebibytes(64), ElementType::u8), cuts);
  ASSERT_TRUE(narrowest);
  EXPECT_EQ(narrowest->kind, Division::Kind::subtree);
  EXPECT_EQ(leaf_spine.name(narrowest->device), "switch0");
  EXPECT_EQ(narrowest->positions.size(), 16U);
  EXPECT_EQ(narrowest->links, 8U);
}

TEST(NetworkCuts, LinksThatAreDownCarryNothing) {
  const Topology torus = make_torus({8, 8}, cable(50));
  LinkParameters down = cable(50);
  down.down = true;
  std::vector<Topology::LinkChange> changes;
  for (const auto& [from, to] : {std::pair{3, 4}, {4, 3}}) {
    const auto ends =
        std::pair{NodeId(static_cast<std::size_t>(from)), NodeId(static_cast<std::size_t>(to))};
    changes.push_back({torus.links_between(ends.first, ends.second).front(), down});
  }
  const Topology changed = torus.with_changed_links(changes);
  EXPECT_EQ(bandwidth_bound(changed, Operation::all_to_all, mebibytes(64)).ps(), 1'431'655'765)
      << "15 cables between halves, no longer 16";
  NetworkCuts cuts(changed, first_ranks(64));
  const auto rate = cuts.search(Operation::all_gather, 0);
  ASSERT_TRUE(rate && rate->exact);
  EXPECT_EQ(rate->capacity, rate->members * 150'000'000'000 / 63) << "into ranks 3 and 4";
}

// Nodes on the leaves of a network with few spines: pairs of nodes are the narrowest.
TEST(NetworkCuts, BlocksOfNodesMayBeNarrowerThanNodes) {
  TopologyBuilder builder;
  const NodeId spine = builder.add_node(NodeKind::network_switch);
  for (int leaf = 0; leaf < 3; ++leaf) {
    const NodeId above = builder.add_node(NodeKind::network_switch);
    builder.connect(above, spine, cable(10));
    for (int node = 0; node < 2; ++node) {
      const NodeId inside = builder.add_node(NodeKind::network_switch);
      const NodeId nic = builder.add_node(NodeKind::nic);
      builder.connect(inside, nic, cable(20));
      builder.connect(nic, above, cable(20));
      for (int gpu = 0; gpu < 2; ++gpu)
        builder.connect(builder.add_node(NodeKind::gpu), inside, cable(100));
    }
  }
  const auto narrowest = [](Topology::Parts parts) {
    const Topology network(std::move(parts));
    return narrowest_links(collective_of(Operation::all_to_all, 12, 12'000'000, ElementType::u8),
                           NetworkCuts(network, first_ranks(12)));
  };
  Topology::Parts parts = builder.build().parts();
  for (const std::vector<int>& dims : {std::vector<int>{}, std::vector<int>{6, 2}}) {
    parts.dims = dims;
    const auto found = narrowest(parts);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->positions, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(found->bytes, 4 * 8'000'000);
    EXPECT_EQ(found->links, 1U);
  }
}

// The NIC is faster than the PCIe slot it sits in, or slower: the narrower one counts.
TEST(NetworkCuts, BordersOfANodeLieWhereItIsNarrowest) {
  const auto bound = [](std::int64_t slot, std::int64_t port) {
    TopologyBuilder builder;
    std::vector<NodeId> gpus;
    for (int i = 0; i < 4; ++i) gpus.push_back(builder.add_node(NodeKind::gpu));
    const NodeId network = builder.add_node(NodeKind::network_switch, "network");
    for (std::size_t node = 0; node < 2; ++node) {
      const NodeId nic = builder.add_node(NodeKind::nic);
      const NodeId pcie = builder.add_node(NodeKind::network_switch);
      builder.connect(gpus[2 * node], gpus[2 * node + 1], cable(100));
      builder.connect(gpus[2 * node], pcie, cable(100));
      builder.connect(gpus[2 * node + 1], pcie, cable(100));
      builder.connect(pcie, nic, cable(slot));
      builder.connect(nic, network, cable(port));
    }
    return bandwidth_bound(builder.build(), Operation::all_to_all, 4'000'000'000).seconds();
  };
  EXPECT_DOUBLE_EQ(bound(8, 10), 0.5) << "4 GB through 8 GB/s";
  EXPECT_DOUBLE_EQ(bound(10, 8), 0.5);
}

// Between two nodes N must go each way, and 2(M-1) N among M of them; switches that add inside of
// the nodes do not change that.
TEST(NetworkCuts, AllReduceAmongNodesIsBoundByTheirLinks) {
  const auto bound = [](int nodes, bool adds) {
    LinkParameters inside = cable(1000);
    if (adds) inside.protocols[static_cast<std::size_t>(LinkProtocol::nvls)] = ProtocolCost{};
    const Topology network = make_nodes({.nodes = nodes,
                                         .gpus_per_node = 4,
                                         .nics_per_node = 1,
                                         .intra_link = inside,
                                         .inter_link = cable(10)});
    return bandwidth_bound(network, Operation::all_reduce, 1'000'000'000).seconds();
  };
  for (const bool adds : {false, true}) {
    EXPECT_DOUBLE_EQ(bound(2, adds), 0.1);
    EXPECT_DOUBLE_EQ(bound(5, adds), 0.16) << "2 x 4 / 5";
  }
}

TEST(NetworkCuts, BestKnownAllReduceIsTwoHalves) {
  const Topology network = make_switch(8, cable(10));
  const Collective sum = collective_of(Operation::all_reduce, 8, 80'000'000, ElementType::u8);
  NetworkCuts cuts(network, sum.group);
  const std::optional<double> seconds = best_known_all_reduce(sum, cuts);
  ASSERT_TRUE(seconds);
  EXPECT_DOUBLE_EQ(*seconds, 0.014);

  LinkParameters adding = cable(10);
  adding.protocols[static_cast<std::size_t>(LinkProtocol::nvls)] = ProtocolCost{};
  NetworkCuts with_adding_switch(make_switch(8, adding), sum.group);
  EXPECT_FALSE(best_known_all_reduce(sum, with_adding_switch)) << "the switch may do better";
}

// Far from where the search begins, behind thousands of ranks that are quick to look at.
TEST(NetworkCuts, ANarrowPatchOfALargeTorusIsFound) {
  constexpr int side = testing::is_sanitized ? 64 : 192;
  const Topology torus = make_torus({side, side}, cable(50));
  const auto is_inside = [&](NodeId device) {
    const auto at = static_cast<int>(device.index());
    const int row = at / side - side / 2, column = at % side - side / 2;
    return row >= 0 && row < 3 && column >= 0 && column < 3;
  };
  std::vector<Topology::LinkChange> narrow;
  for (std::size_t id = 0; id < torus.links().size(); ++id)
    if (const Link& link = torus.link(LinkId(id)); is_inside(link.from) != is_inside(link.to))
      narrow.push_back({LinkId(id), cable(5)});
  ASSERT_EQ(narrow.size(), 24U);
  const std::vector<Rank> all = first_ranks(side * side);
  NetworkCuts cuts(torus.with_changed_links(narrow), all);
  const std::optional<NetworkCuts::Rate> rate = cuts.search(Operation::all_gather, 0);
  ASSERT_TRUE(rate);
  EXPECT_TRUE(rate->exact);
  EXPECT_EQ(rate->capacity, 60'000'000'000);
  EXPECT_EQ(rate->members, side * side - 9);
}

}  // namespace
}  // namespace collsim
