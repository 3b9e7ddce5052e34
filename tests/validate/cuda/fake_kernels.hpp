// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace collsim::testing {

// Which of the kernels this is: kernel_addresses.cpp has kernels that are nothing but addresses,
// and with kernel_names.cpp those that nvcc compiled are known by name.
enum class KernelKind { simple, low_latency, clock, ping, pong, step };
[[nodiscard]] KernelKind kind_of(const void* kernel);

struct LanesOfLaunch {
  const void* kernel = nullptr;
  int device = 0;
  int blocks = 0;
  int threads = 0;
  std::size_t shared_bytes = 0;
};

// "", or why real GPUs could not run this: pointers that the GPU does not reach, too little memory.
[[nodiscard]] std::string problem_of(const LanesOfLaunch& lanes, void** arguments);
// What the kernels do, on CPU threads; nothing: it is a rehearsal.
[[nodiscard]] std::function<void()> lane_work(const LanesOfLaunch& lanes, void** arguments);
[[nodiscard]] std::function<void()> clock_work(const void* kernel, int device, void** arguments);

// "", or why real GPUs could not run this step.
[[nodiscard]] std::string problem_of_step(int device, int blocks, int threads, void** arguments);
[[nodiscard]] std::function<void()> step_work(void** arguments);

// Whether a GPU can read and write there.
[[nodiscard]] bool reaches(int device, const void* place);

}  // namespace collsim::testing
