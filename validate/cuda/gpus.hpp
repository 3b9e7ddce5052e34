// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "validate/cuda/placement.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// The GPUs that CUDA shows to this process and that can run the interpreter.
struct Gpu {
  int device = 0;  // CUDA's number
  std::string name;
  int multiprocessors = 0;
  int major = 0, minor = 0;  // compute capability
  std::string identity;      // the same for every process that sees this GPU, under any number
};

// Throws NoMeasurement{unavailable}: no driver, a driver too old, no GPU, only GPUs that are too
// old.
[[nodiscard]] std::vector<Gpu> find_gpus();

// The GPU of this process in a team with one for each: of those that CUDA shows to it, the one of
// its place on the host; and the names of all that the team has.  Throws NoMeasurement at all
// processes when two would share a GPU.
struct TeamGpu {
  Gpu own;
  std::string names;  // "4 x NVIDIA H200"
};
[[nodiscard]] TeamGpu gpu_in(ProcessTeam& team);

// "2 x NVIDIA H200", "NVIDIA H200, NVIDIA A100"
[[nodiscard]] std::string names_of(const std::vector<Gpu>& gpus, std::size_t count);

[[nodiscard]] std::uint64_t free_memory(const Gpu& gpu);

// Loads the kernel on the GPU, so that nothing needs to be loaded while lanes wait for each other,
// and says how many of its blocks find room there.
[[nodiscard]] GpuRoom room_on(const Gpu& gpu, const void* kernel, std::uint64_t shared_bytes,
                              std::uint64_t shared_bytes_with_steps);

// [a][b]: a reads and writes the memory of b.  Access is switched on where the machine has it;
// where it is there but refused, `notes` says so and there is none.
[[nodiscard]] std::vector<std::vector<bool>> connect_peers(const std::vector<Gpu>& gpus,
                                                           std::size_t count,
                                                           std::vector<std::string>& notes);

}  // namespace collsim
