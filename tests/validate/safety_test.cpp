// SPDX-License-Identifier: Apache-2.0
// Nothing hangs and nothing crashes the caller, whatever is wrong with a run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "collectives/algorithms.hpp"
#include "collectives/execute.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"
#include "tests/validate/real_cases.hpp"
#include "topo/shapes.hpp"
#include "validate/backend.hpp"
#include "validate/host/host_backend.hpp"
#include "validate/host/host_machine.hpp"
#include "validate/in_child.hpp"
#include "validate/plan.hpp"

namespace collsim {
namespace {

Schedule ring(int ranks, std::optional<int> slots = {}, int chunks = 1) {
  // 300: pieces of one size, so that only their number is wrong
  return make_schedule(collective_of(Operation::all_reduce, ranks, 300),
                       {.name = "ring", .chunks = chunks, .slots = slots});
}

Schedule with_a_step_missing(const Schedule& schedule, int at_position, int step) {
  return schedule.with_programs([=](int position, Lane lane) {
    return position == at_position ? testing::without(schedule, position, lane, step)
                                   : schedule.program(position, lane);
  });
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Slow enough for threads: a message takes milliseconds.
EmulatedMachine emulated_ring() {
  return {make_ring(3, LinkParameters{Bandwidth(100'000), microseconds(100)}), {}, {}};
}

NoMeasurement not_measured(const RunCase& run_case, const RunOptions& options) {
  const RunOutcome outcome = find_backend("host")->run(run_case, options);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return *none;
  ADD_FAILURE() << "it was measured";
  return {};
}

TEST(Safety, AWrongScheduleIsRefusedBeforeAnythingRuns) {
  const NoMeasurement none = not_measured({with_a_step_missing(ring(3), 1, 0)}, {});
  EXPECT_EQ(none.why, NoMeasurement::Why::bad_schedule);
  expect_contains(none.reason, "was not run");
}

TEST(Safety, AMissingMessageEndsInADiagnosisInLessThanTwoSeconds) {
  RunOptions options;
  options.trust_schedule = true;
  for (const auto& [protocol, paced] :
       {std::pair(Protocol::simple, false), {Protocol::ll, false}, {Protocol::simple, true}}) {
    RunCase run_case{with_a_step_missing(ring(3), 1, 0), protocol};
    if (paced) run_case.paced = emulated_ring();
    NoMeasurement none;
    const double seconds = seconds_of([&] { none = not_measured(run_case, options); });
    EXPECT_LT(seconds, 2);
    EXPECT_EQ(none.why, NoMeasurement::Why::stuck);
    EXPECT_EQ(
        none.reason,
        std::string("rank 2 lane 0 step 4 (receive) waited 1 s for message 3 from rank 1 lane 0") +
            (protocol == Protocol::simple ? ": 3 had come" : ""));
  }
}

// As a second run would see it: its counters begin where those of the first ended.
TEST(Safety, ADiagnosisCountsMessagesOfTheRunAlone) {
  const Plan plan = make_plan(ring(3, 1), Protocol::simple);
  const auto at = static_cast<std::uint32_t>(
      std::find_if(plan.steps.begin(), plan.steps.end(),
                   [](const LaneStep& step) { return step.from_message == 2; }) -
      plan.steps.begin());
  ASSERT_LT(at, plan.steps.size());
  const auto lane = static_cast<std::uint32_t>(
      std::find_if(plan.lanes.begin(), plan.lanes.end(),
                   [&](const PlannedLane& one) { return at < one.first_step + one.step_count; }) -
      plan.lanes.begin());
  Trouble trouble;
  trouble.kind = WaitKind::message;
  trouble.lane = lane;
  trouble.step = at - plan.lanes[lane].first_step;
  trouble.wire = plan.steps[at].from;
  const std::uint64_t before = plan.wires[trouble.wire].messages;
  trouble.wanted = before + 3;
  trouble.seen = before + 1;
  EXPECT_TRUE(describe(trouble, plan, 1).ends_with("lane 0: 1 had come"))
      << describe(trouble, plan, 1);
  trouble.seen = 0;  // nonsense
  EXPECT_TRUE(describe(trouble, plan, 1).ends_with("lane 0: 0 had come"));
}

// The first word that anybody claims is the lock of the links, and somebody keeps it.
class StolenLock : public HostPolicy {
 public:
  using HostPolicy::HostPolicy;
  bool claim(std::uint64_t* word) {
    const std::uint64_t* none = nullptr;
    stolen.compare_exchange_strong(none, word);
    return word != stolen && HostPolicy::claim(word);
  }
  static inline std::atomic<const std::uint64_t*> stolen{nullptr};
};

TEST(Safety, LinksThatNobodyGivesBackEndInADiagnosis) {
  const Plan plan = make_plan(ring(3), Protocol::simple);
  const Pacing pacing =
      make_pacing(plan, {make_ring(3, LinkParameters{Bandwidth(1'000'000'000)}), {}, {}});
  for (const int threads : {1, 2}) {
    StolenLock::stolen = nullptr;
    HostOptions options;
    options.pacing = &pacing;
    options.threads_per_lane = threads;
    options.waiting = Waiting::sleep;
    options.patience_s = 0.2;
    HostMachine machine(plan, options);
    machine.fill(make_test_inputs(plan.schedule->collective(), 1));
    EXPECT_FALSE(machine.run<StolenLock>(1));
    expect_contains(machine.trouble(), " waited 0.2 s for the emulated links");
  }
}

// One thread is away for longer than the others wait.  On the emulated machine nothing that comes
// later than its step may happen, and those who need that say so.
class AbsentThread : public HostPolicy {
 public:
  using HostPolicy::HostPolicy;
  void begins(std::uint32_t step) const {
    if (step == 1 && !is_away.exchange(true))
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  static inline std::atomic<bool> is_away{false};
};

TEST(Safety, AThreadThatStaysAwayEndsAPacedRun) {
  const Plan plan = make_plan(ring(4), Protocol::simple);
  const Pacing pacing =
      make_pacing(plan, {make_chain(4, LinkParameters{Bandwidth(1'000'000'000)}), {}, {}});
  HostOptions options;
  options.pacing = &pacing;
  options.waiting = Waiting::sleep;
  options.patience_s = 0.2;
  HostMachine machine(plan, options);
  machine.fill(make_test_inputs(plan.schedule->collective(), 1));
  AbsentThread::is_away = false;
  const double seconds = seconds_of([&] { EXPECT_FALSE(machine.run<AbsentThread>(1)); });
  EXPECT_LT(seconds, 2);
  expect_contains(machine.trouble(), " waited 0.2 s for ");
}

TEST(Safety, TooFewSlotsEndInADiagnosisThatNamesTheSlot) {
  RunOptions options;
  options.trust_schedule = true;
  for (const bool paced : {false, true}) {
    RunCase run_case{ring(3, 1, 4)};
    if (paced) run_case.paced = emulated_ring();
    const NoMeasurement none = not_measured(run_case, options);
    EXPECT_EQ(none.why, NoMeasurement::Why::stuck);
    expect_contains(none.reason, "for one of 1 slots to rank");
    EXPECT_TRUE(none.reason.ends_with(" had been taken out")) << none.reason;
  }
}

TEST(Safety, ARunBeyondTheMemoryOfAMachineIsRefusedWithAHint) {
  const Schedule schedule =
      make_schedule(collective_of(Operation::all_reduce, 4, std::int64_t{1} << 40));
  const NoMeasurement none = not_measured({schedule}, {});
  EXPECT_EQ(none.why, NoMeasurement::Why::too_large);
  expect_contains(none.reason, "use a smaller size");
}

// Sanitizers hold far more address space than any limit could leave.
TEST(Safety, ThreadsThatTheSystemDoesNotGiveEndTheRunAtOnce) {
  if (collsim::testing::is_sanitized) GTEST_SKIP() << "needs a limit of the address space";
  RunOptions options;
  options.threads_per_lane = 8;
  RunOutcome outcome;
  const double seconds = seconds_of([&] {
    outcome = run_in_child(
        [&]() -> RunOutcome {
          std::ifstream status("/proc/self/statm");
          rlim_t pages = 0;
          status >> pages;
          constexpr rlim_t room_for_some_stacks = 100 << 20;
          const rlim_t limit =
              pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + room_for_some_stacks;
          const rlimit address_space{limit, limit};
          if (::setrlimit(RLIMIT_AS, &address_space) != 0) return Measurement{};
          return run_on_host({ring(8)}, options);
        },
        10);
  });
  EXPECT_LT(seconds, 5);
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  const auto& none = std::get<NoMeasurement>(outcome);
  EXPECT_EQ(none.why, NoMeasurement::Why::too_large) << none.reason;
  EXPECT_EQ(none.reason.find("this run needs 64 threads, and the system created only "), 0U)
      << none.reason;
}

TEST(Safety, ACrashOfTheRunIsReported) {
  const RunOutcome outcome = run_in_child([]() -> RunOutcome { std::abort(); }, 10);
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  EXPECT_EQ(std::get<NoMeasurement>(outcome).why, NoMeasurement::Why::failed);
}

TEST(Safety, AHangOfTheRunIsEnded) {
  RunOutcome outcome;
  int told = 0;
  const std::function<void()> tell = [&] { ++told; };
  const double seconds = seconds_of([&] {
    outcome = run_in_child(
        []() -> RunOutcome {
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
        },
        0.3, &tell);
  });
  EXPECT_LT(seconds, 5);
  EXPECT_GT(told, 0);
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  expect_contains(std::get<NoMeasurement>(outcome).reason, "was killed");
}

// Of each run: in which child it was, or why it has no result.
std::vector<std::string> children_of(std::size_t count,
                                     const std::function<RunOutcome(std::size_t)>& measure,
                                     std::size_t most = 100) {
  std::vector<std::string> children;
  run_in_children(
      count, measure, [](std::size_t) { return 5.0; },
      [&](std::size_t number, RunOutcome outcome) {
        EXPECT_EQ(number, children.size());
        const auto* none = std::get_if<NoMeasurement>(&outcome);
        children.push_back(none ? none->reason : std::get<Measurement>(outcome).device);
        return children.size() < most;
      });
  return children;
}

RunOutcome in_this_process() {
  Measurement measured;
  measured.device = std::to_string(::getpid());
  return measured;
}

TEST(Safety, RunsShareAChildUntilOneEndsBadly) {
  const auto children = children_of(6, [](std::size_t number) -> RunOutcome {
    if (number == 2) return NoMeasurement{NoMeasurement::Why::stuck, "stuck"};
    if (number == 4) std::abort();
    return in_this_process();
  });
  ASSERT_EQ(children.size(), 6U);
  EXPECT_EQ(children[0], children[1]);
  EXPECT_EQ(children[2], "stuck");
  EXPECT_NE(children[3], children[0]);
  expect_contains(children[4], "aborted");
  EXPECT_NE(children[5], children[3]);
}

TEST(Safety, ARefusedRunIsNoReasonForANewChild) {
  const auto children = children_of(3, [](std::size_t number) -> RunOutcome {
    if (number == 1) return NoMeasurement{NoMeasurement::Why::too_large, "too large"};
    return in_this_process();
  });
  ASSERT_EQ(children.size(), 3U);
  EXPECT_EQ(children[0], children[2]);
}

TEST(Safety, WhoTakesOutcomesMayEndThem) {
  const auto children = children_of(
      100, [](std::size_t) { return in_this_process(); }, 2);
  EXPECT_EQ(children.size(), 2U);
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
  EXPECT_EQ(errno, ECHILD);
}

TEST(Safety, AChildBringsEverythingBack) {
  Measurement sent;
  sent.times_s = {0.5, 0.25};
  sent.lag_s = 0.125;
  sent.doubt = "clocks drifted";
  sent.data = DataVerdict::wrong;
  sent.wrong_data = "rank 1 element 2 is 3, not 4";
  sent.device = "a machine";
  sent.notes = {"one", "", "three"};
  sent.timeline = Timeline{{Step{}, Step{}}};
  sent.timeline->steps[1].index = 42;
  const RunOutcome outcome = run_in_child([&]() -> RunOutcome { return sent; }, 10);
  ASSERT_TRUE(std::holds_alternative<Measurement>(outcome));
  const auto& got = std::get<Measurement>(outcome);
  EXPECT_EQ(got.times_s, sent.times_s);
  EXPECT_EQ(got.lag_s, sent.lag_s);
  EXPECT_EQ(got.doubt, sent.doubt);
  EXPECT_EQ(got.data, sent.data);
  EXPECT_EQ(got.wrong_data, sent.wrong_data);
  EXPECT_EQ(got.device, sent.device);
  EXPECT_EQ(got.notes, sent.notes);
  ASSERT_EQ(got.timeline->steps.size(), 2U);
  EXPECT_EQ(got.timeline->steps[1].index, 42U);
}

}  // namespace
}  // namespace collsim
