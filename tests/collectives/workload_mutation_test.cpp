// SPDX-License-Identifier: Apache-2.0
//
// The negative space of training steps: generators' steps and random ones, broken in every way we
// can think of.  An executor that runs them on data, at moments drawn by lot, is the judge.
// What the checker passes gives the same data at all of them, and what it refuses goes wrong; but
// of one race in ten no moment shows it, because only what another rank does in between orders
// the two, or because what they disagree about is never looked at.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "collectives/workload_checker.hpp"
#include "tests/collectives/broken_steps.hpp"
#include "tests/collectives/workload_execution.hpp"

namespace collsim::test_workloads {
namespace {

// --- the judge -----------------------------------------------------------------------------------

struct StepTally {
  int mutants = 0, refused = 0, races = 0;
  int races_unseen = 0;  // that the executor never saw
};
using StepTallies = std::map<std::string, StepTally>;

bool has_race(const WorkloadReport& report) {
  return report.fault && report.fault->kind == WorkloadFault::Kind::race;
}

// Whether lots of timings show more than one outcome.
bool shows_race(const ListedWorkload& step, int timings) {
  std::set<std::uint64_t> seen;
  for (int seed = 0; seed < timings && seen.size() < 2; ++seed) {
    const StepExecution run = execute_step(step, {.seed = static_cast<std::uint64_t>(seed)});
    EXPECT_EQ(run.problem, "");
    seen.insert(run.seen);
  }
  return seen.size() > 1;
}

void judge_data(const ListedWorkload& step, const WorkloadReport& report, int timings) {
  const bool wrong = report.fault.has_value();
  std::set<std::uint64_t> seen;
  for (int seed = 0; seed < timings; ++seed) {
    const StepExecution run = execute_step(
        step, {.seed = static_cast<std::uint64_t>(seed), .all_must_come = seed % 2 == 0});
    EXPECT_EQ(run.problem, "");
    EXPECT_EQ(!run.broken_claim.empty(), wrong) << run.broken_claim;
    seen.insert(run.seen);
  }
  EXPECT_EQ(seen.size(), 1U) << "it depends on the timing";
}

// Checker and executor agree on what hangs under a stricter launch.
void judge_launch(const ListedWorkload& step, const Workload& workload) {
  const bool rendezvous = !check(workload, {Sends::rendezvous}).fault;
  EXPECT_EQ(execute_step(step, {.all_must_come = true, .rendezvous = true}).problem.empty(),
            rendezvous);
  const bool one_at_a_time = !check(workload, {.collectives_at_a_time = 1}).fault;
  EXPECT_EQ(execute_step(step, {.all_must_come = true, .collectives_at_a_time = 1}).problem.empty(),
            one_at_a_time);
}

void judge_step(const ListedWorkload& step, StepTally& tally, int timings) {
  const Workload workload = step.workload();
  const WorkloadReport report = check(workload);
  ++tally.mutants;
  tally.refused += report.fault ? 1 : 0;
  if (has_race(report)) {
    ++tally.races;
    tally.races_unseen += shows_race(step, 10 * timings) ? 0 : 1;
  } else if (!report.fault || concerns_data_only(*report.fault)) {
    judge_data(step, report, timings);
    judge_launch(step, workload);
  } else {
    EXPECT_NE(execute_step(step, {.all_must_come = true}).problem, "")
        << to_text(*report.fault) << ", but it ends";
  }
}

void judge_mutants(const ListedWorkload& step, StepTallies& tallies, StepLot& lot, int timings) {
  for (const StepMutation& mutation : step_mutations) {
    SCOPED_TRACE(mutation.name);
    ListedWorkload mutant = step;
    if (mutation.apply(mutant, lot)) judge_step(mutant, tallies[mutation.name], timings);
  }
}

void print(const StepTallies& tallies) {
  std::cout << "mutation: mutants, refused, of these races, races that no timing showed\n";
  for (const auto& [name, tally] : tallies)
    std::cout << "  " << name << ": " << tally.mutants << ", " << tally.refused << ", "
              << tally.races << ", " << tally.races_unseen << "\n";
}

// COLLSIM_MUTANTS=n: n times as many.
int step_repetitions() {
  const char* const asked = std::getenv("COLLSIM_MUTANTS");
  return asked == nullptr ? 1 : std::max(1, std::atoi(asked));
}

TEST(WorkloadMutation, OfRandomSteps) {
  StepTallies tallies;
  const int cases = 40 * step_repetitions();
  for (int seed = 0; seed < cases && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StepLot lot(static_cast<std::uint64_t>(seed));
    const ListedWorkload step = RandomStep(lot).take();
    StepTally unchanged;
    judge_step(step, unchanged, 4);
    EXPECT_EQ(unchanged.refused, 0);
    judge_mutants(step, tallies, lot, 4);
  }
  print(tallies);
  EXPECT_GT(tallies["drop a wait"].races, 2 * tallies["drop a wait"].races_unseen);
  EXPECT_GT(tallies["free early"].races, 0);
  EXPECT_EQ(tallies["drop a collective"].refused, tallies["drop a collective"].mutants);
}

TEST(WorkloadMutation, OfGenerators) {
  StepTallies tallies;
  for (const Workload& workload : small_steps()) {
    const ListedWorkload step = listed(workload);
    StepTally unchanged;
    judge_step(step, unchanged, 3);
    EXPECT_EQ(unchanged.refused, 0);
    for (int seed = 0; seed < 2 * step_repetitions() && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      StepLot lot(static_cast<std::uint64_t>(seed));
      judge_mutants(step, tallies, lot, 3);
    }
  }
  print(tallies);
  EXPECT_EQ(tallies["drop a collective"].refused, tallies["drop a collective"].mutants);
  EXPECT_GT(tallies["drop a collective of all ranks"].refused, 0);
}

}  // namespace
}  // namespace collsim::test_workloads
