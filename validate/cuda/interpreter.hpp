// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/element.hpp"
#include "validate/cuda/gpu_meeting.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

// The argument of the interpreter's kernels: one thread block for each lane of one GPU.
struct LaneLaunch {
  const LaneJob* jobs = nullptr;  // one per block; null: there is nothing to do, a rehearsal
  GpuMeeting meeting;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  // Before the run starts a block copies its steps, and all of that many wires, to its shared
  // memory.
  bool steps_in_shared_memory = false;
  std::uint32_t wires = 0;
};

// Two blocks of this size fit on a multiprocessor: one moves data while the other waits.
inline constexpr int max_threads_per_block = 512;
inline constexpr int blocks_of_max_size = 2;

// A kernel as the CUDA runtime wants it.  The usual types and reductions have one of their own, the
// others share one that looks up what to do as it goes.
[[nodiscard]] const void* simple_kernel(ElementType type, Reduction reduction);
[[nodiscard]] const void* low_latency_kernel(ElementType type, Reduction reduction);

}  // namespace collsim
