// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "validate/lane_job.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// The memory that lanes of a process work on when messages come and go over MPI: the host's, or
// that of a GPU.  What a lane has begun may take its time; a lane begins one thing at a time.
//
// Memory of a GPU throws NoMeasurement when something of the machine fails.
class LaneMemory {
 public:
  LaneMemory() = default;
  LaneMemory(const LaneMemory&) = delete;
  LaneMemory& operator=(const LaneMemory&) = delete;
  virtual ~LaneMemory() = default;

  virtual void expect_lanes(std::size_t count) = 0;
  // They live as long as this object: data of a rank, and slots of messages, where MPI can reach
  // them.
  [[nodiscard]] virtual std::byte* allocate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::byte* allocate_slots(std::uint64_t bytes) = 0;
  // MPI does not reach data of ranks: what a message takes from them is to be written to a slot.
  [[nodiscard]] virtual bool sends_from_slots() const = 0;

  // At once, while no lane works.
  virtual void fill(std::byte* to, std::byte value, std::uint64_t bytes) = 0;
  virtual void write(std::byte* to, const std::vector<std::byte>& data) = 0;
  [[nodiscard]] virtual std::vector<std::byte> read(const std::byte* from,
                                                    std::uint64_t bytes) const = 0;

  // A lane begins what the step does to data; `also_to` may be null, `to` be `from` or `source`.
  virtual void move(std::size_t lane, const LaneStep& step, const std::byte* from, std::byte* to,
                    std::byte* also_to) = 0;
  virtual void combine(std::size_t lane, const LaneStep& step, const std::byte* message,
                       const std::byte* source, std::byte* to, std::byte* also_to) = 0;
  [[nodiscard]] virtual bool has_ended(std::size_t lane) = 0;

  // Nothing is freed any more: somebody may still write to it.
  virtual void abandon() = 0;
};

[[nodiscard]] std::unique_ptr<LaneMemory> make_host_lane_memory();

// On the GPU of this process in a team with one for each.  `reached_by_mpi`: MPI sends from and
// receives in a GPU's memory; else slots are pinned memory of the host.
struct LaneMemoryOnGpu {
  std::unique_ptr<LaneMemory> memory;
  std::string names;  // of the GPUs of the team: "4 x NVIDIA H200"
};
[[nodiscard]] LaneMemoryOnGpu make_gpu_lane_memory(ProcessTeam& team, bool reached_by_mpi);

}  // namespace collsim
