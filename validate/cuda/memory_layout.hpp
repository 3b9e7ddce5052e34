// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "validate/cuda/placement.hpp"
#include "validate/pacing.hpp"
#include "validate/plan.hpp"

namespace collsim {

// Where everything of a run lies: one stretch of memory on every GPU, and one of the host that all
// GPUs can reach.  Plain arithmetic: no GPU is needed to test it.
//
//   on the GPU of ...     what
//   the rank              input, output and scratch
//   the receiver          a wire's slots, its count of messages written, arrival times
//   the sender            a wire's count of messages consumed
//   the lane              its job, steps, times, count of runs
//   each                  all wires' addresses, the start of its own lanes
//   the first             emulated links
//   the host              abort word and trouble, the meeting of GPUs, the notes by which they
//                         compare their clocks, and everything of wires
//                         between two GPUs that cannot reach each other's memory
//
// Every polled word has a 128-byte line of its own.

// Offset into one of the stretches; the host's is number `gpus`.
struct Location {
  std::uint32_t area = 0;
  std::uint64_t offset = 0;

  bool operator==(const Location&) const = default;
};

struct MemoryLayout {
  struct OfWire {
    Location tail, head, data, arrivals;
  };
  struct OfLane {
    Location run, times, step_times;
    std::uint64_t first_step = 0;  // in its GPU's list
  };
  struct OfGpu {
    Location jobs, steps, wires, shared;
    std::uint64_t steps_count = 0;
  };

  std::vector<std::uint64_t> area_bytes;  // per GPU, then the host's
  std::vector<Location> ranks;            // by position
  std::vector<OfWire> wires;
  std::vector<OfLane> lanes;  // by number
  std::vector<OfGpu> gpus;
  Location verdict, meeting, clock_notes;                        // on the host
  Location links, paced_wires, route_links, free_at, link_lock;  // only if paced
  std::uint32_t staged_wires = 0;  // wires that go through the host's memory

  [[nodiscard]] std::uint32_t host_area() const {
    return static_cast<std::uint32_t>(area_bytes.size() - 1);
  }
};

// `reaches[a][b]`: GPU a can read and write the memory of GPU b.  A wire whose two GPUs do not both
// reach each other is staged.  `record`: there is room for the times of every step.
[[nodiscard]] MemoryLayout lay_out_memory(const Plan& plan, const Placement& placement,
                                          const std::vector<std::vector<bool>>& reaches,
                                          bool record, const Pacing* pacing);

}  // namespace collsim
