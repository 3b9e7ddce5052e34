// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "sim/critical_path.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"
#include "topo/routes.hpp"

// Networks with several ways between two ranks.

namespace collsim::testing {
namespace {

// So many leaves of 16 ranks, each with one cable to each of 8 spines: 2:1.
Topology two_to_one(std::size_t leaves, Sharing sharing) {
  LinkParameters link{gigabytes_per_second(50)};
  link.sharing = sharing;
  TopologyBuilder builder;
  for (std::size_t i = 0; i < 16 * leaves; ++i) builder.add_node(NodeKind::gpu);
  std::vector<NodeId> leaf, spine;
  for (std::size_t i = 0; i < leaves; ++i)
    leaf.push_back(builder.add_node(NodeKind::network_switch));
  for (int i = 0; i < 8; ++i) spine.push_back(builder.add_node(NodeKind::network_switch));
  for (std::size_t i = 0; i < 16 * leaves; ++i) builder.connect(NodeId(i), leaf[i / 16], link);
  for (const NodeId low : leaf)
    for (const NodeId high : spine) builder.connect(low, high, link);
  return builder.build();
}

TEST(Ways, LeafSpineAsByHand) {
  // 16 x 48/64 x 64 MiB through eight cables of 50 GB/s.
  const double by_hand = 16 * 48.0 / 64 * 64 * 1048576 / 400e9;
  const Schedule schedule =
      make_schedule(byte_collective(Operation::all_to_all, 64, 64 << 20), {.name = "direct"});
  const auto seconds = [&](Routing routing, Sharing sharing) {
    return simulate(with_routing(two_to_one(4, sharing), routing, 0), schedule).time.seconds();
  };
  EXPECT_NEAR(seconds(Routing::spray, Sharing::fair), by_hand, 0.001 * by_hand);
  EXPECT_NEAR(seconds(Routing::adaptive, Sharing::fair), by_hand, 0.001 * by_hand);
  EXPECT_NEAR(seconds(Routing::spray, Sharing::exclusive), by_hand, 0.1 * by_hand);
  EXPECT_NEAR(seconds(Routing::adaptive, Sharing::exclusive), by_hand, 0.2 * by_hand);
  for (const Sharing sharing : {Sharing::fair, Sharing::exclusive})
    EXPECT_LT(seconds(Routing::hash, sharing), 1.4 * by_hand);
}

TEST(Ways, TheCriticalPathFollowsPartsOfMessages) {
  int several = 0;
  for (std::uint64_t seed = 0; seed < random_cases(600U) && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase::Odds odds{.largest = 7};
    odds.routed = true;
    RandomCase random(seed, odds);
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    if (!chooses_per_message(topology) || schedule.slots()) continue;
    SimulationOptions options;
    options.recording = Recording::full;
    Simulation simulation;
    try {
      simulation = simulate(topology, schedule, random.costs(), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::no_route) << error.what();
      continue;
    }
    Time at{};
    for (const auto& segment : critical_path(topology, schedule, simulation).segments) {
      EXPECT_EQ(segment.from, at);
      at = segment.to;
    }
    EXPECT_EQ(at, simulation.time);
    for (const Step& step : simulation.timeline->steps)
      for (const Crossing& crossing : simulation.timeline->crossings_of(step)) {
        EXPECT_LE(step.departed, crossing.ended);
        EXPECT_LE(crossing.ended, step.arrived);
      }
    ++several;
  }
  EXPECT_GT(several, random_cases(200));
}

// The routes of another topology of the same links.
class RoutesOf final : public EqualWays {
 public:
  explicit RoutesOf(const Topology& topology) : router_(topology) {}
  void append(Rank from, Rank to, std::uint64_t /*way*/,
              std::vector<LinkId>& route) const override {
    const auto links = router_.route(from, to);
    route.insert(route.end(), links.begin(), links.end());
  }

 private:
  mutable Router router_;
};

// All messages start at 0 and wait for nothing, routes are held fixed, links are fair: then a
// narrower cable makes nothing faster.
TEST(Ways, ANarrowerCableMakesNothingFaster) {
  std::mt19937_64 random(5);
  const auto up_to = [&](std::uint64_t limit) {
    return static_cast<std::size_t>(random() % limit);
  };
  int slower = 0;
  for (int network = 0; network < random_cases(1000); ++network) {
    const std::size_t ranks = 3 + up_to(4);
    TopologyBuilder builder;
    for (std::size_t i = 0; i < ranks; ++i) builder.add_node(NodeKind::gpu);
    const std::size_t switches = 2 + up_to(3);
    for (std::size_t i = 0; i < switches; ++i) builder.add_node(NodeKind::network_switch);
    const auto link = [&] {
      LinkParameters fair{gigabytes_per_second(static_cast<std::int64_t>(1 + up_to(4)))};
      fair.sharing = Sharing::fair;
      return fair;
    };
    const auto a_switch = [&] { return NodeId(ranks + up_to(switches)); };
    for (std::size_t i = 0; i < ranks; ++i) builder.connect(NodeId(i), a_switch(), link());
    for (std::size_t i = 1; i < switches; ++i)
      builder.connect(NodeId(ranks + i), NodeId(ranks + up_to(i)), link());
    for (std::size_t more = up_to(5); more > 0; --more) {
      const NodeId from = a_switch();
      const NodeId to = a_switch();
      if (from != to) builder.connect(from, to, link());
    }
    const Topology graph = builder.build();
    Topology::Parts parts = graph.parts();
    parts.ways = std::make_shared<RoutesOf>(graph);
    parts.routes_ignore_bandwidth = true;
    const Topology before(std::move(parts));
    const LinkId changed(up_to(before.links().size()));
    LinkParameters narrow = before.parameters(changed);
    narrow.bandwidth = Bandwidth(narrow.bandwidth.bytes_per_second() * 3 / 4);
    const std::vector<Topology::LinkChange> change{{changed, narrow}};
    const Schedule schedule =
        make_schedule(byte_collective(Operation::all_to_all, ranks,
                                      static_cast<std::int64_t>(ranks * (1 + up_to(100'000)))),
                      {.name = "direct"});
    const Simulation whole = simulate(before, schedule);
    const Simulation degraded = simulate(before.with_changed_links(change), schedule);
    ASSERT_GE(degraded.time, whole.time) << "network " << network;
    if (degraded.time > whole.time) ++slower;
  }
  EXPECT_GT(slower, random_cases(50));
}

}  // namespace
}  // namespace collsim::testing
