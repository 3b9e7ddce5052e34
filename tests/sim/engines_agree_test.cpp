// SPDX-License-Identifier: Apache-2.0
//
// The engines are three implementations of one definition.  Wherever two of them apply, everything
// they say must be equal to the picosecond: time, finish of every rank, messages, and the
// fingerprint of every step of every lane.
#include <cstdio>
#include <map>
#include <optional>
#include <string>

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
  for (std::uint64_t seed = 0;
       seed < 40'000 && dataflow_cases + symmetry_on_contended_links < 12'000; ++seed) {
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
  EXPECT_GE(dataflow_cases + symmetry_on_contended_links, 12'000);
  EXPECT_GE(symmetry_cases, 300);
  EXPECT_GE(symmetry_on_contended_links, 50);
  EXPECT_GT(by_algorithm.size(), 40U);
}

}  // namespace
}  // namespace collsim::testing
