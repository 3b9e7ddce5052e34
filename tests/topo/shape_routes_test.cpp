// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

template <class Check>
void for_all_pairs(const Topology& topology, const Check& check) {
  Router router(topology);
  for (std::size_t from = 0; from < topology.rank_count(); ++from)
    for (std::size_t to = 0; to < topology.rank_count(); ++to)
      if (from != to) check(router, from, to);
}

void expect_same_as_searched(const Topology& topology) {
  for_all_pairs(topology, [&](Router& router, std::size_t from, std::size_t to) {
    const std::vector<LinkId> known = route(router, from, to);
    const std::vector<LinkId> found = searched(router, from, to);
    ASSERT_EQ(known, found) << topology.shape() << " of " << topology.rank_count() << ": "
                            << way(topology, known) << " | " << way(topology, found);
  });
}

TEST(ShapeRoutes, AreThoseThatSearchingFinds) {
  for (std::size_t ranks = 1; ranks <= 17; ++ranks) {
    expect_same_as_searched(make_chain(ranks, plain_link));
    expect_same_as_searched(make_ring(ranks, plain_link));
    expect_same_as_searched(make_fully_connected(ranks, plain_link));
    expect_same_as_searched(make_switch(ranks, plain_link));
  }
  for (std::size_t ranks = 1; ranks <= 64; ranks *= 2)
    expect_same_as_searched(make_hypercube(ranks, plain_link));
  for (const std::vector<int>& dims : {std::vector{1},
                                       {2},
                                       {7},
                                       {3, 4},
                                       {4, 3},
                                       {4, 4},
                                       {2, 2},
                                       {1, 5},
                                       {5, 1},
                                       {2, 3, 4},
                                       {4, 1, 4},
                                       {3, 2, 3},
                                       {4, 4, 4},
                                       {2, 3, 2, 3}}) {
    expect_same_as_searched(with_routing(make_torus(dims, plain_link), Routing::first, 0));
    expect_same_as_searched(make_mesh(dims, plain_link));
  }
}

TEST(ShapeRoutes, HalfWayRoundATorusSourcesTakeTurns) {
  const Topology topology = make_torus({4, 4}, plain_link);
  EXPECT_EQ(way(topology, 0, 10), "gpu0 gpu4 gpu8 gpu9 gpu10");
  EXPECT_EQ(way(topology, 1, 11), "gpu1 gpu13 gpu9 gpu8 gpu11");
  EXPECT_EQ(way(topology, 4, 6), "gpu4 gpu7 gpu6");
  std::map<LinkId, int> messages;
  Router router(topology);
  for (std::size_t from = 0; from < 16; ++from)
    for (std::size_t to = 0; to < 16; ++to)
      for (const LinkId id : route(router, from, to)) ++messages[id];
  ASSERT_EQ(messages.size(), topology.links().size());
  for (const auto& [link, count] : messages) EXPECT_EQ(count, messages.begin()->second);
  EXPECT_EQ(router.choices(Rank(0), Rank(10)).ways.size(), 4U);
  EXPECT_EQ(router.choices(Rank(0), Rank(8)).ways.size(), 2U);
}

TEST(ShapeRoutes, RingGoesTheShorterWayAndUpHalfWay) {
  const Topology topology = make_ring(6, plain_link);
  EXPECT_EQ(way(topology, 0, 2), "gpu0 gpu1 gpu2");
  EXPECT_EQ(way(topology, 1, 5), "gpu1 gpu0 gpu5");
  EXPECT_EQ(way(topology, 5, 1), "gpu5 gpu0 gpu1");
  EXPECT_EQ(way(topology, 1, 4), "gpu1 gpu2 gpu3 gpu4");
  EXPECT_EQ(way(topology, 4, 1), "gpu4 gpu5 gpu0 gpu1");
}

TEST(ShapeRoutes, GridsCorrectTheSlowestDimensionFirst) {
  EXPECT_EQ(way(make_mesh({3, 4}, plain_link), 0, 10), "gpu0 gpu4 gpu8 gpu9 gpu10");
  EXPECT_EQ(way(make_torus({3, 4}, plain_link), 0, 11), "gpu0 gpu8 gpu11");
  EXPECT_EQ(way(make_torus({4, 4}, plain_link), 5, 15), "gpu5 gpu9 gpu13 gpu14 gpu15");
  EXPECT_EQ(way(make_hypercube(16, plain_link), 1, 14), "gpu1 gpu9 gpu13 gpu15 gpu14");
}

// ---- nodes

using Intra = NodesShape::Intra;

NodesShape nodes_shape(Intra intra, int nics, std::vector<int> dims = {}) {
  return {.nodes = 3,
          .gpus_per_node = 8,
          .nics_per_node = nics,
          .intra = intra,
          .intra_dims = std::move(dims),
          .intra_link = link_of(100),
          .inter_link = link_of(25)};
}

struct Inside {
  NodesShape shape;
  Topology alone;  // the shape of one node by itself
};

std::vector<Inside> insides() {
  return {{nodes_shape(Intra::chain, 8), make_chain(8, plain_link)},
          {nodes_shape(Intra::ring, 8), make_ring(8, plain_link)},
          {nodes_shape(Intra::fully_connected, 8), make_fully_connected(8, plain_link)},
          {nodes_shape(Intra::network_switch, 8), make_switch(8, plain_link)},
          {nodes_shape(Intra::mesh, 8, {2, 4}), make_mesh({2, 4}, plain_link)},
          {nodes_shape(Intra::torus, 8, {2, 4}), make_torus({2, 4}, plain_link)},
          {nodes_shape(Intra::hypercube, 8), make_hypercube(8, plain_link)}};
}

TEST(NodesRoutes, InsideANodeAreThoseOfItsShape) {
  for (Inside inside : insides())
    for (const int nics : {1, 2, 8}) {
      inside.shape.nics_per_node = nics;
      const Topology topology = make_nodes(inside.shape);
      const auto place = [](const Topology& of, NodeId node) {
        const auto rank = of.rank_at(node);
        return rank ? rank->index() % 8 : std::size_t{8};
      };
      Router inside_router(inside.alone);
      for_all_pairs(topology, [&](Router& router, std::size_t from, std::size_t to) {
        if (from / 8 != to / 8) return;
        const std::vector<LinkId> found = route(router, from, to);
        const std::vector<LinkId> expected = route(inside_router, from % 8, to % 8);
        ASSERT_TRUE(leads(topology, found, from, to)) << way(topology, found);
        ASSERT_EQ(found.size(), expected.size()) << way(topology, found);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const Link& link = topology.link(found[i]);
          EXPECT_EQ(place(topology, link.from),
                    place(inside.alone, inside.alone.link(expected[i]).from));
          EXPECT_EQ(link.bandwidth, gigabytes_per_second(100));
        }
      });
    }
}

TEST(NodesRoutes, BetweenNodesAreThoseThatSearchingFinds) {
  for (Inside inside : insides())
    for (const int nics : {1, 2, 8}) {
      inside.shape.nics_per_node = nics;
      for_all_pairs(make_nodes(inside.shape), [](Router& router, std::size_t from, std::size_t to) {
        if (from / 8 == to / 8) return;
        ASSERT_EQ(route(router, from, to), searched(router, from, to));
      });
    }
}

TEST(NodesRoutes, PassTheNicOfTheirRank) {
  const Topology own = make_nodes(nodes_shape(Intra::network_switch, 8));
  EXPECT_EQ(way(own, 1, 22), "gpu1 switch3 gpu22");
  EXPECT_EQ(way(own, 9, 14), "gpu9 switch1 gpu14");
  const Topology shared = make_nodes(nodes_shape(Intra::network_switch, 2));
  EXPECT_EQ(way(shared, 1, 22), "gpu1 nic0 switch3 nic5 gpu22");
  EXPECT_EQ(way(shared, 13, 8 + 3), "gpu13 switch1 gpu11");
  EXPECT_EQ(way(shared, 13, 3), "gpu13 nic3 switch3 nic0 gpu3");
}

// ---- fat-tree

TEST(FatTreeRoutes, HaveTwoFourOrSixLinks) {
  const Topology topology = make_fat_tree(4, plain_link);
  for_all_pairs(topology, [&](Router& router, std::size_t from, std::size_t to) {
    const std::vector<LinkId> known = route(router, from, to);
    EXPECT_EQ(known.size(), from / 2 == to / 2 ? 2U : from / 4 == to / 4 ? 4U : 6U);
    EXPECT_EQ(known.size(), searched(router, from, to).size());
    EXPECT_TRUE(leads(topology, known, from, to)) << way(topology, known);
  });
}

TEST(FatTreeRoutes, TheTargetChoosesTheWayUp) {
  const Topology topology = make_fat_tree(4, plain_link);
  EXPECT_EQ(way(topology, 0, 1), "gpu0 edge0 gpu1");
  EXPECT_EQ(way(topology, 0, 2), "gpu0 edge0 aggregation0 edge1 gpu2");
  EXPECT_EQ(way(topology, 0, 3), "gpu0 edge0 aggregation1 edge1 gpu3");
  EXPECT_EQ(way(topology, 0, 4), "gpu0 edge0 aggregation0 core0 aggregation2 edge2 gpu4");
  EXPECT_EQ(way(topology, 0, 5), "gpu0 edge0 aggregation1 core2 aggregation3 edge2 gpu5");
  EXPECT_EQ(way(topology, 0, 6), "gpu0 edge0 aggregation0 core1 aggregation2 edge3 gpu6");
  EXPECT_EQ(way(topology, 0, 7), "gpu0 edge0 aggregation1 core3 aggregation3 edge3 gpu7");
}

TEST(FatTreeRoutes, AShiftLoadsEveryLinkAtMostOnce) {
  for (const int ports : {4, 6, 8}) {
    const Topology topology = make_fat_tree(ports, plain_link);
    Router router(topology);
    for (std::size_t shift = 1; shift < topology.rank_count(); ++shift) {
      std::map<LinkId, int> load;
      for (std::size_t from = 0; from < topology.rank_count(); ++from)
        for (const LinkId id : route(router, from, (from + shift) % topology.rank_count()))
          ASSERT_EQ(++load[id], 1) << "shift " << shift << ", " << topology.name(id);
    }
  }
}

// ---- dragonfly

TEST(DragonflyRoutes, GoLocalGlobalLocal) {
  const std::vector<DragonflyShape> shapes{
      {.groups = 1, .routers_per_group = 4, .ranks_per_router = 2, .link = plain_link},
      {.groups = 2, .routers_per_group = 1, .ranks_per_router = 1, .link = plain_link},
      {.groups = 5, .routers_per_group = 4, .ranks_per_router = 1, .link = plain_link},
      {.groups = 9, .routers_per_group = 4, .ranks_per_router = 2, .link = plain_link},
      {.groups = 4, .routers_per_group = 6, .ranks_per_router = 1, .link = plain_link}};
  for (const DragonflyShape& shape : shapes) {
    const Topology topology = make_dragonfly(shape);
    const std::size_t ranks = topology.rank_count();
    const auto routers = static_cast<std::size_t>(shape.routers_per_group);
    const auto per_router = static_cast<std::size_t>(shape.ranks_per_router);
    const auto group_of = [&](NodeId router) { return (router.index() - ranks) / routers; };
    // The routers at the two ends of the cable from one group to another.
    std::map<std::pair<std::size_t, std::size_t>, std::pair<NodeId, NodeId>> cable;
    for (const Link& link : topology.links())
      if (link.from.index() >= ranks && link.to.index() >= ranks)
        cable[{group_of(link.from), group_of(link.to)}] = {link.from, link.to};

    for_all_pairs(topology, [&](Router& router, std::size_t from, std::size_t to) {
      const NodeId first(ranks + from / per_router);
      const NodeId last(ranks + to / per_router);
      std::string expected = "gpu" + std::to_string(from);
      std::vector<NodeId> nodes{first};
      if (group_of(first) != group_of(last)) {
        const auto [exit, entry] = cable.at({group_of(first), group_of(last)});
        nodes.insert(nodes.end(), {exit, entry});
      }
      nodes.push_back(last);
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      for (const NodeId node : nodes) expected += " " + topology.name(node);
      expected += " gpu" + std::to_string(to);
      EXPECT_EQ(way(topology, route(router, from, to)), expected);
    });
  }
}

TEST(DragonflyRoutes, AvoidASecondGlobalCableEvenIfItIsShorter) {
  const Topology topology = make_dragonfly(
      {.groups = 9, .routers_per_group = 4, .ranks_per_router = 1, .link = plain_link});
  std::size_t shorter = 0;
  for_all_pairs(topology, [&](Router& router, std::size_t from, std::size_t to) {
    const std::size_t known = route(router, from, to).size();
    const std::size_t found = searched(router, from, to).size();
    EXPECT_TRUE(known == found || known == found + 1) << known << " " << found;
    shorter += known - found;
  });
  EXPECT_GT(shorter, 0U);
}

TEST(DragonflyRoutes, AreUniqueWhenEveryRouterHasOneGlobalCable) {
  // groups = routers + 1: no router joins two other groups, so that there are no short cuts.
  expect_same_as_searched(make_dragonfly(
      {.groups = 5, .routers_per_group = 4, .ranks_per_router = 2, .link = plain_link}));
}

}  // namespace
}  // namespace collsim
