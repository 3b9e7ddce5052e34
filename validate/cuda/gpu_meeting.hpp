// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "validate/lane_job.hpp"
#include "validate/portable.hpp"

namespace collsim {

// How the lanes of several GPUs begin a run together: one lane of each says in the host's memory
// that its GPU has arrived, and waits for the others.  No GPU need be able to count in another's
// memory.
struct GpuMeeting {
  std::uint64_t* here = nullptr;  // one 128-byte line per GPU: runs that it came to, ever
  std::uint32_t gpu = 0;          // which of them this is
  std::uint32_t gpus = 1;
};
inline constexpr std::uint64_t meeting_stride = 16;  // words from one GPU's line to the next

// Until every GPU has come to this run of the job; false when it is given up, and then the job's
// verdict says so.  Called by one thread of each GPU; Policy as for LaneRunner.
template <class Policy>
COLLSIM_LANE_CODE bool gpus_meet(const GpuMeeting& meeting, const LaneJob& job, Policy& policy) {
  const std::uint64_t run = policy.load(job.run) + 1;
  const std::uint64_t begin = policy.now();
  policy.store_release(meeting.here + meeting.gpu * meeting_stride, run);
  for (std::uint32_t gpu = 0; gpu < meeting.gpus; ++gpu) {
    while (policy.load_acquire(meeting.here + gpu * meeting_stride) < run) {
      const bool given_up = policy.load(&job.verdict->abort) != 0;
      if (!given_up && policy.now() - begin <= job.patience_ns) continue;
      Trouble& trouble = job.verdict->trouble;
      if (!given_up && policy.claim(&trouble.claimed)) {
        trouble.kind = WaitKind::start;
        trouble.lane = job.number;
        trouble.wanted = meeting.gpus;
        trouble.seen = gpu;
      }
      policy.store_release(&job.verdict->abort, 1);
      return false;
    }
  }
  return true;
}

}  // namespace collsim
