// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/device_policy.cuh"
#include "validate/cuda/gpu_clocks.hpp"

namespace collsim {
namespace {

// The least by which the clock moves on, of several hundred times.
__global__ void watch_clock(std::uint64_t* tick) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t before = DevicePolicy::now();
  for (int i = 0; i < 300; ++i) {
    std::uint64_t after = DevicePolicy::now();
    while (after == before) after = DevicePolicy::now();
    least = after - before < least ? after - before : least;
    before = after;
  }
  *tick = least;
}

__device__ bool is_there(DevicePolicy& policy, const std::uint64_t* word, std::uint64_t least) {
  const std::uint64_t begin = policy.now();
  while (policy.load_acquire(word) < least)
    if (policy.now() - begin > ping_patience_ns) return false;
  return true;
}

__global__ void ping(PingPong* shared, PingTimes* times) {
  DevicePolicy policy;
  for (std::uint64_t i = 0; i < ping_rounds; ++i) {
    times[i].sent = policy.now();
    policy.store_release(&shared->ping, i + 1);
    if (!is_there(policy, &shared->pong, i + 1)) return;
    times[i].back = policy.now();
  }
}

__global__ void pong(PingPong* shared, PingTimes* times) {
  DevicePolicy policy;
  for (std::uint64_t i = 0; i < ping_rounds; ++i) {
    if (!is_there(policy, &shared->ping, i + 1)) return;
    times[i].answered = policy.now();
    policy.store_release(&shared->pong, i + 1);
  }
}

}  // namespace

const void* clock_kernel() {
  return reinterpret_cast<const void*>(watch_clock);
}
const void* ping_kernel() {
  return reinterpret_cast<const void*>(ping);
}
const void* pong_kernel() {
  return reinterpret_cast<const void*>(pong);
}

}  // namespace collsim
