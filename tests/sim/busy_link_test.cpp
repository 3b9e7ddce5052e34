// SPDX-License-Identifier: Apache-2.0
#include "sim/busy_link.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

Time bound_of(const Topology& topology, const Schedule& schedule) {
  CausalChains chains(topology, schedule);
  return busiest_link(topology, schedule, chains).bound;
}

void expect_no_run_beats_it(const RandomCase::Odds& odds) {
  int telling = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const auto run = random_run(seed, odds);
    if (!run) continue;
    const Time bound = bound_of(run->topology, run->schedule);
    ASSERT_LE(bound, run->time) << "seed " << seed << ", " << run->schedule.algorithm();
    if (bound.seconds() > 0.7 * run->time.seconds()) ++telling;
  }
  EXPECT_GT(telling, 300);
}

TEST(BusyLink, NoRunBeatsIt) {
  expect_no_run_beats_it({});
}
TEST(BusyLink, NoRunBeatsItOnFairLinks) {
  expect_no_run_beats_it({.fair = 100});
}
TEST(BusyLink, NoRunBeatsItWhereLinksCostWhatTheSizeSays) {
  expect_no_run_beats_it({.segmented = 60});
}

// 10 pieces of 10 us + 2 us + 1 us over 7 hops: the middle one gets the first after 4 hops, is busy
// for 10 * 12 us, and the last goes 3 hops further.
TEST(BusyLink, IsExactForAPipeline) {
  const Topology chain = make_chain(8, link_of(ten, microseconds(2), microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::broadcast, 8, 1'000'000, "chain", 10);
  const Time time = simulate(chain, schedule).time;
  EXPECT_EQ(time, microseconds(7 * 13 + 9 * 12));
  EXPECT_NEAR(bound_of(chain, schedule).seconds(), time.seconds(), 1e-10);
}

// Nodes of a tree send more than once, and up and down follow each other.
TEST(BusyLink, TellsMoreThanTheLinkAloneOrTheChainAlone) {
  const LinkParameters link = link_of(ten, microseconds(2), microseconds(5), Sharing::fair);
  const Topology network = make_switch(32, link);
  const Schedule schedule = byte_schedule(Operation::all_reduce, 32, 10'000'000, "double-tree", 16);
  const Time time = simulate(network, schedule).time;
  EXPECT_GT(bound_of(network, schedule).seconds(), 0.85 * time.seconds());
}

// gpu0 sends its 2 x 1 MB over a fair cable; behind it one rank is far and ends there, the other is
// near and sends on.
TEST(BusyLink, CountsLatenciesOfExclusiveLinksBeforeTheFlow) {
  LinkParameters fair{Bandwidth(1'000'000'000)}, fast{Bandwidth(1'000'000'000'000)};
  fair.sharing = Sharing::fair;
  Topology network = make_switch(4, fast);
  std::vector<Topology::LinkChange> changes;
  for (std::size_t i = 0; i < network.links().size(); ++i) {
    const Link& link = network.link(LinkId(i));
    const std::size_t end = std::min(link.from.index(), link.to.index());
    LinkParameters changed = end == 0 ? fair : fast;
    if (end >= 2) changed.latency = microseconds(10);
    changes.push_back({LinkId(i), changed});
  }
  network = network.with_changed_links(changes);
  const Schedule schedule = byte_schedule(Operation::broadcast, 4, 1'000'000, "binomial");
  EXPECT_LE(bound_of(network, schedule), simulate(network, schedule).time);
}

// Of an engine that knows the busiest link; nothing: too slow.
std::optional<Time> time_within(Time at_most, const Topology& topology, const Schedule& schedule,
                                std::atomic<std::uint64_t>* executed = nullptr,
                                Engine engine = Engine::event) {
  CausalChains chains(topology, schedule);
  const BusyLink busy_link = busiest_link(topology, schedule, chains);
  SimulationOptions options;
  options.engine = engine;
  options.at_most = at_most;
  options.busy_link = &busy_link;
  options.executed = executed;
  try {
    return simulate(topology, schedule, {}, options).time;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::too_slow);
    return std::nullopt;
  }
}

TEST(BusyLink, ALimitEndsNoRunThatKeepsIt) {
  int ended = 0;
  for (const int fair : {0, 35, 100})
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const auto run = random_run(seed, {.fair = fair});
      if (!run) continue;
      ASSERT_EQ(time_within(run->time, run->topology, run->schedule), run->time) << "seed " << seed;
      if (!time_within(Time(run->time.ps() / 2), run->topology, run->schedule)) ++ended;
    }
  EXPECT_GT(ended, 400);
}

void expect_early_end(const Topology& network, const AlgorithmChoice& choice, Engine engine) {
  const Schedule schedule =
      make_schedule(byte_collective(Operation::all_reduce, 32, 100'000'000), choice);
  std::atomic<std::uint64_t> all = 0, executed = 0;
  const std::optional<Time> time = time_within(Time::never(), network, schedule, &all, engine);
  ASSERT_TRUE(time.has_value());
  const Time sooner(time->ps() / 10 * 9);
  EXPECT_EQ(time_within(sooner, network, schedule, &executed, engine), std::nullopt);
  EXPECT_LT(executed, all / 2);
}

// Up and down a tree every link is idle for a while: long before the limit it is certain that there
// is too much left.
TEST(BusyLink, ALimitEndsARunAsSoonAsWhatIsLeftTakesTooLong) {
  const LinkParameters link = link_of(ten, microseconds(2), microseconds(5));
  const Topology network = make_switch(32, link);
  AlgorithmChoice choice;
  choice.name = "double-tree";
  choice.chunks = 256;
  choice.slots = 8;
  expect_early_end(network, choice, Engine::event);

  // One rank of each of four nodes stands for 32; the link is that of one of the others.
  LinkParameters inside = link, between = link;
  inside.bandwidth = gigabytes_per_second(100);
  inside.sharing = between.sharing = Sharing::fair;
  NodesShape shape{.intra_link = inside, .inter_link = between};
  shape.nodes = 8;
  shape.gpus_per_node = shape.nics_per_node = choice.per_node = choice.channels = 4;
  expect_early_end(make_nodes(shape), choice, Engine::symmetry);
}

}  // namespace
}  // namespace collsim::testing
