// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "tests/topo/testing.hpp"

// Which of several equal ways messages take.

namespace collsim {
namespace {

// A leaf for every two ranks, joined to all spines by so many cables.
Topology leaf_spine(std::size_t leaves, std::size_t spines, std::size_t cables = 1,
                    const std::string& prefix = "") {
  TopologyBuilder builder;
  for (std::size_t i = 0; i < 2 * leaves; ++i)
    builder.add_node(NodeKind::gpu, prefix.empty() ? "" : prefix + std::to_string(99 - i));
  std::vector<NodeId> top;
  for (std::size_t i = 0; i < spines; ++i)
    top.push_back(builder.add_node(NodeKind::network_switch));
  for (std::size_t i = 0; i < leaves; ++i) {
    const NodeId leaf = builder.add_node(NodeKind::network_switch);
    builder.connect(NodeId(2 * i), leaf, link_of(25));
    builder.connect(NodeId(2 * i + 1), leaf, link_of(25));
    for (const NodeId spine : top)
      for (std::size_t n = 0; n < cables; ++n) builder.connect(leaf, spine, link_of(50));
  }
  return builder.build();
}

Topology with_down(const Topology& topology, const std::vector<std::pair<NodeId, NodeId>>& cables) {
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.link(LinkId(id));
    for (const auto& [a, b] : cables) {
      if (!(link.from == a && link.to == b) && !(link.from == b && link.to == a)) continue;
      LinkParameters parameters = topology.parameters(LinkId(id));
      parameters.down = true;
      changes.push_back({LinkId(id), parameters});
    }
  }
  return topology.with_changed_links(changes);
}

TEST(Routing, HashTakesEveryWayEquallyOften) {
  const Topology network = leaf_spine(2, 4, 2);
  std::map<std::vector<LinkId>, int> taken;
  for (std::uint64_t seed = 0; seed < 16000; ++seed) {
    Router router(with_routing(network, Routing::hash, seed));
    ++taken[route(router, 0, 3)];
  }
  ASSERT_EQ(taken.size(), 16U) << "four spines, two cables up, two down";
  for (const auto& [way, times] : taken) EXPECT_NEAR(times, 1000, 150);
}

TEST(Routing, HashIsOfRanksAndSeedNotOfNames) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Router plain(with_routing(leaf_spine(3, 8), Routing::hash, seed));
    Router renamed(with_routing(leaf_spine(3, 8, 1, "node"), Routing::hash, seed));
    for (std::size_t to = 1; to < 6; ++to) EXPECT_EQ(route(plain, 0, to), route(renamed, 0, to));
  }
}

TEST(Routing, GraphsHash) {
  Router usual(leaf_spine(3, 8));
  Router hash(with_routing(leaf_spine(3, 8), Routing::hash, 0));
  std::vector<std::vector<LinkId>> ways;
  for (std::size_t to = 2; to < 6; ++to) {
    EXPECT_EQ(route(usual, 0, to), route(hash, 0, to));
    ways.push_back(route(usual, 0, to));
  }
  const auto spine = [&](const auto& way) { return way[1]; };
  EXPECT_FALSE(std::all_of(ways.begin(), ways.end(),
                           [&](const auto& way) { return spine(way) == spine(ways[0]); }));
}

TEST(Routing, LanesTakeOneCableAfterTheOtherOfAnyWay) {
  Router router(leaf_spine(2, 4, 3));
  std::vector<LinkId> up;
  for (std::size_t lane = 0; lane < 3; ++lane)
    up.push_back(router.route(Rank(0), Rank(2), Lane(lane))[1]);
  std::sort(up.begin(), up.end());
  EXPECT_EQ(std::unique(up.begin(), up.end()) - up.begin(), 3);
}

TEST(Routing, ChoicesAreAtMost64ChosenEvenly) {
  Router few(leaf_spine(2, 8));
  EXPECT_EQ(few.choices(Rank(0), Rank(2)).ways.size(), 8U);
  EXPECT_EQ(few.choices(Rank(0), Rank(1)).ways.size(), 1U) << "the same leaf";
  Router many(leaf_spine(2, 128));
  std::vector<std::size_t> spines;
  for (const auto& way : many.choices(Rank(0), Rank(2)).ways)
    spines.push_back((way[1].index() - 4) / 2);
  ASSERT_EQ(spines.size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(spines[i], 2 * i);
}

// Two ways and three detours, all of one link each.
class TestWays final : public EqualWays {
 public:
  [[nodiscard]] std::uint64_t count(Rank, Rank) const override { return 2; }
  [[nodiscard]] std::uint64_t usual(Rank, Rank) const override { return 1; }
  void append(Rank, Rank, std::uint64_t way, std::vector<LinkId>& route) const override {
    route.emplace_back(2 * way);
  }
  [[nodiscard]] std::uint64_t detours(Rank, Rank) const override { return 3; }
  void append_detour(Rank, Rank, std::uint64_t detour, std::vector<LinkId>& route) const override {
    route.emplace_back(2 * (2 + detour));
  }
};

Topology with_ways(const std::vector<bool>& down) {
  TopologyBuilder builder;
  builder.add_node(NodeKind::gpu);
  builder.add_node(NodeKind::gpu);
  for (const bool is_down : down) {
    LinkParameters link = plain_link;
    link.down = is_down;
    builder.connect(NodeId(0), NodeId(1), link);
  }
  Topology::Parts parts = builder.build().parts();
  parts.ways = std::make_shared<TestWays>();
  return Topology(std::move(parts));
}

std::size_t cable_taken(const Topology& topology, Routing routing, std::uint64_t seed = 0) {
  Router router(with_routing(topology, routing, seed));
  return route(router, 0, 1).at(0).index() / 2;
}

TEST(Routing, ShapesAreAskedForTheWaysTheyNumber) {
  const Topology all = with_ways({false, false, false, false, false});
  EXPECT_EQ(cable_taken(all, Routing::usual), 1U);
  EXPECT_EQ(cable_taken(all, Routing::d_mod_k), 1U);
  EXPECT_EQ(cable_taken(all, Routing::dimension_order), 1U);
  EXPECT_EQ(cable_taken(all, Routing::first), 0U);
  std::map<std::size_t, int> hashed, detoured;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    ++hashed[cable_taken(all, Routing::hash, seed)];
    ++detoured[cable_taken(all, Routing::valiant, seed)];
  }
  EXPECT_EQ(hashed.size(), 2U);
  EXPECT_EQ(detoured.size(), 3U);
  EXPECT_EQ(detoured.begin()->first, 2U);
  Router ugal(with_routing(all, Routing::ugal, 0));
  EXPECT_EQ(ugal.choices(Rank(0), Rank(1)).ways.size(), 5U);
  EXPECT_EQ(ugal.choices(Rank(0), Rank(1)).detours, 3U);
}

TEST(Routing, AnotherWayReplacesOneThatIsDown) {
  EXPECT_EQ(cable_taken(with_ways({false, true, false, false, false}), Routing::usual), 0U);
  EXPECT_EQ(cable_taken(with_ways({true, true, false, true, false}), Routing::usual), 2U)
      << "none is left: searched";
  const Topology one_detour = with_ways({false, false, true, false, true});
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EQ(cable_taken(one_detour, Routing::valiant, seed), 3U);
  EXPECT_EQ(cable_taken(with_ways({false, false, true, true, true}), Routing::valiant), 1U);
}

// How many messages of an exchange among all cross each link between leaves and the other spines.
std::map<LinkId, int> exchange_without(const std::string& spine, Routing routing) {
  const Topology tree =
      make_tree({.ends = 64, .ends_per_leaf = 16, .spines = 8, .links = {plain_link, plain_link}});
  std::vector<std::pair<NodeId, NodeId>> lost;
  for (std::size_t leaf = 0; leaf < 4 && !spine.empty(); ++leaf)
    lost.emplace_back(*tree.find_node("leaf" + std::to_string(leaf)), *tree.find_node(spine));
  Router router(with_down(with_routing(tree, routing, 0), lost));
  std::map<LinkId, int> messages;
  for (std::size_t from = 0; from < 64; ++from)
    for (std::size_t to = 0; to < 64; ++to)
      if (from / 16 != to / 16)
        for (std::size_t hop = 1; hop <= 2; ++hop) ++messages[route(router, from, to)[hop]];
  return messages;
}

TEST(Routing, WhatIsLeftOfEqualWaysSharesTheLoadOfOneThatIsDown) {
  const auto most = [](const std::map<LinkId, int>& messages) {
    return std::max_element(messages.begin(), messages.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->second;
  };
  // 16 sources to 48 targets over 8 spines, or the 7 others, which is 110 at best.
  EXPECT_EQ(most(exchange_without("", Routing::usual)), 96);
  const auto usual = exchange_without("spine3", Routing::usual);
  EXPECT_EQ(usual.size(), 2U * 4 * 7);
  EXPECT_LE(most(usual), 113);
  // By chance some have more than their share with a hash, but none that of two.
  EXPECT_LE(most(exchange_without("spine3", Routing::hash)),
            most(exchange_without("", Routing::hash)) * 5 / 4);
}

TEST(Routing, IdleSourcesBeginWithDifferentWays) {
  const Topology tree =
      make_tree({.ends = 64, .ends_per_leaf = 16, .spines = 8, .links = {plain_link, plain_link}});
  const auto first_choice = [&](Routing routing, std::size_t from) {
    Router router(with_routing(tree, routing, 0));
    return router.choices(Rank(from), Rank(63)).ways.front()[1].index() / 2 % 8;
  };
  for (std::size_t from = 0; from < 8; ++from) {
    EXPECT_EQ(first_choice(Routing::adaptive, from), from);
    EXPECT_EQ(first_choice(Routing::spray, from), 0U);
  }
}

TEST(Routing, ShapesGoAroundWhatIsDown) {
  const Topology tree = make_fat_tree(4, plain_link);
  const Topology ring = make_ring(6, plain_link);
  for (const Topology& whole : {tree, ring}) {
    Router before(whole);
    const std::vector<LinkId> usual = route(before, 0, 2);
    const Link& lost = whole.link(usual[whole.rank_count() == 6 ? 0 : 1]);
    const Topology broken = with_down(whole, {{lost.from, lost.to}});
    Router after(broken);
    const std::vector<LinkId> found = route(after, 0, 2);
    EXPECT_TRUE(leads(broken, found, 0, 2));
    EXPECT_EQ(found.size(), usual.size() + (whole.rank_count() == 6 ? 2 : 0)) << whole.shape();
    for (const LinkId id : found) EXPECT_FALSE(broken.link(id).down);
  }
}

TEST(Routing, SaysWhoIsCutOff) {
  const Topology chain = make_chain(5, plain_link);
  const auto expect_cut = [&](std::size_t a, const std::string& text) {
    Router router(with_down(chain, {{NodeId(a), NodeId(a + 1)}}));
    expect_error(ErrorCode::no_route, {text}, [&] { (void)route(router, 0, 4); });
  };
  expect_cut(3, "gpu4 is cut off from gpu0-gpu3: every way crosses a link that is down");
  expect_cut(0, "gpu0 is cut off from gpu1-gpu4: every way crosses a link that is down");
  expect_cut(1, "gpu0-gpu1 are cut off from gpu2-gpu4: every way crosses a link that is down");
  // All behind a switch that is down, not only the first of them.
  const Topology tree = leaf_spine(3, 2);
  const NodeId leaf = tree.link(tree.links_between(NodeId(0), NodeId(8)).front()).to;
  std::vector<std::pair<NodeId, NodeId>> lost;
  for (const std::size_t end : {0, 1, 6, 7}) lost.emplace_back(NodeId(end), leaf);
  Router router(with_down(tree, lost));
  expect_error(ErrorCode::no_route, {"gpu0-gpu1 are cut off from gpu2-gpu5: every way crosses"},
               [&] { (void)route(router, 0, 1); });
}

TEST(Routing, DimensionOrderStandsWhateverTheBandwidth) {
  const Topology torus = with_routing(make_torus({4, 4}, plain_link), Routing::dimension_order, 0);
  Router before(torus);
  const std::vector<LinkId> usual = route(before, 0, 5);
  const std::vector<Topology::LinkChange> slow{{usual[0], link_of(1)}};
  Router after(torus.with_changed_links(slow));
  EXPECT_EQ(route(after, 0, 5), usual);
}

}  // namespace
}  // namespace collsim
