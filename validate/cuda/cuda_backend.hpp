// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "validate/backend.hpp"
#include "validate/plan.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// Runs schedules on all GPUs that CUDA shows to this process: one thread block per lane, ranks on
// GPUs of their own as far as there are GPUs, several virtual ranks on one beyond that (the notes
// then say so).  GPUs reach into each other's memory where the machine has that, and go through the
// host's memory where it has not.
//
// Paced runs need one clock for all lanes, so all their ranks are on the first GPU.
//
// Times are those of the lanes themselves, by the GPU's clock: from the common start to the end of
// the last.  What a launch costs on top stands in the notes, with and without a CUDA graph, and so
// do the tick of the clock and, with several GPUs, how far their clocks were aligned.
//
// In this process, which cannot use CUDA in a fork afterwards: call it in a child.
[[nodiscard]] RunOutcome run_on_cuda(const RunCase& run_case, const RunOptions& options);

// The same between processes on one host, with a rank and a GPU each, which open each other's
// memory by CUDA IPC.  The plan of process 0 tells what instructions were; the others can do
// without.  All end alike.
[[nodiscard]] RunOutcome run_on_cuda(const Plan& plan, const RunOptions& options,
                                     ProcessTeam& team);

// Why there is nothing to run on, and what would help; nothing when there is.  It starts up CUDA in
// this process: call it in a child as well.
[[nodiscard]] std::optional<std::string> cuda_unavailable();

// What stands in reports beside the numbers.
struct GpuFacts {
  std::string names;  // "2 x NVIDIA H200"
  int gpus = 0;
  int multiprocessors = 0;  // of the first, like all that follows
  std::uint64_t free_bytes = 0;
  std::uint64_t clock_tick_ns = 0;
  double copy_bytes_per_s = 0;  // a plain copy within its memory: bytes read plus bytes written
  std::string driver_cuda;      // the newest CUDA that the driver can do: "13.0"
  std::string runtime_cuda;     // the CUDA that this program was built with
};
// Or why there are none.  `copied_bytes`: how large the copy is whose speed is measured.
[[nodiscard]] std::variant<GpuFacts, std::string> gpu_facts(std::uint64_t copied_bytes);

}  // namespace collsim
