// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/memory_layout.hpp"

#include <algorithm>

#include "validate/cuda/gpu_clocks.hpp"
#include "validate/cuda/interpreter.hpp"

namespace collsim {
namespace {

constexpr std::uint64_t line = 128;

class Layouter {
 public:
  Layouter(const Plan& plan, const Placement& placement,
           const std::vector<std::vector<bool>>& reaches)
      : plan_(plan), placement_(placement), reaches_(reaches) {
    layout_.area_bytes.assign(placement.gpus() + std::size_t{1}, 0);
    layout_.gpus.resize(placement.gpus());
  }

  MemoryLayout lay_out(bool record, const Pacing* pacing) {
    const std::uint32_t host = layout_.host_area();
    layout_.verdict = take(host, sizeof(RunShared));
    layout_.meeting = take(host, placement_.gpus() * meeting_stride * sizeof(std::uint64_t));
    layout_.clock_notes = take(host, clock_note_bytes);
    for (std::size_t position = 0; position < plan_.memory.size(); ++position)
      layout_.ranks.push_back(take(placement_.gpu_of[position], plan_.memory[position].bytes));
    for (const PlannedWire& wire : plan_.wires) place(wire);
    layout_.lanes.resize(plan_.lanes.size());
    for (std::uint32_t gpu = 0; gpu < placement_.gpus(); ++gpu) place_lanes(gpu, record);
    if (pacing) place(*pacing);
    return std::move(layout_);
  }

 private:
  Location take(std::uint32_t area, std::uint64_t bytes) {
    std::uint64_t& end = layout_.area_bytes[area];
    const Location location{area, end};
    end += (bytes + line - 1) / line * line;
    return location;
  }

  void place(const PlannedWire& wire) {
    const std::uint32_t sender = placement_.gpu_of[plan_.lanes[wire.sender].position];
    const std::uint32_t receiver = placement_.gpu_of[plan_.lanes[wire.receiver].position];
    const bool staged =
        sender != receiver && !(reaches_[sender][receiver] && reaches_[receiver][sender]);
    layout_.staged_wires += staged ? 1 : 0;
    const std::uint32_t at_sender = staged ? layout_.host_area() : sender;
    const std::uint32_t at_receiver = staged ? layout_.host_area() : receiver;
    MemoryLayout::OfWire& places = layout_.wires.emplace_back();
    places.tail = take(at_receiver, line);
    places.head = take(at_sender, line);
    places.data = take(at_receiver, wire.slots * wire.slot_bytes);
    places.arrivals = take(at_receiver, wire.moments() * sizeof(std::uint64_t));
  }

  void place_lanes(std::uint32_t gpu, bool record) {
    MemoryLayout::OfGpu& places = layout_.gpus[gpu];
    const std::vector<std::uint32_t>& lanes = placement_.lanes[gpu];
    for (const std::uint32_t number : lanes) {
      layout_.lanes[number].first_step = places.steps_count;
      places.steps_count += plan_.lanes[number].step_count;
    }
    places.shared = take(gpu, sizeof(RunShared));
    places.jobs = take(gpu, lanes.size() * sizeof(LaneJob));
    places.steps = take(gpu, places.steps_count * sizeof(LaneStep));
    places.wires = take(gpu, plan_.wires.size() * sizeof(Wire));
    const Location times = take(gpu, lanes.size() * sizeof(LaneTimes));
    const Location step_times = take(gpu, record ? places.steps_count * sizeof(StepTimes) : 0);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      MemoryLayout::OfLane& lane = layout_.lanes[lanes[i]];
      lane.run = take(gpu, line);
      lane.times = {gpu, times.offset + i * sizeof(LaneTimes)};
      lane.step_times = {gpu, step_times.offset + lane.first_step * sizeof(StepTimes)};
    }
  }

  void place(const Pacing& pacing) {
    layout_.links = take(0, sizeof(PacedLinks));
    layout_.paced_wires = take(0, pacing.wires.size() * sizeof(PacedWire));
    layout_.route_links = take(0, pacing.route_links.size() * sizeof(PacedLink));
    layout_.free_at = take(0, pacing.links * sizeof(double));
    layout_.link_lock = take(0, line);
  }

  const Plan& plan_;
  const Placement& placement_;
  const std::vector<std::vector<bool>>& reaches_;
  MemoryLayout layout_;
};

}  // namespace

MemoryLayout lay_out_memory(const Plan& plan, const Placement& placement,
                            const std::vector<std::vector<bool>>& reaches, bool record,
                            const Pacing* pacing) {
  return Layouter(plan, placement, reaches).lay_out(record, pacing);
}

}  // namespace collsim
