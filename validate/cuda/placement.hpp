// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "validate/backend.hpp"
#include "validate/plan.hpp"

namespace collsim {

// Which GPU plays which ranks.  Plain arithmetic: no GPU is needed to test it.
//
// A lane is a thread block, and all blocks of a run must be on the GPU at once, since they wait for
// each other: what does not fit is refused, with the numbers.

// The sizes of thread blocks there are to choose from: more threads move data faster, fewer leave
// room for more lanes.
inline constexpr std::array<int, 5> block_sizes = {512, 256, 128, 64, 32};

// What one GPU can hold of a kernel.
struct GpuRoom {
  std::string name;  // "GPU 0 (NVIDIA H200)"
  int multiprocessors = 0;
  // Per block size: blocks that one multiprocessor holds at once, with the lanes' instructions in
  // fast shared memory and without.
  std::array<int, block_sizes.size()> blocks_with_steps{};
  std::array<int, block_sizes.size()> blocks_without{};
};

struct Placement {
  std::vector<std::uint32_t> gpu_of;              // by position
  std::vector<std::vector<std::uint32_t>> lanes;  // per GPU: numbers of lanes of the plan
  int threads = 0;                                // of every block
  bool steps_in_shared_memory = false;
  bool virtual_ranks = false;  // several ranks share a GPU

  [[nodiscard]] std::uint32_t gpus() const { return static_cast<std::uint32_t>(lanes.size()); }
};

// Positions go to GPUs in order, as evenly as possible; a GPU that would have none is not used.
// `one_gpu` puts all on the first: paced runs need one clock for all lanes.  `threads` as in
// RunOptions: 0 takes the largest size with which everything fits.
//
// NoMeasurement{unavailable}: a number of threads that a block cannot have.  {too_large}: more
// lanes than the GPU holds.
[[nodiscard]] std::variant<Placement, NoMeasurement> place_ranks(const Plan& plan,
                                                                 std::span<const GpuRoom> gpus,
                                                                 bool one_gpu, int threads);

// The most shared memory that the lanes' instructions may take; a plan with more leaves them where
// they are.  Enough to run 2 blocks on a multiprocessor of any GPU since 2020.
inline constexpr std::uint64_t most_shared_bytes = 40'000;
// Of a block: its job alone, and with all wires and the most steps that a lane has.
[[nodiscard]] std::uint64_t shared_bytes(const Plan& plan, bool with_steps);

// "8 ranks on 2 GPUs, 4 to each: virtual" or "" when every rank has a GPU of its own.
[[nodiscard]] std::string virtual_ranks_note(const Plan& plan, const Placement& placement);

}  // namespace collsim
