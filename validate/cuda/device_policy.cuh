// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "validate/lane_job.hpp"

namespace collsim {

// The policy of LaneRunner (validate/lane_runner.hpp) for a thread of a GPU's thread block.
//
// Words shared between lanes may be in the memory of this GPU, of another one or of the host, so
// all that orders anything has system scope.  A block's barrier carries on what its leader
// acquired, and the leader's release covers what the others wrote before a barrier.
class DevicePolicy {
 public:
  // A turn takes the better part of a microsecond, a look at the host's memory several.
  static constexpr std::uint32_t turns_between_looks = 256;

  [[nodiscard]] __device__ std::uint32_t thread() const { return threadIdx.x; }
  [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }

  __device__ void barrier() { __syncthreads(); }
  __device__ bool all(bool leader_says) {
    return __syncthreads_or(threadIdx.x == 0 && leader_says) != 0;
  }
  __device__ bool all_agree(bool agree) { return __syncthreads_and(agree) != 0; }

  [[nodiscard]] __device__ std::uint64_t load_acquire(const std::uint64_t* word) const {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  [[nodiscard]] __device__ std::uint64_t load(const std::uint64_t* word) const {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  __device__ void store(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
  __device__ void store_release(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
  __device__ void release() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
  __device__ void publish(std::uint64_t* word, std::uint64_t value) { store(word, value); }
  __device__ std::uint64_t add(std::uint64_t* word, std::uint64_t value) {
    std::uint64_t before;
    asm volatile("atom.add.acq_rel.sys.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(word), "l"(value)
                 : "memory");
    return before;
  }
  __device__ bool claim(std::uint64_t* word) {
    std::uint64_t before;
    asm volatile("atom.cas.acquire.sys.b64 %0, [%1], 0, 1;" : "=l"(before) : "l"(word) : "memory");
    return before == 0;
  }
  __device__ void unclaim(std::uint64_t* word) { store_release(word, 0); }

  // One access of 16 bytes, in which each word is whole.
  __device__ void load_line(const LowLatencyLine* line, std::uint64_t& first,
                            std::uint64_t& second) const {
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(line)
                 : "memory");
  }
  __device__ void store_line(LowLatencyLine* line, std::uint64_t first, std::uint64_t second) {
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(line), "l"(first), "l"(second)
                 : "memory");
  }

  // One clock for the whole GPU; how finely it ticks is measured (gpu_clocks.hpp).
  [[nodiscard]] __device__ static std::uint64_t now() {
    std::uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
  }

  // Short waits are spun; in long ones the others get the memory to themselves.
  __device__ void pause(const std::uint64_t* /*word*/, std::uint64_t /*seen*/,
                        std::uint32_t times) const {
    if (times >= turns_between_looks) __nanosleep(100);
  }
  __device__ void pause_for_line(std::uint32_t times) const { pause(nullptr, 0, times); }

  __device__ void begins(std::uint32_t /*step*/) const {}
  __device__ void ended(std::uint32_t /*step*/) const {}

  // The GPU sleeps up to twice as long as it is told to, hence half.
  __device__ void sleep_until(std::uint64_t time) const {
    constexpr std::uint64_t worth_sleeping_ns = 2'000;
    constexpr std::uint64_t longest_ns = 1'000'000;
    for (std::uint64_t t = now(); t < time; t = now()) {
      const std::uint64_t half = (time - t) / 2;
      if (half > worth_sleeping_ns)
        __nanosleep(static_cast<unsigned>(half < longest_ns ? half : longest_ns));
    }
  }
};

}  // namespace collsim
