// SPDX-License-Identifier: Apache-2.0
// Where ranks, lanes and their memory go, which needs no GPU.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "topo/shapes.hpp"
#include "validate/cuda/gpu_clocks.hpp"
#include "validate/cuda/memory_layout.hpp"
#include "validate/cuda/placement.hpp"

namespace collsim {
namespace {

Plan ring_plan(int ranks, int channels = 1, std::int64_t count = 4096, int chunks = 1) {
  const Collective collective = collective_of(Operation::all_reduce, ranks, count);
  AlgorithmChoice choice;
  choice.name = "ring";
  choice.channels = channels;
  choice.chunks = chunks;
  choice.slots = 2;
  return make_plan(make_schedule(collective, choice), Protocol::simple);
}

// As many threads per multiprocessor as an H200's registers allow the kernel.
GpuRoom room(int multiprocessors = 132) {
  return {"GPU 0 (H200)", multiprocessors, {2, 4, 8, 16, 32}, {2, 4, 8, 16, 32}};
}

Placement placed(const Plan& plan, const std::vector<GpuRoom>& gpus, bool one_gpu = false,
                 int threads = 0) {
  auto outcome = place_ranks(plan, gpus, one_gpu, threads);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) ADD_FAILURE() << none->reason;
  return std::holds_alternative<Placement>(outcome) ? std::get<Placement>(outcome) : Placement{};
}

NoMeasurement refused(const Plan& plan, const std::vector<GpuRoom>& gpus, int threads = 0) {
  auto outcome = place_ranks(plan, gpus, false, threads);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return *none;
  ADD_FAILURE() << "it was placed";
  return {};
}

TEST(CudaPlacement, ARankForEachGpuAsFarAsTheyGo) {
  const Placement own = placed(ring_plan(4), std::vector(8, room()));
  EXPECT_EQ(own.gpu_of, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(own.gpus(), 4U);
  EXPECT_FALSE(own.virtual_ranks);
  EXPECT_EQ(virtual_ranks_note(ring_plan(4), own), "");

  const Plan eight = ring_plan(8);
  const Placement shared = placed(eight, std::vector(3, room()));
  EXPECT_EQ(shared.gpu_of, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2}));
  EXPECT_TRUE(shared.virtual_ranks);
  EXPECT_EQ(shared.lanes[2], (std::vector<std::uint32_t>{6, 7}));
  expect_contains(virtual_ranks_note(eight, shared), "8 ranks on 3 GPUs, 2 or 3 to each");
}

TEST(CudaPlacement, OneGpuWhenThatIsAskedFor) {
  const Placement placement = placed(ring_plan(4), std::vector(8, room()), true);
  EXPECT_EQ(placement.gpus(), 1U);
  EXPECT_EQ(placement.lanes[0].size(), 4U);
  EXPECT_TRUE(placement.virtual_ranks);
}

TEST(CudaPlacement, AsManyThreadsAsFit) {
  EXPECT_EQ(placed(ring_plan(8, 16), {room()}).threads, 512);   // 128 of 264 blocks
  EXPECT_EQ(placed(ring_plan(8, 33), {room()}).threads, 512);   // 264 of 264
  EXPECT_EQ(placed(ring_plan(8, 34), {room()}).threads, 256);   // 272
  EXPECT_EQ(placed(ring_plan(8, 33), {room(10)}).threads, 32);  // 264 of 320
  EXPECT_EQ(placed(ring_plan(8, 1), {room()}, false, 64).threads, 64);
}

TEST(CudaPlacement, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const NoMeasurement none = refused(ring_plan(8, 33), {room(8)});
  EXPECT_EQ(none.why, NoMeasurement::Why::too_large);
  EXPECT_EQ(none.reason,
            "264 lanes must run at once on GPU 0 (H200), which holds 256 blocks of 32 threads (32 "
            "on each of 8 multiprocessors): use fewer ranks or channels, or more GPUs");
  const NoMeasurement large = refused(ring_plan(8, 34), {room()}, 512);
  expect_contains(large.reason, "264 blocks of 512 threads");
  for (const int threads : {1, 100, 1024, -32})
    EXPECT_EQ(refused(ring_plan(2), {room()}, threads).why, NoMeasurement::Why::unavailable);
  EXPECT_EQ(refused(ring_plan(2), {}).reason, "no GPU");
}

// One GPU that is too small is enough to refuse, or to take fewer threads.
TEST(CudaPlacement, EveryGpuMustHaveRoom) {
  GpuRoom small = room(1);
  EXPECT_EQ(placed(ring_plan(2, 4), {room(), small}).threads, 256);
  EXPECT_EQ(refused(ring_plan(2, 40), {room(), small}).why, NoMeasurement::Why::too_large);
}

TEST(CudaPlacement, StepsGoToSharedMemoryWhenTheyFitThere) {
  const Plan few = ring_plan(8, 2);
  EXPECT_TRUE(placed(few, {room()}).steps_in_shared_memory);
  EXPECT_GT(shared_bytes(few, true), shared_bytes(few, false));
  const Plan many = ring_plan(8, 2, 100'000, 100);
  EXPECT_GT(shared_bytes(many, true), most_shared_bytes);
  EXPECT_FALSE(placed(many, {room()}).steps_in_shared_memory);
  // Rather many threads than fast steps.
  GpuRoom narrow = room(1);
  narrow.blocks_with_steps = {1, 1, 1, 1, 1};
  const Placement placement = placed(ring_plan(2), {narrow});
  EXPECT_EQ(placement.threads, 512);
  EXPECT_FALSE(placement.steps_in_shared_memory);
}

// --- memory -------------------------------------------------------------------------------------

std::vector<std::vector<bool>> everybody_reaches(std::size_t gpus, bool others = true) {
  std::vector<std::vector<bool>> reaches(gpus, std::vector<bool>(gpus, others));
  for (std::size_t i = 0; i < gpus; ++i) reaches[i][i] = true;
  return reaches;
}

// Collects stretches and complains when two overlap or one leaves its area.
class Stretches {
 public:
  explicit Stretches(const MemoryLayout& layout) : layout_(layout) {}
  void add(const Location& at, std::uint64_t bytes, const char* what) {
    ASSERT_LT(at.area, layout_.area_bytes.size());
    EXPECT_LE(at.offset + bytes, layout_.area_bytes[at.area]) << what;
    if (bytes == 0) return;
    for (const auto& [other, size] : taken_)
      EXPECT_TRUE(other.area != at.area || other.offset + size <= at.offset ||
                  at.offset + bytes <= other.offset)
          << what << " overlaps something else";
    taken_.emplace_back(at, bytes);
  }

 private:
  const MemoryLayout& layout_;
  std::vector<std::pair<Location, std::uint64_t>> taken_;
};

void expect_sound(const Plan& plan, const Placement& placement, const MemoryLayout& layout) {
  Stretches stretches(layout);
  constexpr std::uint64_t line = 128;
  for (std::size_t i = 0; i < plan.memory.size(); ++i) {
    EXPECT_EQ(layout.ranks[i].area, placement.gpu_of[i]);
    EXPECT_EQ(layout.ranks[i].offset % line, 0U);
    stretches.add(layout.ranks[i], plan.memory[i].bytes, "a rank's memory");
  }
  for (std::size_t i = 0; i < plan.wires.size(); ++i) {
    const PlannedWire& wire = plan.wires[i];
    const MemoryLayout::OfWire& places = layout.wires[i];
    for (const Location& counter : {places.tail, places.head}) {
      EXPECT_EQ(counter.offset % line, 0U);
      stretches.add(counter, line, "a counter's line");
    }
    stretches.add(places.data, wire.slots * wire.slot_bytes, "slots");
    stretches.add(places.arrivals, wire.moments() * sizeof(std::uint64_t), "arrival times");
  }
  for (std::uint32_t gpu = 0; gpu < placement.gpus(); ++gpu) {
    const MemoryLayout::OfGpu& places = layout.gpus[gpu];
    stretches.add(places.shared, sizeof(RunShared), "the start");
    stretches.add(places.jobs, placement.lanes[gpu].size() * sizeof(LaneJob), "jobs");
    stretches.add(places.steps, places.steps_count * sizeof(LaneStep), "steps");
    stretches.add(places.wires, plan.wires.size() * sizeof(Wire), "wires");
    for (const std::uint32_t number : placement.lanes[gpu]) {
      const MemoryLayout::OfLane& lane = layout.lanes[number];
      EXPECT_EQ(lane.run.area, gpu);
      stretches.add(lane.run, line, "a lane's count of runs");
      stretches.add(lane.times, sizeof(LaneTimes), "a lane's times");
      EXPECT_LE(lane.first_step + plan.lanes[number].step_count, places.steps_count);
    }
  }
  EXPECT_EQ(layout.verdict, (Location{layout.host_area(), 0}));
  stretches.add(layout.verdict, sizeof(RunShared), "the verdict");
  stretches.add(layout.meeting, placement.gpus() * line, "the meeting");
}

TEST(CudaMemory, EverythingHasItsPlace) {
  for (const int gpus : {1, 2, 3, 5})
    for (const bool peers : {true, false})
      for (const bool record : {true, false}) {
        const Plan plan = ring_plan(5, 2, 1009, 3);
        const Placement placement =
            placed(plan, std::vector(static_cast<std::size_t>(gpus), room()));
        const MemoryLayout layout = lay_out_memory(
            plan, placement, everybody_reaches(placement.gpus(), peers), record, nullptr);
        expect_sound(plan, placement, layout);
      }
}

// Whoever polls a counter has it in its own memory; data are where they are read.
TEST(CudaMemory, CountersAreWithWhoPollsThem) {
  const Plan plan = ring_plan(3);
  const Placement placement = placed(plan, std::vector(3, room()));
  const MemoryLayout layout = lay_out_memory(plan, placement, everybody_reaches(3), false, nullptr);
  EXPECT_EQ(layout.staged_wires, 0U);
  for (std::size_t i = 0; i < plan.wires.size(); ++i) {
    EXPECT_EQ(layout.wires[i].head.area, plan.lanes[plan.wires[i].sender].position);
    EXPECT_EQ(layout.wires[i].tail.area, plan.lanes[plan.wires[i].receiver].position);
    EXPECT_EQ(layout.wires[i].data.area, plan.lanes[plan.wires[i].receiver].position);
  }
}

// Access must be there in both directions: data go one way, room for more the other.
TEST(CudaMemory, WiresBetweenStrangersGoThroughTheHost) {
  const Plan plan = ring_plan(3);
  const Placement placement = placed(plan, std::vector(3, room()));
  auto reaches = everybody_reaches(3);
  reaches[1][0] = false;
  const MemoryLayout layout = lay_out_memory(plan, placement, reaches, false, nullptr);
  EXPECT_EQ(layout.staged_wires, 1U);
  for (std::size_t i = 0; i < plan.wires.size(); ++i) {
    const std::set<std::uint32_t> ends = {plan.lanes[plan.wires[i].sender].position,
                                          plan.lanes[plan.wires[i].receiver].position};
    const bool through_host = ends == std::set<std::uint32_t>{0, 1};
    EXPECT_EQ(layout.wires[i].data.area == layout.host_area(), through_host);
    EXPECT_EQ(layout.wires[i].tail.area == layout.host_area(), through_host);
    EXPECT_EQ(layout.wires[i].head.area == layout.host_area(), through_host);
  }
}

TEST(CudaMemory, EmulatedLinksAreOnTheFirstGpu) {
  const Plan plan = ring_plan(3);
  const Placement placement = placed(plan, {room()}, true);
  const Pacing pacing =
      make_pacing(plan, {make_ring(3, {.bandwidth = gigabytes_per_second(1)}), {}, {}});
  const MemoryLayout with = lay_out_memory(plan, placement, everybody_reaches(1), false, &pacing);
  const MemoryLayout without =
      lay_out_memory(plan, placement, everybody_reaches(1), false, nullptr);
  EXPECT_GE(
      with.area_bytes[0] - without.area_bytes[0],
      sizeof(PacedLinks) + pacing.wires.size() * sizeof(PacedWire) + pacing.links * sizeof(double));
  EXPECT_EQ(with.link_lock.offset % 128, 0U);
}

// --- clocks -------------------------------------------------------------------------------------

TEST(CudaClocks, TheQuickestExchangeCounts) {
  const std::vector<PingTimes> times = {
      {1000, 9000, 8'000'000}, {20'000, 22'000, 1'021'300}, {0, 0, 0}, {50'000, 60'000, 0}};
  const ClockOffset offset = offset_of(times).value();
  EXPECT_DOUBLE_EQ(offset.ahead_ns, 1'000'300);
  EXPECT_DOUBLE_EQ(offset.uncertainty_ns, 1000);
}

TEST(CudaClocks, AClockMayBeBehindByMuch) {
  const std::uint64_t now = 1'800'000'000'000'000'000;  // ns since 1970
  const std::vector<PingTimes> times = {{now, now + 1000, now - 5'000'000'000}};
  EXPECT_DOUBLE_EQ(offset_of(times).value().ahead_ns, -5'000'000'500);
}

TEST(CudaClocks, WithoutAnAnswerNothingIsKnown) {
  EXPECT_FALSE(offset_of({}));
  EXPECT_FALSE(offset_of(std::vector<PingTimes>{{0, 0, 0}, {1000, 2000, 0}}));
}

}  // namespace
}  // namespace collsim
