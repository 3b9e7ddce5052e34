// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "validate/cuda/device_arithmetic.cuh"
#include "validate/cuda/device_mover.cuh"
#include "validate/cuda/device_policy.cuh"
#include "validate/cuda/gpu_meeting.hpp"
#include "validate/cuda/interpreter.hpp"
#include "validate/lane_runner.hpp"
#include "validate/sender_pace.hpp"

namespace collsim {

template <class Record>
__device__ void copy_to_shared(Record* to, const Record* from, std::uint32_t count) {
  static_assert(sizeof(Record) % 8 == 0);
  const auto* source = reinterpret_cast<const std::uint64_t*>(from);
  auto* destination = reinterpret_cast<std::uint64_t*>(to);
  for (std::uint32_t i = threadIdx.x; i < count * (sizeof(Record) / 8); i += blockDim.x)
    destination[i] = source[i];
}

// Dynamic shared memory: see shared_bytes() of placement.hpp.
template <Protocol protocol, class Arithmetic>
__global__ void __launch_bounds__(max_threads_per_block, blocks_of_max_size)
    run_lanes(const LaneLaunch launch) {
  if (launch.jobs == nullptr) return;
  extern __shared__ __align__(16) std::byte shared_memory[];
  auto& job = *reinterpret_cast<LaneJob*>(shared_memory);
  copy_to_shared(&job, launch.jobs + blockIdx.x, 1);
  __syncthreads();
  if (launch.steps_in_shared_memory) {
    const Wire* const wires = job.wires;
    const LaneStep* const steps = job.steps;
    auto* const own_wires = reinterpret_cast<Wire*>(shared_memory + sizeof(LaneJob));
    auto* const own_steps = reinterpret_cast<LaneStep*>(own_wires + launch.wires);
    copy_to_shared(own_wires, wires, launch.wires);
    copy_to_shared(own_steps, steps, job.step_count);
    __syncthreads();
    if (threadIdx.x == 0) {
      job.wires = own_wires;
      job.steps = own_steps;
    }
    __syncthreads();
  }

  DevicePolicy policy;
  const bool introduces_gpu = blockIdx.x == 0 && launch.meeting.gpus > 1;
  if (introduces_gpu && !policy.all(threadIdx.x == 0 && gpus_meet(launch.meeting, job, policy)))
    return;
  const DeviceMover<Arithmetic> mover(Arithmetic(launch.type, launch.reduction));
  using Pace = SenderPace<DevicePolicy>;
  LaneRunner<DevicePolicy, DeviceMover<Arithmetic>, Pace>(policy, mover, job, protocol,
                                                          Pace(policy, job))
      .run();
}

// The kernels of one protocol; each has a file of its own, so that they compile side by side.
template <Protocol protocol>
const void* kernel_of(ElementType type, Reduction reduction) {
  const bool adds = reduction == Reduction::sum || reduction == Reduction::avg;
  if (adds && type == ElementType::f32)
    return reinterpret_cast<const void*>(run_lanes<protocol, FixedArithmetic<Plain<float>, Add>>);
  if (adds && type == ElementType::f16)
    return reinterpret_cast<const void*>(run_lanes<protocol, FixedArithmetic<Half, Add>>);
  if (adds && type == ElementType::bf16)
    return reinterpret_cast<const void*>(run_lanes<protocol, FixedArithmetic<Brain, Add>>);
  return reinterpret_cast<const void*>(run_lanes<protocol, AnyArithmetic>);
}

}  // namespace collsim
