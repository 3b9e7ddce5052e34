// SPDX-License-Identifier: Apache-2.0
//
// The engines are three implementations of one definition.  Wherever two of them apply, everything
// they say must be equal to the picosecond: time, finish of every rank, messages, and the
// fingerprint of every step of every lane.
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "sim/critical_path.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

// What an engine answers: a result, "does not apply", or an error, which must then be the same for
// all.
struct Answer {
  std::optional<Simulation> result;
  std::optional<ErrorCode> error;
};

Answer ask(Engine engine, const Topology& topology, const Schedule& schedule,
           const CostModel& costs, SimulationOptions options) {
  options.engine = engine;
  try {
    return {simulate(topology, schedule, costs, options), {}};
  } catch (const Error& error) {
    return {{}, error.code()};
  }
}

void expect_equal(const Simulation& a, const Simulation& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.messages, b.messages);
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.wire_bytes, b.wire_bytes);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
}

TEST(EnginesAgree, OnTwelveThousandRandomCases) {
  int dataflow_cases = 0;
  int symmetry_cases = 0;
  int symmetry_on_contended_links = 0;
  int deadlocks = 0;
  std::map<std::string, int> by_algorithm;
  constexpr int wanted = random_cases(12'000);
  for (std::uint64_t seed = 0;
       seed < 40'000 && dataflow_cases + symmetry_on_contended_links < wanted; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    const CostModel costs = random.costs();
    const SimulationOptions options = random.options(topology.rank_count());
    SCOPED_TRACE(std::string(to_string(schedule.collective().operation)) + " " +
                 schedule.algorithm() + " on " + topology.shape());
    const Answer event = ask(Engine::event, topology, schedule, costs, options);
    const Answer dataflow = ask(Engine::dataflow, topology, schedule, costs, options);
    const Answer symmetry = ask(Engine::symmetry, topology, schedule, costs, options);
    if (event.error) {
      EXPECT_EQ(*event.error, ErrorCode::deadlock);
      EXPECT_TRUE(dataflow.error == event.error ||
                  dataflow.error == ErrorCode::engine_not_applicable);
      ++deadlocks;
      continue;
    }
    if (dataflow.result) {
      expect_equal(*event.result, *dataflow.result);
      ++dataflow_cases;
      ++by_algorithm[std::string(to_string(schedule.collective().operation)) + " " +
                     schedule.algorithm()];
    }
    if (symmetry.result) {
      expect_equal(*event.result, *symmetry.result);
      ++symmetry_cases;
      if (!dataflow.result) ++symmetry_on_contended_links;
    }
    if (::testing::Test::HasFailure()) return;
  }
  std::printf(
      "compared with the event engine: %d dataflow, %d symmetry (%d of them where dataflow does "
      "not apply); "
      "%d deadlocks for lack of slots, seen by all\n",
      dataflow_cases, symmetry_cases, symmetry_on_contended_links, deadlocks);
  EXPECT_GE(dataflow_cases + symmetry_on_contended_links, wanted);
  EXPECT_GE(symmetry_cases, random_cases(300));
  EXPECT_GE(symmetry_on_contended_links, random_cases(50));
  EXPECT_GT(by_algorithm.size(), 40U);
}

// Of lanes of one rank that ask for a queue at the same instant the first goes first, in one rank
// that stands for all, too.
TEST(EnginesAgree, WhereLanesOfARankShareALink) {
  int on_queues = 0;
  for (std::uint64_t seed = 0; seed < random_cases(6000U) && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed, {.fair = 0, .half_duplex = 0, .differing = 0, .round = true});
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    const CostModel costs = random.costs();
    const Answer symmetry = ask(Engine::symmetry, topology, schedule, costs, {});
    if (!symmetry.result || ask(Engine::dataflow, topology, schedule, costs, {}).result) continue;
    expect_equal(*ask(Engine::event, topology, schedule, costs, {}).result, *symmetry.result);
    ++on_queues;
  }
  EXPECT_GE(on_queues, random_cases(60));
}

// At one instant rounds decide, and engines without a clock must not guess.
TEST(EnginesAgree, WhateverTheRouting) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < random_cases(6000U) && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase::Odds odds;
    odds.routed = true;
    RandomCase random(seed, odds);
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    const CostModel costs = random.costs();
    const SimulationOptions options = random.options(topology.rank_count());
    const Answer event = ask(Engine::event, topology, schedule, costs, options);
    if (!event.result) continue;
    for (const Engine engine : {Engine::dataflow, Engine::symmetry}) {
      const Answer other = ask(engine, topology, schedule, costs, options);
      if (!other.result) continue;
      EXPECT_FALSE(chooses_per_message(topology));
      expect_equal(*event.result, *other.result);
      ++compared;
    }
  }
  EXPECT_GT(compared, random_cases(400));
}

// Whose critical paths last until the end, too.
TEST(EnginesAgree, WhereLinksCostWhatTheSizeOfAMessageSays) {
  int dataflow_cases = 0, symmetry_cases = 0;
  for (std::uint64_t seed = 0; seed < random_cases(4'000U) && !::testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed, {.fair = 10, .differing = 30, .segmented = 80});
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    const CostModel costs = random.costs();
    SimulationOptions options = random.options(topology.rank_count());
    const Answer event = ask(Engine::event, topology, schedule, costs, options);
    if (!event.result) continue;
    const Answer dataflow = ask(Engine::dataflow, topology, schedule, costs, options);
    const Answer symmetry = ask(Engine::symmetry, topology, schedule, costs, options);
    if (dataflow.result) expect_equal(*event.result, *dataflow.result);
    if (symmetry.result) expect_equal(*event.result, *symmetry.result);
    dataflow_cases += dataflow.result ? 1 : 0;
    symmetry_cases += symmetry.result ? 1 : 0;
    EXPECT_GE(event.result->time, event.result->bounds.largest());
    options.recording = Recording::full;
    const Simulation recorded = simulate(topology, schedule, costs, options);
    Time until{};
    for (const auto& segment : critical_path(topology, schedule, recorded).segments) {
      EXPECT_EQ(segment.from, until);
      until = segment.to;
    }
    EXPECT_EQ(until, recorded.time);
  }
  EXPECT_GE(dataflow_cases, random_cases(500));
  EXPECT_GE(symmetry_cases, random_cases(20));
}

TEST(EnginesAgree, WhereMuchHappensAtOneInstant) {
  int dataflow_cases = 0;
  for (std::uint64_t seed = 0; seed < random_cases(6'000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed, {.largest = 8, .fair = 10, .half_duplex = 0, .round = true});
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    const Answer event = ask(Engine::event, topology, schedule, {}, {});
    const Answer dataflow = ask(Engine::dataflow, topology, schedule, {}, {});
    const Answer symmetry = ask(Engine::symmetry, topology, schedule, {}, {});
    if (event.error) continue;
    if (dataflow.result) expect_equal(*event.result, *dataflow.result);
    if (symmetry.result) expect_equal(*event.result, *symmetry.result);
    dataflow_cases += dataflow.result ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(dataflow_cases, random_cases(1'000));
}

// Rank 0's first message, an empty one, and its second come to the link from `near` to `far` at one
// instant, over two and three links before: the second one in an earlier round.
TEST(EnginesAgree, AMessageThatTakesNoTimeMayBeOvertaken) {
  TopologyBuilder builder;
  std::vector<NodeId> gpu;
  for (int i = 0; i < 3; ++i) gpu.push_back(builder.add_node(NodeKind::gpu));
  const auto hub = [&] { return builder.add_node(NodeKind::network_switch); };
  const NodeId one = hub(), two = hub(), near = hub(), far = hub();
  const auto join = [&](NodeId from, NodeId to, std::int64_t ns) {
    return builder.connect(from, to, link_of(gigabytes_per_second(1), {}, nanoseconds(ns)));
  };
  const LinkId shared = join(near, far, 0);
  const std::vector<LinkId> to_1{join(gpu[0], one, 5), join(one, near, 0), shared,
                                 join(far, gpu[1], 0)};
  const std::vector<LinkId> to_2{join(gpu[0], two, 0), join(two, near, 5), shared,
                                 join(far, gpu[2], 0)};
  Topology::Parts parts = builder.build().parts();
  struct TwoWays : EqualWays {
    std::vector<LinkId> to_1, to_2;
    void append(Rank, Rank to, std::uint64_t, std::vector<LinkId>& route) const override {
      route = to == Rank(1) ? to_1 : to_2;
    }
  };
  const auto ways = std::make_shared<TwoWays>();
  ways->to_1 = to_1;
  ways->to_2 = to_2;
  parts.ways = ways;
  const Span nothing{Buffer::output, 0, 0}, data{Buffer::output, 0, 1000};
  const Schedule schedule = handmade(3, [=](int position, Lane lane) -> Program {
    if (position == 0) {
      co_yield send({Rank(1), lane}, nothing);
      co_yield send({Rank(2), lane}, data);
    }
    if (position == 1) co_yield receive({Rank(0), lane}, nothing);
    if (position == 2) co_yield receive({Rank(0), lane}, data);
  });
  const Topology topology(std::move(parts));
  const Simulation simulation = simulate(topology, schedule);
  EXPECT_EQ(simulation.finished[1], nanoseconds(1005));
  expect_equal(simulation, simulate(topology, schedule, {}, {.engine = Engine::event}));
}

}  // namespace
}  // namespace collsim::testing
