// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "validate/backend.hpp"
#include "validate/mpi/crew.hpp"
#include "validate/mpi/gpu_work.hpp"

namespace collsim {

// Who the processes of the job are.
[[nodiscard]] std::vector<TeamMember> members_of(const Crew& crew);
// A host may let a process wait, while the GPUs of the others wait for its own.
[[nodiscard]] RunOptions patient(RunOptions options);

// Process 0: lets all carry it out.  Throws the NoMeasurement that they agree on, and
// ProcessesLost.
[[nodiscard]] Measurement run_on_gpus(Crew& crew, GpuWork work);

}  // namespace collsim
