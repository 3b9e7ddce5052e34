// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/step_kernel.hpp"

#include "validate/cuda/device_arithmetic.cuh"
#include "validate/cuda/device_mover.cuh"

namespace collsim {
namespace {

// DeviceMover's team: the whole launch.
struct AllThreads {
  [[nodiscard]] __device__ static std::uint32_t thread() {
    return blockIdx.x * blockDim.x + threadIdx.x;
  }
  [[nodiscard]] __device__ static std::uint32_t threads() { return gridDim.x * blockDim.x; }
};

__global__ void __launch_bounds__(threads_of_step) run_step(const StepLaunch launch) {
  const DeviceMover<AnyArithmetic> mover(AnyArithmetic(launch.type, launch.reduction));
  if (launch.source == nullptr)
    mover.move(AllThreads(), launch.message, launch.to, launch.also_to, launch.bytes);
  else
    mover.combine(AllThreads(), launch.message, launch.source, launch.to, launch.also_to,
                  launch.bytes);
}

}  // namespace

const void* step_kernel() {
  return reinterpret_cast<const void*>(run_step);
}

}  // namespace collsim
