// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

TreeShape leaf_spine_shape(std::size_t leaves, std::size_t per_leaf, std::size_t spines,
                           std::size_t cables = 1) {
  return {.ends = leaves * per_leaf,
          .ends_per_leaf = per_leaf,
          .spines = spines,
          .cables = cables,
          .links = {link_of(50), link_of(100)}};
}

FatTreeShape fat_tree(int levels, int ports, std::size_t ranks,
                      std::vector<double> oversubscription = {}) {
  return {.levels = levels,
          .ports = ports,
          .ranks = ranks,
          .oversubscription = std::move(oversubscription),
          .links = std::vector<LinkParameters>(static_cast<std::size_t>(levels), link_of(50))};
}

NodesShape on_rails(bool pxn, int nics = 4, std::size_t nodes_per_leaf = 6) {
  return {.nodes = 6,
          .gpus_per_node = 4,
          .nics_per_node = nics,
          .intra_link = link_of(400),
          .inter_link = link_of(50),
          .network = TreeShape{.name = "rail",
                               .ends_per_leaf = nodes_per_leaf,
                               .rails = static_cast<std::size_t>(nics),
                               .spines = 3,
                               .links = {link_of(50), link_of(100)}},
          .pxn = pxn};
}

// The number of ways with the fewest links from a rank to every other, never through a third rank;
// parallel cables count.
std::map<std::size_t, std::pair<std::size_t, std::uint64_t>> shortest(const Topology& topology,
                                                                      std::size_t from) {
  std::vector<std::size_t> hops(topology.node_count(), topology.node_count());
  std::vector<std::uint64_t> ways(topology.node_count(), 0);
  hops[from] = 0;
  ways[from] = 1;
  bool changed = true;
  for (std::size_t length = 0; changed; ++length) {
    changed = false;
    for (const Link& link : topology.links()) {
      const std::size_t at = link.from.index();
      const std::size_t next = link.to.index();
      if (hops[at] != length || (at != from && topology.rank_at(link.from))) continue;
      if (hops[next] <= length) continue;
      hops[next] = length + 1;
      ways[next] += ways[at];
      changed = true;
    }
  }
  std::map<std::size_t, std::pair<std::size_t, std::uint64_t>> found;
  for (std::size_t rank = 0; rank < topology.rank_count(); ++rank)
    found[rank] = {hops[rank], ways[rank]};
  return found;
}

// All ways differ, lead from the one rank to the other, and none takes more links than necessary.
// Between ranks of one node there is more than the node's own way.
void expect_all_shortest_ways(const Topology& topology, std::size_t ranks_per_node = 1) {
  const EqualWays& ways = *topology.parts().ways;
  for (std::size_t from = 0; from < topology.rank_count(); ++from) {
    const auto known = shortest(topology, from);
    for (std::size_t to = 0; to < topology.rank_count(); ++to) {
      if (from / ranks_per_node == to / ranks_per_node) continue;
      const auto [hops, count] = known.at(to);
      ASSERT_EQ(ways.count(Rank(from), Rank(to)), count) << from << " to " << to;
      ASSERT_LT(ways.usual(Rank(from), Rank(to)), count);
      std::set<std::vector<LinkId>> different;
      for (std::uint64_t way = 0; way < count; ++way) {
        std::vector<LinkId> route;
        ways.append(Rank(from), Rank(to), way, route);
        ASSERT_TRUE(leads(topology, route, from, to)) << from << " to " << to << " by " << way;
        ASSERT_EQ(route.size(), hops);
        different.insert(route);
      }
      ASSERT_EQ(different.size(), count);
    }
  }
}

TEST(Fabrics, WaysAreAllTheShortest) {
  for (const TreeShape& shape :
       {leaf_spine_shape(3, 4, 2), leaf_spine_shape(4, 3, 5), leaf_spine_shape(2, 3, 2, 3),
        leaf_spine_shape(1, 4, 2), tree_of(fat_tree(2, 6, 0)), tree_of(fat_tree(3, 4, 0)),
        tree_of(fat_tree(3, 6, 20)), tree_of(fat_tree(3, 6, 31, {2, 1})),
        tree_of(fat_tree(3, 9, 50, {2, 2}))})
    expect_all_shortest_ways(make_tree(shape));
  expect_all_shortest_ways(make_nodes(on_rails(false)), 4);
  expect_all_shortest_ways(make_nodes(on_rails(false, 4, 2)), 4);
  expect_all_shortest_ways(make_nodes(on_rails(false, 2)), 4);
}

TEST(Fabrics, SwitchesAreCalledByTheirLevel) {
  const Topology tree = make_tree(leaf_spine_shape(3, 4, 2));
  EXPECT_EQ(tree.name(NodeId(12)), "leaf0");
  EXPECT_EQ(tree.name(NodeId(16)), "spine1");
  EXPECT_EQ(tree.find_node("spine1"), NodeId(16));
  EXPECT_EQ(tree.find_node("switch4"), NodeId(16));  // counted through, as before levels had names
  EXPECT_EQ(tree.find_node("spine2"), std::nullopt);
  EXPECT_EQ(tree.find_node("leaf01"), std::nullopt);
  const Topology fat = make_fat_tree(4, plain_link);
  EXPECT_EQ(fat.name(NodeId(16 + 7)), "edge7");
  EXPECT_EQ(fat.name(NodeId(16 + 8 + 7)), "aggregation7");
  EXPECT_EQ(fat.name(NodeId(16 + 16 + 3)), "core3");
  const Topology rails = make_nodes(on_rails(false));
  EXPECT_EQ(rails.find_node("switch5"), NodeId(24 + 5));
  EXPECT_EQ(rails.name(NodeId(24 + 6)), "leaf0");
  EXPECT_EQ(rails.find_node("spine2"), NodeId(24 + 6 + 4 + 2));
}

// Every link of a level leads between the levels that its name says.
TEST(Fabrics, LinksLieInBlocksOfOneLevel) {
  const Topology tree = make_tree(tree_of(fat_tree(3, 6, 31, {2, 1})));
  std::size_t id = 0;
  const std::vector<std::string> kinds{"gpu", "edge", "aggregation", "core"};
  ASSERT_EQ(tree.parts().link_levels.size(), 3U);
  for (std::size_t level = 0; level < 3; ++level) {
    EXPECT_EQ(tree.parts().link_levels[level].name, kinds[level + 1]);
    for (std::size_t i = 0; i < tree.parts().link_levels[level].count; ++i, ++id) {
      const Link& link = tree.link(LinkId(id));
      const bool up = i % 2 == 0;
      EXPECT_EQ(tree.name(link.from).find(kinds[up ? level : level + 1]), 0U);
      EXPECT_EQ(tree.name(link.to).find(kinds[up ? level + 1 : level]), 0U);
    }
  }
  EXPECT_EQ(id, tree.links().size());
}

TEST(Fabrics, EveryLevelHasItsLink) {
  FatTreeShape shape = fat_tree(3, 8, 0);
  shape.links = {link_of(10), link_of(20), link_of(30)};
  const Topology tree = make_tree(tree_of(shape));
  const auto bandwidth = [&](const std::string& from, const std::string& to) {
    return tree.link(tree.links_between(*tree.find_node(from), *tree.find_node(to)).at(0))
        .bandwidth;
  };
  EXPECT_EQ(bandwidth("gpu0", "edge0"), gigabytes_per_second(10));
  EXPECT_EQ(bandwidth("edge0", "aggregation0"), gigabytes_per_second(20));
  EXPECT_EQ(bandwidth("core0", "aggregation0"), gigabytes_per_second(30));

  const Topology fly = make_dragonfly({.groups = 3,
                                       .routers_per_group = 2,
                                       .ranks_per_router = 2,
                                       .link = link_of(10),
                                       .local_link = link_of(20),
                                       .global_link = link_of(30)});
  std::map<std::int64_t, std::size_t> count;
  for (const Link& link : fly.links()) ++count[link.bandwidth.bytes_per_second() / 1'000'000'000];
  EXPECT_EQ(count, (std::map<std::int64_t, std::size_t>{{10, 24}, {20, 6}, {30, 6}}));

  const Topology torus = make_torus({3, 4}, {link_of(10), link_of(20)});
  for (const Link& link : torus.links()) {
    const bool along_the_slow = link.from.index() % 4 == link.to.index() % 4;
    EXPECT_EQ(link.bandwidth, gigabytes_per_second(along_the_slow ? 10 : 20));
  }
  EXPECT_EQ(way(torus, 0, 5), "gpu0 gpu4 gpu5");
}

// The cables between two levels of switches, by device.
std::map<std::string, std::size_t> cables_up(const Topology& tree, const std::string& level) {
  std::map<std::string, std::size_t> count;
  for (const Link& link : tree.links())
    if (tree.name(link.to).starts_with(level) && link.from < link.to) ++count[tree.name(link.from)];
  return count;
}

TEST(Fabrics, OversubscriptionTakesPortsFromTheWayUp) {
  const struct {
    double wanted;
    std::size_t down, up;
  } cases[] = {{1, 32, 32}, {1.5, 37, 25}, {2, 42, 21}, {3, 48, 16}, {4, 48, 12}, {8, 56, 7}};
  for (const auto& [wanted, down, up] : cases) {
    const TreeShape shape = tree_of(fat_tree(2, 64, 0, {wanted}));
    EXPECT_EQ(shape.ends_per_leaf, down) << wanted;
    EXPECT_EQ(shape.spines, up) << wanted;
    EXPECT_EQ(shape.ends, 64 * down) << wanted;
  }
  // Links that are twice as fast do with half as many ports.
  FatTreeShape faster = fat_tree(2, 48, 0);
  faster.links[1] = link_of(100);
  EXPECT_EQ(tree_of(faster).ends_per_leaf, 32U);
  EXPECT_EQ(tree_of(faster).spines, 16U);
}

TEST(Fabrics, PartlyFilledTreesLackTheLastSwitchesOnly) {
  const Topology tree = make_tree(tree_of(fat_tree(3, 8, 70)));
  EXPECT_EQ(tree.rank_count(), 70U);
  const auto edges = cables_up(tree, "aggregation");
  EXPECT_EQ(edges.size(), 18U);  // 70 ranks by 4
  for (const auto& [edge, cables] : edges) EXPECT_EQ(cables, 4U) << edge;
  const auto aggregations = cables_up(tree, "core");
  EXPECT_EQ(aggregations.size(), 5U * 4);  // the fifth pod has two edge switches
  for (const auto& [aggregation, cables] : aggregations) EXPECT_EQ(cables, 4U) << aggregation;
  EXPECT_TRUE(tree.find_node("core15"));
  EXPECT_FALSE(tree.find_node("core16"));
}

// The messages of an all-to-all that cross each link.
std::map<std::string, std::pair<std::size_t, std::size_t>> least_and_most(const Topology& of) {
  std::vector<std::size_t> load(of.links().size());
  Router router(of);
  for (std::size_t from = 0; from < of.rank_count(); ++from)
    for (std::size_t to = 0; to < of.rank_count(); ++to)
      for (const LinkId id : router.route(Rank(from), Rank(to))) ++load[id.index()];
  std::map<std::string, std::pair<std::size_t, std::size_t>> found;
  std::size_t id = 0;
  for (const auto& level : of.parts().link_levels) {
    auto& [least, most] = found[level.name];
    least = load.size();
    for (std::size_t i = 0; i < level.count; ++i, ++id) {
      least = std::min(least == load.size() ? load[id] : least, load[id]);
      most = std::max(most, load[id]);
    }
  }
  return found;
}

TEST(Fabrics, TheTargetSpreadsTheLoad) {
  for (const TreeShape& shape : {leaf_spine_shape(4, 16, 8), leaf_spine_shape(3, 8, 2, 2),
                                 tree_of(fat_tree(3, 12, 0, {2, 2})), tree_of(fat_tree(3, 8, 0))}) {
    const auto load = least_and_most(make_tree(shape));
    for (const auto& [level, bounds] : load)
      EXPECT_EQ(bounds.first, bounds.second) << shape.name << " " << level;
  }
  // 37 ranks on 25 cables up cannot share evenly on the way down; on the way up they nearly do.
  const Topology uneven = make_tree(tree_of(fat_tree(2, 64, 10 * 37, {1.5})));
  std::map<std::size_t, std::size_t> up;
  Router router(uneven);
  for (std::size_t to = 37; to < 370; ++to) ++up[router.route(Rank(0), Rank(to))[1].index()];
  EXPECT_EQ(up.size(), 25U);
  for (const auto& [link, messages] : up) EXPECT_NEAR(static_cast<double>(messages), 333. / 25, 1);
}

TEST(Fabrics, RailsMeetAtTheirLeaf) {
  const Topology rails = make_nodes(on_rails(false));
  EXPECT_EQ(way(rails, 1, 9), "gpu1 leaf1 gpu9");
  EXPECT_EQ(way(rails, 1, 3), "gpu1 switch0 gpu3");
  const std::string across = way(rails, 1, 11);
  EXPECT_TRUE(across.starts_with("gpu1 leaf1 spine") && across.ends_with("leaf3 gpu11")) << across;
  // Units of two nodes: the same rail of another unit is over a spine, too.
  const Topology units = make_nodes(on_rails(false, 4, 2));
  EXPECT_EQ(way(units, 1, 5), "gpu1 leaf1 gpu5");
  EXPECT_TRUE(way(units, 1, 9).ends_with("leaf5 gpu9")) << way(units, 1, 9);
}

TEST(Fabrics, PxnMovesToTheRailOfTheTarget) {
  const Topology rails = make_nodes(on_rails(true));
  EXPECT_EQ(way(rails, 1, 9), "gpu1 leaf1 gpu9");
  EXPECT_EQ(way(rails, 1, 11), "gpu1 switch0 gpu3 leaf3 gpu11");
  const Topology shared = make_nodes(on_rails(true, 2));
  EXPECT_EQ(way(shared, 1, 8), "gpu1 nic0 leaf0 nic4 gpu8");
  EXPECT_EQ(way(shared, 1, 11), "gpu1 switch0 gpu3 nic1 leaf1 nic5 gpu11");
  for (const Topology& topology : {rails, shared})
    for (std::size_t from = 0; from < 24; ++from)
      for (std::size_t to = 0; to < 24; ++to) {
        Router router(topology);
        EXPECT_TRUE(leads(topology, route(router, from, to), from, to)) << from << " " << to;
      }
}

// ---- dragonfly

TEST(Fabrics, CablesOfTwoGroupsSitOnDifferentRouters) {
  for (const int cables : {1, 2, 3, 4}) {
    const Topology fly = make_dragonfly({.groups = 5,
                                         .routers_per_group = 4,
                                         .ranks_per_router = 2,
                                         .link = plain_link,
                                         .cables = cables});
    std::map<std::pair<std::size_t, std::size_t>, std::set<NodeId>> ends;
    std::map<NodeId, std::size_t> of_router;
    for (const Link& link : fly.links()) {
      if (link.from.index() < 40 || link.to.index() < 40) continue;
      const std::size_t from = (link.from.index() - 40) / 4;
      const std::size_t to = (link.to.index() - 40) / 4;
      if (from == to) continue;
      ends[{from, to}].insert(link.from);
      ++of_router[link.from];
      EXPECT_EQ(fly.links_between(link.to, link.from).size(), 1U);
    }
    EXPECT_EQ(ends.size(), 5U * 4);
    for (const auto& [groups, routers] : ends)
      EXPECT_EQ(routers.size(), static_cast<std::size_t>(cables));
    for (const auto& [router, count] : of_router)
      EXPECT_EQ(count, static_cast<std::size_t>(cables)) << fly.name(router);
  }
}

TEST(Fabrics, DragonfliesCrossOneGlobalCableOrTwoOnADetour) {
  const Topology fly = make_dragonfly({.groups = 4,
                                       .routers_per_group = 3,
                                       .ranks_per_router = 2,
                                       .link = link_of(10),
                                       .local_link = link_of(20),
                                       .global_link = link_of(30),
                                       .cables = 2});
  const EqualWays& ways = *fly.parts().ways;
  const auto globals = [&](const std::vector<LinkId>& route) {
    return std::count_if(route.begin(), route.end(), [&](LinkId id) {
      return fly.link(id).bandwidth == gigabytes_per_second(30);
    });
  };
  for (std::size_t from = 0; from < 24; ++from)
    for (std::size_t to = 0; to < 24; ++to) {
      if (from == to) continue;
      const bool same = from / 6 == to / 6;
      ASSERT_EQ(ways.count(Rank(from), Rank(to)), same ? 1U : 2U);
      ASSERT_EQ(ways.detours(Rank(from), Rank(to)), same ? 0U : 2U * 2 * 2);
      std::set<std::vector<LinkId>> different;
      for (std::uint64_t way = 0; way < ways.count(Rank(from), Rank(to)); ++way) {
        std::vector<LinkId> route;
        ways.append(Rank(from), Rank(to), way, route);
        EXPECT_TRUE(leads(fly, route, from, to));
        EXPECT_EQ(globals(route), same ? 0 : 1);
        different.insert(route);
      }
      for (std::uint64_t detour = 0; detour < ways.detours(Rank(from), Rank(to)); ++detour) {
        std::vector<LinkId> route;
        ways.append_detour(Rank(from), Rank(to), detour, route);
        EXPECT_TRUE(leads(fly, route, from, to));
        EXPECT_EQ(globals(route), 2);
        different.insert(route);
      }
      EXPECT_EQ(different.size(), same ? 1U : 10U);
    }
}

// ---- nodes on any of them

TEST(Fabrics, JoinNodes) {
  NodesShape nodes = on_rails(false);
  nodes.network = leaf_spine_shape(1, 8, 2);
  EXPECT_EQ(way(make_nodes(nodes), 0, 7), "gpu0 leaf0 gpu7");
  EXPECT_EQ(way(make_nodes(nodes), 0, 8), "gpu0 leaf0 spine0 leaf1 gpu8");
  expect_all_shortest_ways(make_nodes(nodes), 4);
  nodes.network = DragonflyShape{
      .groups = 3, .routers_per_group = 2, .ranks_per_router = 4, .link = link_of(50)};
  EXPECT_EQ(way(make_nodes(nodes), 0, 4), "gpu0 router0 router1 gpu4");
  nodes.network = DragonflyShape{
      .groups = 3, .routers_per_group = 3, .ranks_per_router = 4, .link = link_of(50)};
  expect_error(ErrorCode::invalid_argument, {"36 ports", "24 NICs"},
               [&] { (void)make_nodes(nodes); });
}

TEST(FabricErrors, SayWhatDoesNotFit) {
  const auto refuse = [](ErrorCode code, const std::vector<std::string>& words,
                         const FatTreeShape& shape) {
    expect_error(code, words, [&] { (void)make_tree(tree_of(shape)); });
  };
  refuse(ErrorCode::invalid_argument, {"4 levels", "2 or 3"}, fat_tree(4, 8, 0));
  refuse(ErrorCode::invalid_argument, {"1 ports"}, fat_tree(2, 1, 0));
  refuse(ErrorCode::too_large, {"33 ranks", "at most 32"}, fat_tree(2, 8, 33));
  refuse(ErrorCode::too_large, {"129 ranks", "at most 128"}, fat_tree(3, 8, 129));
  refuse(ErrorCode::invalid_argument, {"8 to 1", "no port", "up"}, fat_tree(2, 8, 0, {8}));
  refuse(ErrorCode::invalid_argument, {"no port", "down"}, fat_tree(2, 8, 0, {0.1}));
  refuse(ErrorCode::invalid_argument, {"oversubscription of 0"}, fat_tree(2, 8, 0, {0}));
  refuse(ErrorCode::invalid_argument, {"2 values", "at most 1"}, fat_tree(2, 8, 0, {1, 1}));
  expect_error(ErrorCode::invalid_argument, {"0 spines"},
               [] { (void)make_tree(leaf_spine_shape(2, 4, 0)); });
  expect_error(ErrorCode::too_large, {"links"},
               [] { (void)make_tree(leaf_spine_shape(1'000'000, 1, 1'000'000)); });
  expect_error(ErrorCode::invalid_argument, {"3 links", "2 dimensions"}, [] {
    (void)make_torus({2, 2}, std::vector<LinkParameters>(3, plain_link));
  });
}

}  // namespace
}  // namespace collsim
