// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "validate/backend.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/mpi/mpi_team.hpp"
#include "validate/note.hpp"

namespace collsim {

// A run on GPUs, a process for each: what all processes get to know of it.
struct GpuWork {
  RunOptions options;
  std::vector<TeamMember> all;  // of the job
  NcclTask nccl;
};
[[nodiscard]] Note note_of(const GpuWork& work);
[[nodiscard]] GpuWork gpu_work_from(const Note& note);

// All processes call it at once; those without a rank have nothing to do.  The outcome is the same
// at all that have one.
[[nodiscard]] RunOutcome carry_out(const GpuWork& work, const Processes& processes);

}  // namespace collsim
