// SPDX-License-Identifier: Apache-2.0
//
// Programs of several streams that compute, send messages and run collectives at the same time,
// drawn by lot: every engine against the reference simulator, the checker, and lower bounds.
#include "collectives/workload_bounds.hpp"
#include "collectives/workload_checker.hpp"
#include "collectives/workloads/workloads.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"
#include "tests/sim/random_program.hpp"
#include "tests/sim/reference_compare.hpp"

namespace collsim::testing {
namespace {

// 10,000 in five parts, which run at the same time.
class RandomSteps : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, RandomSteps, ::testing::Range(0, 5));

TEST_P(RandomSteps, OnEveryEngineAreWhatTheReferenceSays) {
  constexpr int cases = random_cases(2'000);
  constexpr std::uint64_t first_seed = 1'000'000;
  int by_dataflow = 0;
  int with_flows = 0;
  int near_bound = 0;  // of bytes: within twice of it
  for (int number = 0; number < cases && !HasFailure(); ++number) {
    const int seed = GetParam() * cases + number;
    RandomCase lot(static_cast<std::uint64_t>(seed) + first_seed, {.largest = 8});
    const Topology topology = lot.topology();
    const Workload workload = RandomProgram(lot, topology.rank_count()).workload();
    Case asked{topology, workload, lot.costs(), lot.options(topology.rank_count()).late};
    if (lot.chance(30)) asked.costs.slowdown = lot.up_to(CostModel::millionths);
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_FALSE(check(workload).fault);
    const Reference reference = compare(asked);
    EXPECT_FALSE(reference.deadlock);
    with_flows += reference.rate_changes > 0 ? 1 : 0;
    SimulationOptions options;
    options.late = asked.late;
    options.engine = Engine::event;
    const Simulation by_events = simulate(topology, workload, asked.costs, options);
    EXPECT_EQ(by_events.time, reference.time);
    options.engine = Engine::automatic;
    const Simulation by_any = simulate(topology, workload, asked.costs, options);
    EXPECT_EQ(by_any.time, by_events.time);
    EXPECT_EQ(by_any.fingerprint, by_events.fingerprint);
    const NetworkCuts cuts(topology, workload.group());
    const WorkloadBounds bounds = workload_totals(workload, cuts).bounds;
    EXPECT_LE(bounds.largest(), by_any.time);
    near_bound += 2 * bounds.bandwidth > by_any.time ? 1 : 0;
    by_dataflow += by_any.engine == Engine::dataflow ? 1 : 0;
  }
  EXPECT_GT(by_dataflow, random_cases(100));
  EXPECT_GT(with_flows, random_cases(100));
  EXPECT_GT(near_bound, random_cases(100));
}

// All ranks of these call in the same order, so with room for few collectives they end, too.
TEST(RandomSteps, WithRoomForFewCollectivesAreWhatTheReferenceSays) {
  constexpr int cases = random_cases(1'000);
  int take_longer = 0;
  for (int seed = 0; seed < cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase lot(static_cast<std::uint64_t>(seed), {.largest = 8});
    const Topology topology = lot.topology();
    const Workload workload = RandomProgram(lot, topology.rank_count()).workload();
    const int most = lot.chance(70) ? 1 : 2;
    const Workload in_turns = with_calls_at_a_time(workload, most);
    EXPECT_FALSE(check(workload, {.collectives_at_a_time = most}).fault);
    EXPECT_FALSE(check(in_turns).fault);
    const Case asked{topology, in_turns, lot.costs(), {}};
    const Reference reference = compare(asked);
    EXPECT_FALSE(reference.deadlock);
    take_longer += reference.time > simulate(topology, workload, asked.costs).time ? 1 : 0;
  }
  EXPECT_GT(take_longer, random_cases(20));
}

}  // namespace
}  // namespace collsim::testing
