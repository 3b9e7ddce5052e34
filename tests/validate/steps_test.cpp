// SPDX-License-Identifier: Apache-2.0
// Training steps on threads: what check() passes runs and has the right data, nothing ever hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "collectives/workload_checker.hpp"
#include "tests/collectives/broken_steps.hpp"
#include "tests/contains.hpp"
#include "validate/backend.hpp"
#include "validate/host/host_backend.hpp"
#include "validate/host/host_machine.hpp"
#include "validate/host/step_watch.hpp"

namespace collsim {
namespace {

using test_workloads::ListedWorkload;
using test_workloads::StepLot;

HostOptions on_few_cores(double patience_s) {
  HostOptions options;
  options.waiting = Waiting::sleep;
  options.patience_s = patience_s;
  return options;
}

constexpr double never_needed_s = 20;  // sanitizers are slow, and machines are shared
constexpr double soon_s = 0.1;

std::vector<std::byte*> memory_of_ranks(HostMachine& machine, const Plan& plan) {
  std::vector<std::byte*> memory;
  for (int position = 0; position < plan.programs.size(); ++position)
    memory.push_back(machine.memory(position));
  return memory;
}

// "" when a step runs several times and every line finds what it should; else what is wrong.
std::string problem_of_step(const Workload& workload, const StepContents& contents, int runs = 2) {
  const Plan plan = make_plan(workload, Protocol::simple);
  HostMachine machine(plan, on_few_cores(never_needed_s));
  for (int run = 0; run < runs; ++run) {
    StepWatch watch(plan, contents, static_cast<std::uint64_t>(run));
    watch.begin_run(memory_of_ranks(machine, plan));
    machine.watch(watch.of_lanes());
    if (!machine.run<HostPolicy>(1)) return machine.trouble();
    if (!watch.wrong().empty()) return watch.wrong();
  }
  return "";
}

// How a run without data ends: "" if it does by itself.
std::string end_of(const Workload& workload, double patience_s) {
  try {
    const Plan plan = make_plan(workload, Protocol::simple);
    HostMachine machine(plan, on_few_cores(patience_s));
    return machine.run<HostPolicy>(1) ? "" : machine.trouble();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(StepsOnThreads, OfAllGeneratorsHaveTheRightData) {
  for (const Workload& workload : test_workloads::small_steps()) {
    StepContents contents;
    ASSERT_FALSE(check(workload, {}, &contents).fault);
    EXPECT_EQ(problem_of_step(workload, contents), "");
  }
}

struct MutantsOnThreads {
  int right = 0, ended = 0, hung = 0, refused = 0;
};

// Checker, executor in one thread and threads agree.
void judge_on_threads(const ListedWorkload& step, MutantsOnThreads& tally) {
  const Workload workload = step.workload();
  StepContents contents;
  const WorkloadReport report = check(workload, {}, &contents);
  if (!report.fault || report.fault->kind == WorkloadFault::Kind::wrong_data) {
    ++tally.right;
    EXPECT_EQ(problem_of_step(workload, contents, 1), "");
    return;
  }
  if (concerns_data_only(*report.fault)) {
    ++tally.ended;
    EXPECT_EQ(end_of(workload, never_needed_s), "") << to_text(*report.fault);
    return;
  }
  // A run may get through where not all members of a call must come before one leaves it.
  const std::string alone = execute_step(step, {}).problem;
  const std::string end = end_of(workload, soon_s);
  if (alone.ends_with(" waits")) {
    EXPECT_NE(end, "") << to_text(*report.fault) << "\n" << alone;
    EXPECT_TRUE(end.starts_with("rank ")) << end;
  }
  ++(end.find(" waited ") != std::string::npos ? tally.hung : tally.refused);
}

int mutants_asked_for() {
  const char* const asked = std::getenv("COLLSIM_MUTANTS");
  return asked == nullptr ? 1 : std::max(1, std::atoi(asked));
}

TEST(StepsOnThreads, MutantsOfRandomStepsNeverHang) {
  MutantsOnThreads tally;
  for (int seed = 0; seed < 6 * mutants_asked_for() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StepLot lot(static_cast<std::uint64_t>(seed));
    const ListedWorkload step = test_workloads::RandomStep(lot).take();
    MutantsOnThreads unchanged;
    judge_on_threads(step, unchanged);
    EXPECT_EQ(unchanged.right, 1);
    for (const test_workloads::StepMutation& mutation : test_workloads::step_mutations) {
      SCOPED_TRACE(mutation.name);
      ListedWorkload mutant = step;
      if (mutation.apply(mutant, lot)) judge_on_threads(mutant, tally);
    }
  }
  std::printf("mutants on threads: %d right, %d ended with a race, %d hung, %d others refused\n",
              tally.right, tally.ended, tally.hung, tally.refused);
  EXPECT_GT(tally.right, 0);
  EXPECT_GT(tally.ended, 0);
  EXPECT_GT(tally.hung, 0);
}

TEST(StepsOnThreads, MutantsOfGeneratorsNeverHang) {
  MutantsOnThreads tally;
  StepLot lot(1);
  for (const Workload& workload : test_workloads::small_steps()) {
    const ListedWorkload step = test_workloads::listed(workload);
    const auto& mutation = test_workloads::step_mutations[test_workloads::drawn(
        lot, std::size(test_workloads::step_mutations))];
    SCOPED_TRACE(mutation.name);
    ListedWorkload mutant = step;
    if (mutation.apply(mutant, lot)) judge_on_threads(mutant, tally);
  }
}

// --- by hand -------------------------------------------------------------------------------------

Call sum_of(std::int64_t count) {
  Call call;
  call.count = count;
  return call;
}

// Two ranks, streams a and b, communicators tp and dp of both ranks; items x and y.
ListedWorkload two_ranks() {
  ListedWorkload step;
  step.lines.resize(2);
  step.streams = {"a", "b"};
  step.communicators = {{"tp", {first_ranks(2)}, 1}, {"dp", {first_ranks(2)}, 1}};
  step.data.items = 2;
  step.data.name = [](std::uint32_t item) { return std::string(item == 0 ? "x" : "y"); };
  return step;
}

constexpr Items item_x{0, 1}, item_y{1, 2};

TEST(StepsOnThreads, CrossedCallsAreEndedAndNamed) {
  ListedWorkload step = two_ranks();
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const int communicator : {rank == 0 ? 0 : 1, rank == 0 ? 1 : 0})
      step.lines[rank].push_back({collective(0, communicator, sum_of(100)), {}});
  const std::string end = end_of(step.workload(), soon_s);
  expect_contains(end, " stream a, all-reduce of ");
  expect_contains(end, " (call 1) step ");
  expect_contains(end, " waited 0.");
}

TEST(StepsOnThreads, ALostRecordIsEndedAndNamed) {
  ListedWorkload step = two_ranks();
  step.lines[1] = {{work(0, microseconds(1)), {}}, {collsim::wait(1, 0, 1), {}}};
  expect_contains(end_of(step.workload(), soon_s), "rank 1 stream b, wait for stream a");
}

TEST(StepsOnThreads, AMissingMemberIsNamed) {
  ListedWorkload step = two_ranks();
  step.lines[0] = {{collective(0, 0, sum_of(100)), {}}};
  expect_contains(end_of(step.workload(), soon_s), "rank 1 communicator tp");
}

TEST(StepsOnThreads, WorkTakesItsTime) {
  ListedWorkload step = two_ranks();
  step.lines[1] = {{work(0, milliseconds(5)), {}}};
  const Workload workload = step.workload();
  const Plan plan = make_plan(workload, Protocol::simple);
  HostMachine machine(plan, on_few_cores(never_needed_s));
  ASSERT_TRUE(machine.run<HostPolicy>(1));
  EXPECT_GE(machine.times_s().front(), 0.005);
}

TEST(StepsOnThreads, AWrongByteOfAMessageIsTold) {
  ListedWorkload step = two_ranks();
  step.lines[0] = {{send(0, Rank(1), 100, 0), {{item_x}, {}}}};
  step.lines[1] = {{receive(0, Rank(0), 100, 0), {{}, {item_y}}}};
  const Workload workload = step.workload();
  StepContents contents;
  ASSERT_FALSE(check(workload, {}, &contents).fault);
  EXPECT_EQ(problem_of_step(workload, contents), "");
  contents.lines[1][0].reads[0] ^= 1U;  // as if rank 0 should have sent something else
  expect_contains(problem_of_step(workload, contents),
                  "rank 1 stream a, receive from rank 0: byte 0 of the message is ");
}

// Spoils a byte behind the watch's back.
class Vandal : public LaneWatch {
 public:
  Vandal(LaneWatch& other, std::byte* place) : other_(other), place_(place) {}
  void begins(std::uint32_t step) override {
    other_.begins(step);
    if (step == 0) *place_ ^= std::byte{1};
  }
  void ended(std::uint32_t step) override { other_.ended(step); }

 private:
  LaneWatch& other_;
  std::byte* place_;
};

TEST(StepsOnThreads, AWrongElementOfACallIsTold) {
  ListedWorkload step = two_ranks();
  Call call = sum_of(100);
  call.type = ElementType::u8;
  for (auto& lines : step.lines) lines = {{collective(0, 0, call), {{item_x}, {item_x}}}};
  const Workload workload = step.workload();
  StepContents contents;
  ASSERT_FALSE(check(workload, {}, &contents).fault);
  EXPECT_EQ(problem_of_step(workload, contents), "");
  const Plan plan = make_plan(workload, Protocol::simple);
  HostMachine machine(plan, on_few_cores(never_needed_s));
  StepWatch watch(plan, contents, 1);
  watch.begin_run(memory_of_ranks(machine, plan));
  std::vector<LaneWatch*> watches(watch.of_lanes().begin(), watch.of_lanes().end());
  Vandal vandal(*watches[0], machine.memory(0) + 17);
  watches[0] = &vandal;
  machine.watch(watches);
  ASSERT_TRUE(machine.run<HostPolicy>(1));
  expect_contains(watch.wrong(), " stream a, all-reduce of tp (call 1): rank ");
  expect_contains(watch.wrong(), " element 17 is ");
}

// ThreadSanitizer sees it before the data show it.
#if defined(__SANITIZE_THREAD__)
constexpr bool races_are_reported = true;
#elif defined(__has_feature)
constexpr bool races_are_reported = __has_feature(thread_sanitizer);
#else
constexpr bool races_are_reported = false;
#endif

TEST(StepsOnThreads, ALostWaitIsSeenInTheData) {
  if (races_are_reported) GTEST_SKIP() << "it is a race";
  ListedWorkload step = two_ranks();
  step.lines[0] = {{work(0, milliseconds(20)), {{}, {item_x}}},
                   {work(1, milliseconds(1)), {{item_x}, {item_y}}}};
  const Workload workload = step.workload();
  StepContents contents;
  ASSERT_TRUE(check(workload, {}, &contents).fault);
  expect_contains(problem_of_step(workload, contents),
                  "rank 0 stream b, work: x is not what the line should find");
}

TEST(StepsOnThreads, OtherBackendsSayWhatRunsThem) {
  const RunOutcome outcome =
      find_backend("nccl")->run({std::make_shared<const Workload>(two_ranks().workload())}, {});
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  EXPECT_EQ(std::get<NoMeasurement>(outcome).reason,
            "training steps run on threads only: use --backend host");
}

}  // namespace
}  // namespace collsim
