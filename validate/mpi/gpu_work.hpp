// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>
#include <vector>

#include "validate/backend.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/mpi/mpi_team.hpp"
#include "validate/note.hpp"
#include "validate/plan.hpp"

namespace collsim {

// A run on GPUs, a process for each: what all processes get to know of it.
struct GpuWork {
  RunOptions options;
  std::vector<TeamMember> all;        // of the job
  std::variant<NcclTask, Plan> what;  // for NCCL, or for lanes of ours

  [[nodiscard]] const Collective& collective() const;
};
[[nodiscard]] Note note_of(const GpuWork& work);
[[nodiscard]] GpuWork gpu_work_from(const Note& note);

// All processes call it at once; those without a rank have nothing to do.  At the others the
// outcome is the same, but only process 0 has the plan that a timeline is made of.
[[nodiscard]] RunOutcome carry_out(const GpuWork& work, const Processes& processes);

}  // namespace collsim
