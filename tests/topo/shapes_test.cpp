// SPDX-License-Identifier: Apache-2.0
#include "topo/shapes.hpp"

#include <map>
#include <set>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

NodesShape nodes_shape(int nodes, int gpus, int nics, NodesShape::Intra intra,
                       std::vector<int> dims = {}) {
  return {.nodes = nodes,
          .gpus_per_node = gpus,
          .nics_per_node = nics,
          .intra = intra,
          .intra_dims = std::move(dims),
          .intra_link = link_of(100),
          .inter_link = plain_link};
}

DragonflyShape dragonfly_shape(int groups, int routers, int ranks) {
  return {.groups = groups,
          .routers_per_group = routers,
          .ranks_per_router = ranks,
          .link = plain_link};
}

// All cables as pairs of ends, and a check that every link has its opposite.
std::multiset<std::pair<std::size_t, std::size_t>> cables(const Topology& topology) {
  std::multiset<std::pair<std::size_t, std::size_t>> up;
  std::multiset<std::pair<std::size_t, std::size_t>> down;
  for (const Link& link : topology.links()) {
    if (link.from < link.to)
      up.emplace(link.from.index(), link.to.index());
    else
      down.emplace(link.to.index(), link.from.index());
  }
  EXPECT_EQ(up, down) << topology.shape();
  return up;
}

using Cables = std::multiset<std::pair<std::size_t, std::size_t>>;

TEST(Shapes, ChainAndRing) {
  EXPECT_EQ(cables(make_chain(4, plain_link)), (Cables{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(cables(make_ring(4, plain_link)), (Cables{{0, 1}, {1, 2}, {2, 3}, {0, 3}}));
  EXPECT_EQ(cables(make_ring(3, plain_link)), (Cables{{0, 1}, {1, 2}, {0, 2}}));
  EXPECT_EQ(cables(make_ring(2, plain_link)), (Cables{{0, 1}}));
  EXPECT_EQ(cables(make_ring(1, plain_link)), Cables{});
  EXPECT_EQ(cables(make_chain(1, plain_link)), Cables{});
}

TEST(Shapes, FullyConnected) {
  EXPECT_EQ(cables(make_fully_connected(4, plain_link)),
            (Cables{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(cables(make_fully_connected(1, plain_link)), Cables{});
}

TEST(Shapes, SwitchPortsAreNumberedByRank) {
  const Topology topology = make_switch(3, plain_link);
  EXPECT_EQ(topology.node_count(), 4U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(topology.name(LinkId(2 * rank)), "gpu" + std::to_string(rank) + "->switch0");
    EXPECT_EQ(topology.name(LinkId(2 * rank + 1)), "switch0->gpu" + std::to_string(rank));
  }
  EXPECT_EQ(make_switch(1, plain_link).links().size(), 2U);
}

TEST(Shapes, TorusMeshAndTheirDegenerateDimensions) {
  EXPECT_EQ(cables(make_mesh({2, 3}, plain_link)),
            (Cables{{0, 3}, {1, 4}, {2, 5}, {0, 1}, {1, 2}, {3, 4}, {4, 5}}));
  EXPECT_EQ(cables(make_torus({2, 3}, plain_link)),
            (Cables{{0, 3}, {1, 4}, {2, 5}, {0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}}));
  EXPECT_EQ(cables(make_torus({1, 1, 1}, plain_link)), Cables{});
  EXPECT_EQ(cables(make_torus({1, 5, 1}, plain_link)), cables(make_ring(5, plain_link)));
  EXPECT_EQ(make_torus({4, 5, 6}, plain_link).links().size(), 2U * 3 * 120);
  EXPECT_EQ(make_torus({4, 5}, plain_link).dims(), (std::vector{4, 5}));
  EXPECT_EQ(make_mesh({4, 5}, plain_link).dims(), (std::vector{4, 5}));
  EXPECT_TRUE(make_ring(4, plain_link).dims().empty());
}

TEST(Shapes, HypercubeNeighboursDifferInOneBit) {
  for (const std::size_t ranks : {1U, 2U, 4U, 16U}) {
    Cables expected;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t bit = 1; bit < ranks; bit *= 2)
        if ((rank & bit) == 0) expected.emplace(rank, rank | bit);
    EXPECT_EQ(cables(make_hypercube(ranks, plain_link)), expected);
  }
}

TEST(Shapes, NodesWithAPortPerGpu) {
  const Topology topology = make_nodes(nodes_shape(2, 2, 2, NodesShape::Intra::chain));
  EXPECT_EQ(topology.dims(), (std::vector{2, 2}));
  EXPECT_EQ(cables(topology), (Cables{{0, 1}, {2, 3}, {0, 4}, {1, 4}, {2, 4}, {3, 4}}));
  EXPECT_EQ(topology.link(topology.links_between(NodeId(0), NodeId(1)).at(0)).bandwidth,
            gigabytes_per_second(100));
  EXPECT_EQ(topology.parameters(topology.links_between(NodeId(0), NodeId(4)).at(0)), plain_link);
}

TEST(Shapes, NodesWithSharedNics) {
  NodesShape shape = nodes_shape(2, 4, 2, NodesShape::Intra::network_switch);
  shape.inter_link.startup = microseconds(1);
  shape.inter_link.sharing = Sharing::fair;
  shape.inter_link.half_duplex = true;
  const Topology topology = make_nodes(shape);
  // Ranks 0-7, switches of the nodes 8 and 9, the one between 10, NICs 11-14.
  EXPECT_EQ(cables(topology),
            (Cables{{0, 8},  {1, 8},   {2, 8},   {3, 8},   {4, 9},   {5, 9},  {6, 9},
                    {7, 9},  {10, 11}, {10, 12}, {10, 13}, {10, 14}, {0, 11}, {1, 11},
                    {2, 12}, {3, 12},  {4, 13},  {5, 13},  {6, 14},  {7, 14}}));
  const auto of = [&](std::size_t from, std::size_t to) {
    return topology.parameters(topology.links_between(NodeId(from), NodeId(to)).at(0));
  };
  EXPECT_EQ(of(11, 10), shape.inter_link);
  EXPECT_EQ(of(10, 14), shape.inter_link);
  EXPECT_EQ(of(6, 14), (LinkParameters{.bandwidth = plain_link.bandwidth,
                                       .latency = {},
                                       .startup = {},
                                       .sharing = Sharing::fair,
                                       .half_duplex = false}));
}

TEST(Shapes, FatTreeOfFourPorts) {
  const Topology topology = make_fat_tree(4, plain_link);
  EXPECT_EQ(topology.rank_count(), 16U);
  EXPECT_EQ(topology.node_count(), 16U + 8 + 8 + 4);
  EXPECT_EQ(topology.links().size(), 2U * 3 * 16);
  std::map<std::size_t, std::size_t> degree;
  for (const auto& [a, b] : cables(topology)) {
    ++degree[a];
    ++degree[b];
  }
  for (std::size_t node = 0; node < topology.node_count(); ++node)
    EXPECT_EQ(degree[node], node < 16 ? 1U : 4U) << topology.name(NodeId(node));
  // Every core switch reaches every pod once.
  for (std::size_t core = 32; core < 36; ++core) {
    std::set<std::size_t> pods;
    for (std::size_t aggregation = 24; aggregation < 32; ++aggregation)
      if (!topology.links_between(NodeId(core), NodeId(aggregation)).empty())
        pods.insert((aggregation - 24) / 2);
    EXPECT_EQ(pods.size(), 4U);
  }
  EXPECT_EQ(make_fat_tree(2, plain_link).rank_count(), 2U);
  EXPECT_EQ(make_fat_tree(16, plain_link).rank_count(), 1024U);
}

TEST(Shapes, DragonflyHasOneCableBetweenEveryTwoGroups) {
  for (const auto& [groups, routers] : std::vector<std::pair<int, int>>{{5, 2}, {3, 4}, {9, 4}}) {
    const Topology topology = make_dragonfly(dragonfly_shape(groups, routers, 2));
    const auto count = static_cast<std::size_t>(groups * routers);
    const std::size_t ranks = 2 * count;
    EXPECT_EQ(topology.rank_count(), ranks);
    EXPECT_EQ(topology.node_count(), ranks + count);
    std::map<std::pair<std::size_t, std::size_t>, int> between;
    for (const auto& [a, b] : cables(topology)) {
      if (a < ranks) {
        EXPECT_EQ(b, ranks + a / 2);
        continue;
      }
      const std::size_t group_a = (a - ranks) / static_cast<std::size_t>(routers);
      const std::size_t group_b = (b - ranks) / static_cast<std::size_t>(routers);
      ++between[{group_a, group_b}];
    }
    for (std::size_t g = 0; g < static_cast<std::size_t>(groups); ++g)
      for (std::size_t h = g; h < static_cast<std::size_t>(groups); ++h)
        EXPECT_EQ((between[{g, h}]), g == h ? routers * (routers - 1) / 2 : 1);
  }
}

TEST(Shapes, DragonflyCablesSitWhereTheHeaderSays) {
  const Topology topology = make_dragonfly(dragonfly_shape(9, 4, 1));
  const auto router = [](std::size_t group, std::size_t number) {
    return NodeId(36 + 4 * group + number);
  };
  for (std::size_t g = 0; g < 9; ++g)
    for (std::size_t h = 0; h < 9; ++h)
      if (g != h) {
        EXPECT_EQ(topology
                      .links_between(router(g, (h + 9 - g - 1) % 9 % 4),
                                     router(h, (g + 9 - h - 1) % 9 % 4))
                      .size(),
                  1U);
      }
}

TEST(Shapes, HalfDuplexMakesOneResourceOfEveryCable) {
  LinkParameters half = plain_link;
  half.half_duplex = true;
  NodesShape nodes = nodes_shape(2, 4, 4, NodesShape::Intra::ring);
  nodes.intra_link = half;
  nodes.inter_link = half;
  DragonflyShape dragonfly = dragonfly_shape(4, 3, 2);
  dragonfly.link = half;
  for (const Topology& topology :
       {make_chain(5, half), make_ring(5, half), make_ring(2, half), make_fully_connected(5, half),
        make_switch(5, half), make_torus({3, 4}, half), make_mesh({3, 4}, half),
        make_hypercube(8, half), make_nodes(nodes), make_fat_tree(4, half),
        make_dragonfly(dragonfly)}) {
    std::map<LinkId, int> users;
    for (std::size_t id = 0; id < topology.links().size(); ++id) {
      const Link& link = topology.link(LinkId(id));
      ++users[link.resource];
      EXPECT_TRUE(link.resource == LinkId(id) || topology.link(link.resource).to == link.from)
          << topology.shape();
    }
    for (const auto& [resource, count] : users) EXPECT_EQ(count, 2) << topology.shape();
    EXPECT_TRUE(topology.turnings().empty()) << topology.shape();
  }
}

TEST(Shapes, AMillionRanksFit) {
  const Topology topology = make_switch(1'048'576, plain_link);
  EXPECT_EQ(topology.links().size(), 2'097'152U);
  EXPECT_EQ(topology.name(LinkId(2'097'151)), "switch0->gpu1048575");
  Router router(topology);
  EXPECT_EQ(route(router, 5, 1'048'575), (std::vector{LinkId(10), LinkId(2'097'151)}));
}

TEST(ShapeErrors, NumbersOfRanks) {
  const auto all = [](std::size_t ranks, ErrorCode code, const std::string& word) {
    expect_error(code, {"chain", word}, [&] { (void)make_chain(ranks, plain_link); });
    expect_error(code, {"ring", word}, [&] { (void)make_ring(ranks, plain_link); });
    expect_error(code, {"switch", word}, [&] { (void)make_switch(ranks, plain_link); });
    expect_error(code, {"hypercube", word}, [&] { (void)make_hypercube(ranks, plain_link); });
    expect_error(code, {"fully-connected", word},
                 [&] { (void)make_fully_connected(ranks, plain_link); });
  };
  all(0, ErrorCode::invalid_argument, "0 ranks");
  all(max_ranks + 1, ErrorCode::too_large, "16777217");
  all(static_cast<std::size_t>(-1), ErrorCode::too_large, "18446744073709551615");
  expect_error(ErrorCode::too_large, {"8193", "8192"},
               [] { (void)make_fully_connected(8193, plain_link); });
  for (const std::size_t ranks : {3U, 6U, 12U})
    expect_error(ErrorCode::invalid_argument, {std::to_string(ranks), "powers of two"},
                 [&] { (void)make_hypercube(ranks, plain_link); });
  expect_error(ErrorCode::invalid_argument, {"4 or 8"},
               [] { (void)make_hypercube(6, plain_link); });
  expect_error(ErrorCode::too_large, {"links"},
               [] { (void)make_hypercube(max_ranks, plain_link); });
}

TEST(ShapeErrors, Dimensions) {
  using Make = Topology (*)(const std::vector<int>&, const LinkParameters&);
  for (const Make make : {static_cast<Make>(make_torus), static_cast<Make>(make_mesh)}) {
    expect_error(ErrorCode::invalid_argument, {"no dimensions"},
                 [&] { (void)make({}, plain_link); });
    expect_error(ErrorCode::invalid_argument, {"4 x 0", "at least 1"}, [&] {
      (void)make({4, 0}, plain_link);
    });
    expect_error(ErrorCode::invalid_argument, {"-3"}, [&] { (void)make({-3, 2}, plain_link); });
    expect_error(ErrorCode::too_large, {"65536 x 65536"}, [&] {
      (void)make({65536, 65536}, plain_link);
    });
    expect_error(ErrorCode::too_large, {}, [&] {
      (void)make(std::vector<int>(9, 2'147'483'647), plain_link);  // product beyond 64 bits
    });
  }
}

TEST(ShapeErrors, Nodes) {
  const auto refuse = [](ErrorCode code, const std::vector<std::string>& words,
                         const NodesShape& shape) {
    expect_error(code, words, [&] { (void)make_nodes(shape); });
  };
  refuse(ErrorCode::invalid_argument, {"nodes", "0"},
         nodes_shape(0, 8, 8, NodesShape::Intra::chain));
  refuse(ErrorCode::invalid_argument, {"gpus_per_node", "-8"},
         nodes_shape(2, -8, 8, NodesShape::Intra::chain));
  refuse(ErrorCode::invalid_argument, {"nics_per_node", "0"},
         nodes_shape(2, 8, 0, NodesShape::Intra::chain));
  refuse(ErrorCode::invalid_argument, {"3 NICs", "8 GPUs"},
         nodes_shape(2, 8, 3, NodesShape::Intra::chain));
  refuse(ErrorCode::invalid_argument, {"16 NICs"}, nodes_shape(2, 8, 16, NodesShape::Intra::chain));
  refuse(ErrorCode::invalid_argument, {"hypercube", "6"},
         nodes_shape(2, 6, 6, NodesShape::Intra::hypercube));
  refuse(ErrorCode::invalid_argument, {"dimensions"},
         nodes_shape(2, 8, 8, NodesShape::Intra::torus));
  refuse(ErrorCode::invalid_argument, {"6 ranks", "8"},
         nodes_shape(2, 8, 8, NodesShape::Intra::mesh, {2, 3}));
  refuse(ErrorCode::invalid_argument, {"intra_dims"},
         nodes_shape(2, 8, 8, NodesShape::Intra::ring, {8}));
  refuse(ErrorCode::too_large, {"ranks"},
         nodes_shape(2'147'483'647, 2'147'483'647, 1, NodesShape::Intra::chain));
}

TEST(ShapeErrors, Fabrics) {
  for (const int ports : {-2, 0, 1, 3, 7})
    expect_error(ErrorCode::invalid_argument, {std::to_string(ports), "even"},
                 [&] { (void)make_fat_tree(ports, plain_link); });
  for (const int ports : {408, 2'147'483'646})
    expect_error(ErrorCode::too_large, {std::to_string(ports), "406"},
                 [&] { (void)make_fat_tree(ports, plain_link); });
  expect_error(ErrorCode::invalid_argument, {"groups", "0"},
               [] { (void)make_dragonfly(dragonfly_shape(0, 2, 2)); });
  expect_error(ErrorCode::invalid_argument, {"routers_per_group", "-1"},
               [] { (void)make_dragonfly(dragonfly_shape(2, -1, 2)); });
  expect_error(ErrorCode::invalid_argument, {"ranks_per_router", "0"},
               [] { (void)make_dragonfly(dragonfly_shape(2, 2, 0)); });
  expect_error(ErrorCode::too_large, {"groups"},
               [] { (void)make_dragonfly(dragonfly_shape(2'147'483'647, 2, 2)); });
  expect_error(ErrorCode::too_large, {},
               [] { (void)make_dragonfly(dragonfly_shape(16'777'216, 16'777'216, 16'777'216)); });
  expect_error(ErrorCode::too_large, {"links"},
               [] { (void)make_dragonfly(dragonfly_shape(1, 100'000, 1)); });
}

TEST(ShapeErrors, NegativeTimes) {
  LinkParameters late = plain_link;
  late.latency = picoseconds(-1);
  LinkParameters cheap = plain_link;
  cheap.startup = picoseconds(-1);
  for (const LinkParameters& link : {late, cheap}) {
    const auto refuse = [](const auto& make) {
      expect_error(ErrorCode::invalid_argument, {"-1 ps", "negative"}, make);
    };
    NodesShape inside = nodes_shape(2, 2, 2, NodesShape::Intra::ring);
    inside.intra_link = link;
    NodesShape between = nodes_shape(2, 2, 2, NodesShape::Intra::ring);
    between.inter_link = link;
    DragonflyShape dragonfly = dragonfly_shape(2, 2, 2);
    dragonfly.link = link;
    refuse([&] { (void)make_chain(1, link); });
    refuse([&] { (void)make_ring(4, link); });
    refuse([&] { (void)make_fully_connected(4, link); });
    refuse([&] { (void)make_switch(4, link); });
    refuse([&] { (void)make_torus({2, 2}, link); });
    refuse([&] { (void)make_mesh({2, 2}, link); });
    refuse([&] { (void)make_hypercube(4, link); });
    refuse([&] { (void)make_nodes(inside); });
    refuse([&] { (void)make_nodes(between); });
    refuse([&] { (void)make_fat_tree(4, link); });
    refuse([&] { (void)make_dragonfly(dragonfly); });
  }
}

}  // namespace
}  // namespace collsim
