// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/placement.hpp"

#include <algorithm>

namespace collsim {
namespace {

NoMeasurement refusal(NoMeasurement::Why why, const std::string& reason) {
  return {why, reason};
}

std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void assign(const Plan& plan, std::uint32_t gpus, Placement& placement) {
  const auto ranks = static_cast<std::uint32_t>(plan.memory.size());
  for (std::uint32_t position = 0; position < ranks; ++position)
    placement.gpu_of.push_back(static_cast<std::uint32_t>(std::uint64_t{position} * gpus / ranks));
  placement.lanes.resize(gpus);
  for (std::uint32_t number = 0; number < plan.lanes.size(); ++number)
    placement.lanes[placement.gpu_of[plan.lanes[number].position]].push_back(number);
  placement.virtual_ranks = gpus < ranks;
}

bool fits(const Placement& placement, std::span<const GpuRoom> gpus, std::size_t size,
          bool with_steps) {
  for (std::uint32_t gpu = 0; gpu < placement.gpus(); ++gpu) {
    const GpuRoom& room = gpus[gpu];
    const int blocks = (with_steps ? room.blocks_with_steps : room.blocks_without)[size];
    if (placement.lanes[gpu].size() >
        static_cast<std::size_t>(blocks) * static_cast<std::size_t>(room.multiprocessors))
      return false;
  }
  return true;
}

NoMeasurement too_many_lanes(const Placement& placement, std::span<const GpuRoom> gpus,
                             std::size_t size) {
  for (std::uint32_t gpu = 0; gpu < placement.gpus(); ++gpu) {
    const GpuRoom& room = gpus[gpu];
    const auto blocks = static_cast<std::size_t>(room.blocks_without[size]);
    const std::size_t most = blocks * static_cast<std::size_t>(room.multiprocessors);
    if (placement.lanes[gpu].size() <= most) continue;
    return refusal(NoMeasurement::Why::too_large,
                   counted(placement.lanes[gpu].size(), "lane") + " must run at once on " +
                       room.name + ", which holds " + std::to_string(most) + " blocks of " +
                       std::to_string(block_sizes[size]) + " threads (" + std::to_string(blocks) +
                       " on each of " + std::to_string(room.multiprocessors) +
                       " multiprocessors): use fewer ranks or channels, or more GPUs");
  }
  return {};
}

}  // namespace

std::variant<Placement, NoMeasurement> place_ranks(const Plan& plan, std::span<const GpuRoom> gpus,
                                                   bool one_gpu, int threads) {
  if (gpus.empty()) return refusal(NoMeasurement::Why::unavailable, "no GPU");
  const auto ranks = static_cast<std::uint32_t>(plan.memory.size());
  Placement placement;
  assign(plan, one_gpu ? 1 : std::min(ranks, static_cast<std::uint32_t>(gpus.size())), placement);
  const auto* const wanted = std::find(block_sizes.begin(), block_sizes.end(), threads);
  if (threads != 0 && wanted == block_sizes.end())
    return refusal(
        NoMeasurement::Why::unavailable,
        std::to_string(threads) + " threads per lane: a GPU's lane has 32, 64, 128, 256 or 512");
  for (std::size_t size = 0; size < block_sizes.size(); ++size) {
    if (threads != 0 && block_sizes[size] != threads) continue;
    for (const bool with_steps : {true, false}) {
      if (with_steps && shared_bytes(plan, true) > most_shared_bytes) continue;
      if (!fits(placement, gpus, size, with_steps)) continue;
      placement.threads = block_sizes[size];
      placement.steps_in_shared_memory = with_steps;
      return placement;
    }
  }
  const std::size_t last = threads == 0 ? block_sizes.size() - 1
                                        : static_cast<std::size_t>(wanted - block_sizes.begin());
  return too_many_lanes(placement, gpus, last);
}

std::uint64_t shared_bytes(const Plan& plan, bool with_steps) {
  if (!with_steps) return sizeof(LaneJob);
  std::uint64_t most_steps = 0;
  for (const PlannedLane& lane : plan.lanes)
    most_steps = std::max<std::uint64_t>(most_steps, lane.step_count);
  return sizeof(LaneJob) + plan.wires.size() * sizeof(Wire) + most_steps * sizeof(LaneStep);
}

std::string virtual_ranks_note(const Plan& plan, const Placement& placement) {
  if (!placement.virtual_ranks) return "";
  const auto ranks = static_cast<std::uint64_t>(plan.memory.size());
  const std::uint64_t least = ranks / placement.gpus();
  const std::uint64_t most = (ranks + placement.gpus() - 1) / placement.gpus();
  std::string text =
      "ranks were virtual: " + counted(ranks, "rank") + " on " + counted(placement.gpus(), "GPU");
  if (placement.gpus() > 1)
    text += ", " +
            (least == most ? std::to_string(least)
                           : std::to_string(least) + " or " + std::to_string(most)) +
            " to each";
  return text + ", sharing their memory: where ranks share a GPU no link between GPUs was measured";
}

}  // namespace collsim
