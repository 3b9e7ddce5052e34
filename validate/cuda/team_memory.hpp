// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "validate/cuda/cuda_check.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// Memory that processes on one host, with a GPU each, give each other.  All processes of a team
// call these functions at once; they throw NoMeasurement.

struct CloseMemory {
  void operator()(std::byte* memory) const { static_cast<void>(cudaIpcCloseMemHandle(memory)); }
};
using PeerMemory = std::unique_ptr<std::byte, CloseMemory>;  // of another process, on its GPU

// [a][b]: the GPU of process a reads and writes memory of the GPU of process b.  Found by trying;
// `notes` says why not.
[[nodiscard]] std::vector<std::vector<bool>> reach_in(ProcessTeam& team, int device,
                                                      std::vector<std::string>& notes);

// The memory of each process, by process; null for its own, and for those that it does not reach.
[[nodiscard]] std::vector<PeerMemory> open_memory_of_all(
    ProcessTeam& team, const DeviceMemory& own, const std::vector<std::vector<bool>>& reaches);

// Pinned memory of the host that all processes and their GPUs share.  All bytes are zero.
class TeamHostMemory {
 public:
  TeamHostMemory() = default;
  TeamHostMemory(ProcessTeam& team, std::uint64_t bytes);
  TeamHostMemory(TeamHostMemory&& other) noexcept;
  TeamHostMemory& operator=(TeamHostMemory&& other) noexcept;
  TeamHostMemory(const TeamHostMemory&) = delete;
  TeamHostMemory& operator=(const TeamHostMemory&) = delete;
  ~TeamHostMemory();

  [[nodiscard]] std::byte* get() const { return begin_; }
  void release() { begin_ = nullptr; }  // a GPU that hangs may still use it

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace collsim
