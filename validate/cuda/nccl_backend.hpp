// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "validate/backend.hpp"
#include "validate/cuda/nccl_calls.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// NVIDIA's NCCL carries out the same collective with the same sizes on the GPUs of this machine,
// one rank per GPU: something to compare with, for it does not run our schedules.
//
// Why it cannot be used here, if so: no GPU, no NCCL.  Looks in a child process, because a process
// that has touched CUDA cannot fork any more; the calling process must have no other threads.
[[nodiscard]] std::optional<std::string> nccl_unavailable();

// Times are by the method of nccl-tests: calls one after the other without waiting in between.  An
// iteration's time is between two events in the GPUs' queues, the mean over the GPUs; what
// nccl-tests would print (a host's clock around all, divided by their number) stands in a note, and
// so does what NCCL itself expects.  Where launching takes most of the time, calls are launched as
// a CUDA graph of several.  Every rank's data is compared in a separate run before.
//
// Positions of the group go to GPUs in order, as in run_on_cuda().
//
// unavailable: fewer GPUs than ranks, a paced case (NCCL cannot be held back), no elements.
//
// In this process, whose environment has NCCL_ALGO and NCCL_PROTO meanwhile and in which NCCL stays
// loaded.  CUDA cannot be used in a fork afterwards: call it in a child.
[[nodiscard]] RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options,
                                     NcclChoice choice);

// NCCL does what the schedule does, where it can; the notes say whether.
[[nodiscard]] RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options);

// NCCL does what it thinks best.
[[nodiscard]] RunOutcome run_on_free_nccl(const RunCase& run_case, const RunOptions& options);

// What NCCL is to do, for processes that do not have the schedule.  Throws NoMeasurement where NCCL
// cannot do it at all.
struct NcclTask {
  Collective collective;
  NcclSettings settings;
};
[[nodiscard]] NcclTask nccl_task(const RunCase& run_case, NcclChoice choice);

// The same between processes, on one host or several, with a rank and a GPU each.  All end alike.
// NCCL's calls that connect ranks have no time limit, but ProcessTeam has one.
[[nodiscard]] RunOutcome run_on_nccl(const NcclTask& task, const RunOptions& options,
                                     ProcessTeam& team);

}  // namespace collsim
