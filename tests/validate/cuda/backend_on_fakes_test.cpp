// SPDX-License-Identifier: Apache-2.0
// The CUDA backend as it is, on GPUs that only pretend: everything of the host's side, and no time
// means anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <variant>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "tests/validate/cuda/fake_gpus.hpp"
#include "topo/shapes.hpp"
#include "validate/cuda/cuda_backend.hpp"
#include "validate/plan.hpp"

namespace collsim::testing {
namespace {

class CudaBackend : public ::testing::Test {
 protected:
  void SetUp() override { reset_fake_gpus(); }
  void TearDown() override {
    EXPECT_EQ(fake_log.violation, "");
    EXPECT_EQ(fake_log.living, still_in_use_);
  }
  int still_in_use_ = 0;
};

RunCase ring(int ranks, Protocol protocol = Protocol::simple, std::int64_t count = 1009) {
  return {make_schedule(collective_of(Operation::all_reduce, ranks, count),
                        {.name = "ring", .channels = 2, .slots = 2}),
          protocol};
}

RunOptions quick() {
  RunOptions options;
  options.iterations = 3;
  options.patience_s = 20;  // sanitizers are slow, and machines are shared
  return options;
}

Measurement measured(const RunCase& run_case, const RunOptions& options = quick()) {
  RunOutcome outcome = run_on_cuda(run_case, options);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) {
    ADD_FAILURE() << none->reason;
    return {};
  }
  auto measurement = std::get<Measurement>(std::move(outcome));
  EXPECT_EQ(measurement.data, DataVerdict::right) << measurement.wrong_data;
  return measurement;
}

NoMeasurement refused(const RunCase& run_case, const RunOptions& options = quick()) {
  const RunOutcome outcome = run_on_cuda(run_case, options);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return *none;
  ADD_FAILURE() << "it was measured";
  return {};
}

bool has_note(const Measurement& measurement, const std::string& part) {
  return std::any_of(measurement.notes.begin(), measurement.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST_F(CudaBackend, VirtualRanksOnOneGpu) {
  for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
    const Measurement measurement = measured(ring(4, protocol));
    EXPECT_EQ(measurement.times_s.size(), 3U);
    for (const double time_s : measurement.times_s) EXPECT_GT(time_s, 0);
    EXPECT_EQ(measurement.device, "Fake GPU");
    EXPECT_TRUE(has_note(measurement, "ranks were virtual: 4 ranks on 1 GPU"));
    EXPECT_TRUE(has_note(measurement, "8 lanes of 512 threads"));
    EXPECT_TRUE(has_note(measurement, "clock ticks every 32 ns"));
  }
}

TEST_F(CudaBackend, ARankOnEachGpu) {
  fake_gpus.count = 4;
  for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
    const Measurement measurement = measured(ring(4, protocol));
    EXPECT_EQ(measurement.device, "4 x Fake GPU");
    EXPECT_FALSE(has_note(measurement, "virtual"));
    EXPECT_FALSE(has_note(measurement, "host's memory"));
    EXPECT_TRUE(has_note(measurement, "clocks were aligned"));
  }
}

TEST_F(CudaBackend, FewerRanksThanGpus) {
  fake_gpus.count = 8;
  EXPECT_EQ(measured(ring(3)).device, "3 x Fake GPU");
}

TEST_F(CudaBackend, RanksShareGpusEvenly) {
  fake_gpus.count = 2;
  const Measurement measurement = measured(ring(5));
  EXPECT_TRUE(has_note(measurement, "5 ranks on 2 GPUs, 2 or 3 to each"));
}

TEST_F(CudaBackend, AsManyGpusAsAskedFor) {
  fake_gpus.count = 8;
  RunOptions options = quick();
  options.gpus = 1;
  const Measurement measurement = measured(ring(8), options);
  EXPECT_EQ(measurement.device, "Fake GPU");
  EXPECT_TRUE(has_note(measurement, "8 ranks on 1 GPU"));
}

// The fake complains when a GPU is given an address that it does not reach.
TEST_F(CudaBackend, WithoutPeerAccessThroughTheHost) {
  fake_gpus.count = 3;
  fake_gpus.peers = false;
  for (const Protocol protocol : {Protocol::simple, Protocol::ll})
    EXPECT_TRUE(has_note(measured(ring(3, protocol)), "6 of 6 connections go through host memory"));
}

TEST_F(CudaBackend, RefusedPeerAccessIsTold) {
  fake_gpus.count = 2;
  fake_gpus.peer_error = 217;
  const Measurement measurement = measured(ring(2));
  EXPECT_TRUE(has_note(measurement, "was refused"));
  EXPECT_TRUE(has_note(measurement, "go through host memory"));
}

TEST_F(CudaBackend, EveryAlgorithm) {
  fake_gpus.count = 2;
  for (const Algorithm& row : algorithms()) {
    const int ranks = nearest_ranks(row, 5);
    RunOptions options = quick();
    options.iterations = 1;
    SCOPED_TRACE(std::string(row.name));
    measured(
        {make_schedule(collective_of(row.operation, ranks, 37), {.name = std::string(row.name)})},
        options);
  }
}

TEST_F(CudaBackend, NothingToDoIsNoProblem) {
  EXPECT_EQ(measured({make_schedule(collective_of(Operation::all_reduce, 3, 0))}).times_s.size(),
            3U);
  Collective alone = collective_of(Operation::broadcast, 1, 5);
  alone.in_place = true;
  EXPECT_EQ(measured({make_schedule(alone)}).times_s.size(), 3U);
}

TEST_F(CudaBackend, LaunchesAreTimedWithAndWithoutAGraph) {
  RunOptions options = quick();
  options.iterations = 5;
  const Measurement measurement = measured(ring(2), options);
  EXPECT_TRUE(has_note(measurement, "launched one by one"));
  EXPECT_TRUE(has_note(measurement, "in a CUDA graph it takes"));
  // Check, warm-up, 5 that count, another check, 3 for comparison, 5 one by one and 5 into a graph.
  EXPECT_EQ(fake_log.launches, 1 + 1 + 5 + 1 + 3 + 5 + 5);
}

TEST_F(CudaBackend, AGraphThatCannotBeMadeIsNoDisaster) {
  fake_gpus.capture_error = 900;
  RunOptions options = quick();
  options.iterations = 5;
  EXPECT_TRUE(has_note(measured(ring(2), options), "as a CUDA graph it was not measured"));
}

TEST_F(CudaBackend, GraphsWorkOnSeveralGpus) {
  fake_gpus.count = 2;
  RunOptions options = quick();
  options.iterations = 5;
  EXPECT_TRUE(has_note(measured(ring(4), options), "in a CUDA graph it takes"));
}

// Clocks that are seconds apart, and times that are not.
TEST_F(CudaBackend, ClocksAreAligned) {
  fake_gpus.count = 3;
  fake_gpus.clock_ahead_ns = 5'000'000'000;
  RunOptions options = quick();
  options.timeline = true;
  const Measurement measurement = measured(ring(3), options);
  for (const double time_s : measurement.times_s) EXPECT_LT(time_s, 2);
  ASSERT_TRUE(measurement.timeline);
  for (const Step& step : measurement.timeline->steps) EXPECT_LT(step.ended.seconds(), 2);
}

TEST_F(CudaBackend, ClocksThatCannotBeComparedAreAnError) {
  fake_gpus.count = 2;
  fake_gpus.clocks_are_silent = true;
  const NoMeasurement none = refused(ring(2));
  EXPECT_EQ(none.why, NoMeasurement::Why::failed);
  expect_contains(none.reason, "could not compare their clocks");
}

// Threads of a CPU start so far apart that the time of a tiny case says nothing.
TEST_F(CudaBackend, TimesThatClocksCannotTellAreDoubted) {
  fake_gpus.count = 4;
  expect_contains(measured(ring(4, Protocol::simple, 4)).doubt, "apart");
}

TEST_F(CudaBackend, ShortRunsGoOnForATime) {
  RunOptions options = quick();
  options.at_least_s = 0.2;
  const Measurement measurement = measured(ring(2), options);
  EXPECT_GT(measurement.times_s.size(), 3U);
}

TEST_F(CudaBackend, TimelinesHaveEveryStep) {
  const RunCase run_case = ring(3);
  RunOptions options = quick();
  options.timeline = true;
  const Measurement measurement = measured(run_case, options);
  ASSERT_TRUE(measurement.timeline);
  const std::vector<Step>& steps = measurement.timeline->steps;
  EXPECT_EQ(steps.size(), make_plan(run_case.schedule(), Protocol::simple).steps.size());
  for (const Step& step : steps) {
    EXPECT_LE(step.reached, step.began);
    EXPECT_LE(step.began, step.ended);
    EXPECT_GT(step.ended, Time{});
  }
}

TEST_F(CudaBackend, PacedRunsAreOnOneGpu) {
  fake_gpus.count = 2;
  LinkParameters link{Bandwidth(8'000'000)};
  link.latency = microseconds(50);
  const Topology topology = make_ring(3, link);
  RunCase run_case{make_schedule(collective_of(Operation::all_reduce, 3, 3000), {.name = "ring"})};
  run_case.paced = EmulatedMachine{topology, {}, {}};
  for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
    run_case.protocol = protocol;
    const Measurement measurement = measured(run_case);
    EXPECT_TRUE(has_note(measurement, "paced runs need one clock"));
    // 4 steps of 4000 bytes, each half a millisecond and the latency.
    for (const double time_s : measurement.times_s) EXPECT_GE(time_s, 4 * 0.00055 * 0.999);
  }
}

// The second write of what is stored and sent on takes 1 ms for each of the 8000 bytes' messages.
TEST_F(CudaBackend, PacedRunsCountTheSecondWrite) {
  RunCase run_case{make_schedule(collective_of(Operation::broadcast, 3, 2000), {.name = "chain"})};
  const Topology topology = make_chain(3, {Bandwidth(1'000'000'000)});
  run_case.paced = EmulatedMachine{topology, {}, {}};
  const double without_s = summary_of(measured(run_case).times_s).min_s;
  run_case.paced->costs.second_write_bandwidth = Bandwidth(400'000);
  for (const double time_s : measured(run_case).times_s) EXPECT_GE(time_s, without_s + 0.015);
}

// --- what goes wrong ----------------------------------------------------------------------------

TEST_F(CudaBackend, WhatAnEarlierRunLeftBehindIsNoResult) {
  for (const int right_runs : {1, 2}) {
    reset_fake_gpus();
    fake_gpus.idle_after = right_runs;
    const RunOutcome outcome = run_on_cuda(ring(2), quick());
    EXPECT_EQ(std::get<Measurement>(outcome).data, DataVerdict::wrong) << right_runs;
  }
}

TEST_F(CudaBackend, NoDriverNoGpuOrOldOnes) {
  fake_gpus.count_error = 35;
  fake_gpus.driver = 0;
  EXPECT_EQ(refused(ring(2)).why, NoMeasurement::Why::unavailable);
  expect_contains(*cuda_unavailable(), "no NVIDIA driver");
  fake_gpus.driver = 12020;
  expect_contains(*cuda_unavailable(),
                  "too old: it supports CUDA 12.2, this program was built with "
                  "CUDA 13.0");
  fake_gpus.count_error = 100;
  EXPECT_EQ(cuda_unavailable()->find("no GPU"), 0U);
  fake_gpus.count_error = 0;
  fake_gpus.major = 7;
  expect_contains(*cuda_unavailable(), "compute capability 7.0");
  fake_gpus.major = 9;
  EXPECT_EQ(cuda_unavailable(), std::nullopt);
  fake_gpus.load_error = 209;
  expect_contains(*cuda_unavailable(), "cudaErrorNoKernelImageForDevice");
  EXPECT_EQ(refused(ring(2)).why, NoMeasurement::Why::unavailable);
}

TEST_F(CudaBackend, TooLittleMemory) {
  const RunCase run_case = ring(4, Protocol::simple, 10'000);
  fake_gpus.free_bytes = 100'000;
  const NoMeasurement by_plan = refused(run_case);
  EXPECT_EQ(by_plan.why, NoMeasurement::Why::too_large);
  expect_contains(by_plan.reason, "of GPU memory are free");
  fake_gpus.free_bytes = std::size_t{1} << 30U;
  fake_gpus.largest_allocation = 100'000;
  const NoMeasurement by_gpu = refused(run_case);
  EXPECT_EQ(by_gpu.why, NoMeasurement::Why::too_large);
  expect_contains(by_gpu.reason, "on GPU 0, of whose 80 GiB there are 1 GiB free");
}

TEST_F(CudaBackend, MoreLanesThanTheGpuHolds) {
  fake_gpus.multiprocessors = 1;
  const RunCase run_case{make_schedule(collective_of(Operation::all_reduce, 8, 4096),
                                       {.name = "ring", .channels = 8})};
  const NoMeasurement none = refused(run_case);
  EXPECT_EQ(none.why, NoMeasurement::Why::too_large);
  expect_contains(none.reason,
                  "64 lanes must run at once on GPU 0 (Fake GPU), which holds 32 blocks");
}

TEST_F(CudaBackend, ALaunchThatFails) {
  fake_gpus.launch_error = 719;
  fake_gpus.launch_error_on = 0;
  const NoMeasurement none = refused(ring(2));
  EXPECT_EQ(none.why, NoMeasurement::Why::failed);
  expect_contains(none.reason, "starting the lanes on GPU 0 failed");
}

// The first GPU's lanes already wait for those of the second.
TEST_F(CudaBackend, ALaunchThatFailsOnTheSecondGpuStopsTheFirst) {
  fake_gpus.count = 2;
  fake_gpus.launch_error = 719;
  fake_gpus.launch_error_on = 1;
  const auto begin = std::chrono::steady_clock::now();
  const NoMeasurement none = refused(ring(2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  expect_contains(none.reason, "starting the lanes on GPU 1 failed");
}

TEST_F(CudaBackend, BlockingLaunchesCannotBeUsedOnSeveralGpus) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  measured(ring(2));
  fake_gpus.count = 2;
  const NoMeasurement none = refused(ring(2));
  unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(none.why, NoMeasurement::Why::unavailable);
  expect_contains(none.reason, "CUDA_LAUNCH_BLOCKING");
}

TEST_F(CudaBackend, ThreadsThatABlockCannotHave) {
  RunOptions options = quick();
  options.threads_per_lane = 100;
  expect_contains(refused(ring(2), options).reason, "100 threads per lane");
}

Program without(Schedule schedule, int position, Lane lane, int step) {
  LaneProgram program = schedule.program(position, lane);
  for (int i = 0; const Instruction* instruction = program.next(); ++i)
    if (i != step) co_yield *instruction;
}

// One receive is missing, so somebody waits for ever.
TEST_F(CudaBackend, AStuckRunEndsWithADiagnosis) {
  for (const int gpus : {1, 3}) {
    fake_gpus.count = gpus;
    const Schedule whole =
        make_schedule(collective_of(Operation::all_reduce, 3, 300), {.name = "ring"});
    const Schedule broken = whole.with_programs([=](int position, Lane lane) {
      return position == 1 ? without(whole, position, lane, 0) : whole.program(position, lane);
    });
    RunOptions options = quick();
    options.patience_s = 0.5;
    const auto begin = std::chrono::steady_clock::now();
    const NoMeasurement none = refused({broken}, options);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    EXPECT_EQ(none.why, NoMeasurement::Why::stuck);
    expect_contains(none.reason, "rank 2 lane 0 step 4 (receive) waited 0.5 s for message 3");
  }
}

// Freeing what a GPU still uses would wait for it, perhaps for ever.
TEST_F(CudaBackend, AGpuThatDoesNotStopIsLeftAlone) {
  fake_gpus_are_deaf = true;
  RunOptions options = quick();
  options.check = false;
  options.patience_s = 0.01;
  const NoMeasurement none = refused(ring(2), options);
  fake_gpus_are_deaf = false;
  still_in_use_ = 3;  // its memory, the host's, its stream
  EXPECT_EQ(none.why, NoMeasurement::Why::stuck);
  expect_contains(none.reason, "were told to stop, which they did not do");
}

TEST_F(CudaBackend, FactsForReports) {
  const auto facts = gpu_facts(1 << 20);
  ASSERT_TRUE(std::holds_alternative<GpuFacts>(facts));
  EXPECT_EQ(std::get<GpuFacts>(facts).names, "Fake GPU");
  EXPECT_EQ(std::get<GpuFacts>(facts).runtime_cuda, "13.0");
  EXPECT_GT(std::get<GpuFacts>(facts).copy_bytes_per_s, 0);
}

}  // namespace
}  // namespace collsim::testing
