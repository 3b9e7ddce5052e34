// SPDX-License-Identifier: Apache-2.0
#include "topo/routes.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

struct Graph {
  TopologyBuilder builder;
  std::vector<NodeId> gpus;
  explicit Graph(std::size_t ranks) {
    for (std::size_t i = 0; i < ranks; ++i) gpus.push_back(builder.add_node(NodeKind::gpu));
  }
  NodeId hub() { return builder.add_node(NodeKind::network_switch); }
};

TEST(Router, NoLinksToOneself) {
  Router router(make_ring(4, plain_link));
  EXPECT_TRUE(route(router, 2, 2).empty());
  EXPECT_TRUE(searched(router, 2, 2).empty());
}

TEST(Router, NoRouteNamesBothEnds) {
  Graph graph(4);
  graph.builder.connect(graph.gpus[0], graph.gpus[1], plain_link);
  graph.builder.connect(graph.gpus[2], graph.gpus[3], plain_link);
  Router router(graph.builder.build());
  EXPECT_EQ(route(router, 0, 1).size(), 1U);
  expect_error(ErrorCode::no_route, {"gpu1", "gpu2"}, [&] { (void)route(router, 1, 2); });
  EXPECT_EQ(route(router, 3, 2).size(), 1U) << "an error must not spoil the router";
}

TEST(Router, OneWayLinksLeadOneWay) {
  Graph graph(2);
  graph.builder.connect_one_way(graph.gpus[0], graph.gpus[1], plain_link);
  Router router(graph.builder.build());
  EXPECT_EQ(route(router, 0, 1), std::vector{LinkId(0)});
  expect_error(ErrorCode::no_route, {"gpu1 to gpu0"}, [&] { (void)route(router, 1, 0); });
}

TEST(Router, RanksRelayOnlyWhenThereIsNoOtherWay) {
  // gpu0 - gpu2 - gpu1 is short and wide; the way over three switches is neither.
  Graph graph(4);
  graph.builder.connect(graph.gpus[0], graph.gpus[2], link_of(100));
  graph.builder.connect(graph.gpus[2], graph.gpus[1], link_of(100));
  NodeId last = graph.gpus[0];
  for (int i = 0; i < 3; ++i) {
    const NodeId hub = graph.hub();
    graph.builder.connect(last, hub, link_of(1));
    last = hub;
  }
  graph.builder.connect(last, graph.gpus[1], link_of(1));
  graph.builder.connect(graph.gpus[3], graph.gpus[2], link_of(1));
  const Topology topology = graph.builder.build();
  EXPECT_EQ(way(topology, 0, 1), "gpu0 switch0 switch1 switch2 gpu1");
  EXPECT_EQ(way(topology, 1, 0), "gpu1 switch2 switch1 switch0 gpu0");
  EXPECT_EQ(way(topology, 3, 0), "gpu3 gpu2 gpu0");
  EXPECT_EQ(way(topology, 3, 1), "gpu3 gpu2 gpu1");
}

TEST(Router, FewerHopsBeforeMoreWidth) {
  Graph graph(2);
  const NodeId hub = graph.hub();
  graph.builder.connect(graph.gpus[0], hub, link_of(100));
  graph.builder.connect(hub, graph.gpus[1], link_of(100));
  graph.builder.connect(graph.gpus[0], graph.gpus[1], link_of(1));
  EXPECT_EQ(way(graph.builder.build(), 0, 1), "gpu0 gpu1");
}

TEST(Router, MoreWidthBeforeSmallerIds) {
  Graph graph(2);
  for (const std::int64_t speed : {10, 20, 5}) {
    const NodeId hub = graph.hub();
    graph.builder.connect(graph.gpus[0], hub, link_of(100));
    graph.builder.connect(hub, graph.gpus[1], link_of(speed));
  }
  EXPECT_EQ(way(graph.builder.build(), 0, 1), "gpu0 switch1 gpu1");
}

TEST(Router, SmallestIdsAmongEquals) {
  Graph graph(2);
  const NodeId first = graph.hub();
  const NodeId second = graph.hub();
  graph.builder.connect(second, graph.gpus[1], plain_link);
  graph.builder.connect(graph.gpus[0], second, plain_link);
  graph.builder.connect(graph.gpus[0], first, plain_link);
  graph.builder.connect(first, graph.gpus[1], plain_link);
  const Topology topology = graph.builder.build();
  const Topology by_ids = with_routing(topology, Routing::first, 0);
  EXPECT_EQ(way(by_ids, 0, 1), "gpu0 switch1 gpu1");
  EXPECT_EQ(way(by_ids, 1, 0), "gpu1 switch1 gpu0");
}

TEST(Router, ParallelLinksWidestThenSmallestId) {
  Graph graph(2);
  graph.builder.connect(graph.gpus[0], graph.gpus[1], link_of(5));
  graph.builder.connect(graph.gpus[0], graph.gpus[1], link_of(10));
  graph.builder.connect(graph.gpus[0], graph.gpus[1], link_of(10));
  Router router(graph.builder.build());
  EXPECT_EQ(route(router, 0, 1), std::vector{LinkId(2)});
  EXPECT_EQ(route(router, 1, 0), std::vector{LinkId(3)});
}

TEST(Router, ANarrowStartMakesLaterWidthIrrelevant) {
  // Behind the narrow port both ways on are equally good: the smaller id counts, not the width.
  Graph graph(3);
  const NodeId entry = graph.hub();
  const NodeId narrow = graph.hub();
  const NodeId wide = graph.hub();
  graph.builder.connect(entry, narrow, link_of(10));
  graph.builder.connect(entry, wide, link_of(50));
  graph.builder.connect(narrow, graph.gpus[1], link_of(10));
  graph.builder.connect(wide, graph.gpus[1], link_of(50));
  graph.builder.connect(graph.gpus[0], entry, link_of(10));
  graph.builder.connect(graph.gpus[2], entry, link_of(50));
  const Topology topology = graph.builder.build();
  EXPECT_EQ(way(topology, 0, 1), "gpu0 switch0 switch1 gpu1");
  EXPECT_EQ(way(topology, 2, 1), "gpu2 switch0 switch2 gpu1");
}

// The rules themselves, by trying every way without a repeated node.
class EveryWay {
 public:
  EveryWay(const Topology& topology, NodeId target) : topology_(topology), target_(target) {}

  // The equal ones, in order of their links' ids; the first is that of Routing::first.
  std::vector<std::vector<LinkId>> best(NodeId source) {
    best_.clear();
    for (const bool through_ranks : {false, true}) {
      through_ranks_ = through_ranks;
      visited_.assign(topology_.node_count(), false);
      path_.clear();
      extend(source);
      if (!best_.empty()) break;
    }
    std::sort(best_.begin(), best_.end());
    return best_;
  }

 private:
  void extend(NodeId node) {
    if (node == target_) {
      if (!best_.empty() && better(path_, best_.front())) best_.clear();
      if (best_.empty() || !better(best_.front(), path_)) best_.push_back(path_);
      return;
    }
    if (!path_.empty() && !through_ranks_ && topology_.kind(node) == NodeKind::gpu) return;
    visited_[node.index()] = true;
    for (std::size_t id = 0; id < topology_.links().size(); ++id) {
      const Link& link = topology_.link(LinkId(id));
      if (link.down || link.from != node || visited_[link.to.index()]) continue;
      path_.push_back(LinkId(id));
      extend(link.to);
      path_.pop_back();
    }
    visited_[node.index()] = false;
  }

  [[nodiscard]] bool better(const std::vector<LinkId>& a, const std::vector<LinkId>& b) const {
    if (a.size() != b.size()) return a.size() < b.size();
    return width(topology_, a) > width(topology_, b);
  }

  const Topology& topology_;
  NodeId target_;
  bool through_ranks_ = false;
  std::vector<bool> visited_;
  std::vector<LinkId> path_;
  std::vector<std::vector<LinkId>> best_;
};

Topology random_graph(std::mt19937& random) {
  const auto pick = [&](unsigned n) { return static_cast<std::size_t>(random() % n); };
  TopologyBuilder builder;
  const std::size_t nodes = 3 + pick(6);
  builder.add_node(NodeKind::gpu);
  for (std::size_t i = 1; i < nodes; ++i)
    builder.add_node(pick(2) == 0 ? NodeKind::gpu : NodeKind::network_switch);
  const std::size_t links = nodes + pick(10);
  for (std::size_t i = 0; i < links; ++i) {
    const NodeId from(pick(static_cast<unsigned>(nodes)));
    const NodeId to(pick(static_cast<unsigned>(nodes)));
    if (from != to)
      builder.connect_one_way(from, to, link_of(static_cast<std::int64_t>(1 + pick(3))));
  }
  return builder.build();
}

TEST(Router, FollowsItsRuleOnRandomGraphs) {
  std::mt19937 random(7);
  std::size_t long_routes = 0;
  std::size_t missing = 0;
  for (int graph = 0; graph < 1500; ++graph) {
    const Topology topology = with_routing(random_graph(random), Routing::first, 0);
    Router router(topology);
    for (std::size_t to = 0; to < topology.rank_count(); ++to)
      for (std::size_t from = 0; from < topology.rank_count(); ++from) {
        if (from == to) continue;
        EveryWay every(topology, topology.node_of(Rank(to)));
        const auto equal = every.best(topology.node_of(Rank(from)));
        if (equal.empty()) {
          ++missing;
          expect_error(ErrorCode::no_route, {}, [&] { (void)route(router, from, to); });
          continue;
        }
        ASSERT_EQ(route(router, from, to), equal.front())
            << "graph " << graph << ": " << way(topology, equal.front());
        if (equal.front().size() > 2) ++long_routes;
      }
  }
  EXPECT_GT(long_routes, 500U);
  EXPECT_GT(missing, 500U);
}

TEST(Router, ForgettingDoesNotChangeRoutes) {
  // More nodes times targets than are remembered at once: ranks relay, so each target is searched.
  constexpr std::size_t ranks = 2500;
  const Topology topology = make_ring(ranks, plain_link);
  Router router(topology);
  const std::vector<LinkId> before = searched(router, 0, 7);
  for (int turn = 0; turn < 2; ++turn)
    for (std::size_t from = 0; from < ranks; ++from) {
      const std::size_t to = (from + 2) % ranks;
      const std::vector<LinkId> found = searched(router, from, to);
      ASSERT_EQ(found.size(), 2U);
      ASSERT_TRUE(leads(topology, found, from, to));
    }
  EXPECT_EQ(searched(router, 0, 7), before);
}

TEST(Router, RefusesRanksThatDoNotExist) {
  Graph graph(4);
  Router search(graph.builder.build());
  Router shape(make_ring(4, plain_link));
  for (Router* router : {&search, &shape}) {
    expect_error(ErrorCode::invalid_argument, {"no rank 4", "there are 4"},
                 [&] { (void)route(*router, 0, 4); });
    expect_error(ErrorCode::invalid_argument, {"rank 9 to rank 1"},
                 [&] { (void)searched(*router, 9, 1); });
    expect_error(ErrorCode::invalid_argument, {"no rank 7"}, [&] { (void)route(*router, 7, 7); });
  }
}

TEST(Router, TheLastCableIsTheFirstThatIsWideEnough) {
  // gpu2 behind cables of 5, 20, 10, 20; gpu0 comes with 10, gpu1 with 40.
  Graph graph(3);
  const NodeId hub = graph.hub();
  std::vector<LinkId> last;
  for (const std::int64_t speed : {5, 20, 10, 20})
    last.push_back(graph.builder.connect(hub, graph.gpus[2], link_of(speed)));
  const LinkId narrow = graph.builder.connect(graph.gpus[0], hub, link_of(10));
  const LinkId wide = graph.builder.connect(graph.gpus[1], hub, link_of(40));
  Router router(graph.builder.build());
  EXPECT_EQ(route(router, 0, 2), (std::vector{narrow, last[1]}));
  EXPECT_EQ(route(router, 1, 2), (std::vector{wide, last[1]}));
  const auto of_lane = [&router](std::size_t from, std::size_t lane) {
    return router.route(Rank(from), Rank(2), Lane(lane)).back();
  };
  EXPECT_EQ(of_lane(1, 1), last[3]);
  EXPECT_EQ(of_lane(1, 2), last[1]);
}

TEST(Router, ATargetOfSeveralSwitchesTakesTheBestOfThem) {
  // Two rails; the way in of the second is wider for gpu1 only, and gpu2 has a NIC on the first.
  Graph graph(4);
  const NodeId first = graph.hub();
  const NodeId second = graph.hub();
  const NodeId nic = graph.builder.add_node(NodeKind::nic);
  for (const std::size_t rank : {0U, 1U, 3U}) {
    graph.builder.connect(graph.gpus[rank], first, link_of(10));
    graph.builder.connect(graph.gpus[rank], second, link_of(rank == 0 ? 10 : 20));
  }
  graph.builder.connect(first, nic, link_of(10));
  graph.builder.connect(nic, graph.gpus[2], link_of(10));
  const Topology topology = graph.builder.build();
  EXPECT_EQ(way(topology, 0, 1), "gpu0 switch0 gpu1");
  EXPECT_EQ(way(topology, 3, 1), "gpu3 switch1 gpu1");
  EXPECT_EQ(way(topology, 0, 2), "gpu0 switch0 nic0 gpu2");
  EXPECT_EQ(way(topology, 2, 3), "gpu2 nic0 switch0 gpu3");
}

// gpus, each with a NIC of its own, on random switches: many ranks behind few devices.
Topology random_fabric(std::mt19937& random) {
  const auto pick = [&](unsigned n) { return static_cast<std::size_t>(random() % n); };
  const auto cable = [&] { return link_of(static_cast<std::int64_t>(1 + pick(3))); };
  TopologyBuilder builder;
  std::vector<NodeId> switches;
  for (std::size_t i = 0; i < 3; ++i)
    switches.push_back(builder.add_node(NodeKind::network_switch));
  for (int rank = 0; rank < 3; ++rank) {
    NodeId end = builder.add_node(NodeKind::gpu);
    if (pick(3) == 0) builder.connect(end, switches[pick(3)], cable());
    for (std::size_t nics = pick(3); nics > 0; --nics) {
      const NodeId nic = builder.add_node(NodeKind::nic);
      for (std::size_t cables = 1 + pick(2); cables > 0; --cables)
        builder.connect(nic, end, cable());
      end = nic;
    }
    for (std::size_t cables = 1 + pick(3); cables > 0; --cables)
      builder.connect(switches[pick(3)], end, cable());
  }
  builder.connect(switches[0], switches[1], cable());
  builder.connect(switches[2], switches[1], cable());
  if (pick(2) == 0) builder.connect_one_way(switches[2], switches[0], cable());
  return builder.build();
}

TEST(Router, FollowsItsRuleOnRandomFabrics) {
  std::mt19937 random(11);
  for (int graph = 0; graph < 300; ++graph) {
    const Topology topology = with_routing(random_fabric(random), Routing::first, 0);
    Router router(topology);
    for (std::size_t to = 0; to < topology.rank_count(); ++to)
      for (std::size_t from = 0; from < topology.rank_count(); ++from) {
        if (from == to) continue;
        EveryWay every(topology, topology.node_of(Rank(to)));
        const auto equal = every.best(topology.node_of(Rank(from)));
        ASSERT_FALSE(equal.empty());
        ASSERT_EQ(route(router, from, to), equal.front())
            << "graph " << graph << ": " << way(topology, equal.front());
      }
  }
}

// The same with a few links down.
Topology with_losses(const Topology& whole, std::mt19937& random) {
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < whole.links().size(); ++id) {
    if (random() % 8 != 0) continue;
    LinkParameters parameters = whole.parameters(LinkId(id));
    parameters.down = true;
    changes.push_back({LinkId(id), parameters});
  }
  return whole.with_changed_links(changes);
}

TEST(Router, FindsAllEqualWaysOfRandomGraphs) {
  std::mt19937 random(13);
  std::size_t several = 0;
  for (int graph = 0; graph < 1000; ++graph) {
    const bool fabric = graph % 2 == 0;
    const Topology topology =
        with_losses(fabric ? random_fabric(random) : random_graph(random), random);
    Router router(topology);
    for (std::size_t to = 0; to < topology.rank_count(); ++to)
      for (std::size_t from = 0; from < topology.rank_count(); ++from) {
        if (from == to) continue;
        EveryWay every(topology, topology.node_of(Rank(to)));
        const auto expected = every.best(topology.node_of(Rank(from)));
        if (expected.empty() || expected.size() > Router::most_choices) continue;
        auto found = router.choices(Rank(from), Rank(to)).ways;
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, expected) << "graph " << graph << ": " << from << " to " << to;
        EXPECT_TRUE(std::binary_search(found.begin(), found.end(), route(router, from, to)));
        if (expected.size() > 1) ++several;
      }
  }
  EXPECT_GT(several, 300U);
}

TEST(Router, LatencyAndOverheadDoNotMatter) {
  const Topology before = make_torus({4, 4}, plain_link);
  LinkParameters late = plain_link;
  late.latency = milliseconds(1);
  late.startup = milliseconds(1);
  Router old_router(before);
  const std::vector<LinkId> expected = route(old_router, 0, 10);
  const std::vector<Topology::LinkChange> change{{.link = expected[0], .parameters = late}};
  Router new_router(before.with_changed_links(change));
  EXPECT_EQ(route(new_router, 0, 10), expected);
}

TEST(Router, AvoidsASlowLinkWhereAnEquallyShortWayExists) {
  for (const Topology& before : {make_ring(6, plain_link), make_hypercube(8, plain_link)}) {
    Router old_router(before);
    const std::size_t across = before.shape() == "ring" ? 3 : 5;
    const std::vector<LinkId> expected = route(old_router, 0, across);
    const std::vector<Topology::LinkChange> change{{.link = expected[0], .parameters = link_of(1)}};
    const Topology after = before.with_changed_links(change);
    Router new_router(after);
    const std::vector<LinkId> found = route(new_router, 0, across);
    EXPECT_EQ(found.size(), expected.size()) << before.shape();
    EXPECT_EQ(width(after, found), plain_link.bandwidth.bytes_per_second()) << before.shape();
    EXPECT_TRUE(leads(after, found, 0, across));
  }
}

TEST(Router, LanesSpreadOverParallelCables) {
  TopologyBuilder builder;
  for (int rank = 0; rank < 2; ++rank) builder.add_node(NodeKind::gpu);
  for (const std::int64_t width : {10, 10, 4, 10})
    builder.connect(NodeId(0), NodeId(1), link_of(width));
  Router router(builder.build());
  const auto taken = [&router](std::size_t lane) {
    return router.route(Rank(0), Rank(1), Lane(lane)).front();
  };
  EXPECT_EQ(taken(0), LinkId(0));
  EXPECT_EQ(taken(1), LinkId(2));
  EXPECT_EQ(taken(2), LinkId(6)) << "the narrow cable is not used while a wide one is there";
  EXPECT_EQ(taken(3), LinkId(0));
}

TEST(Router, FixedRoutesStayWhateverTheBandwidth) {
  const NodesShape nodes{.nodes = 2,
                         .gpus_per_node = 4,
                         .nics_per_node = 2,
                         .intra = NodesShape::Intra::network_switch,
                         .intra_dims = {},
                         .intra_link = plain_link,
                         .inter_link = link_of(100)};
  for (const Topology& before :
       {make_chain(8, plain_link), make_switch(8, plain_link), make_fully_connected(8, plain_link),
        make_torus({4, 4}, plain_link), make_mesh({3, 3}, plain_link), make_fat_tree(4, plain_link),
        make_nodes(nodes),
        make_dragonfly(
            {.groups = 4, .routers_per_group = 2, .ranks_per_router = 1, .link = plain_link})}) {
    Router old_router(before);
    for (std::size_t slow = 0; slow < before.links().size(); ++slow) {
      const std::vector<Topology::LinkChange> change{
          {.link = LinkId(slow), .parameters = link_of(1)}};
      Router new_router(before.with_changed_links(change));
      for (std::size_t to = 1; to < 8; ++to)
        EXPECT_EQ(route(new_router, 0, to), route(old_router, 0, to)) << before.shape();
    }
  }
}

}  // namespace
}  // namespace collsim
