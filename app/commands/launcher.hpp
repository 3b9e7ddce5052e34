// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/study/sweep_part.hpp"

namespace collsim {

// The value of an environment variable; nothing where it is not set, or empty.
using Environment = std::function<std::optional<std::string>(const char* variable)>;
[[nodiscard]] Environment process_environment();

// What the variables of launchers say about this process.
//
//   mpirun of Open MPI      OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE
//   MPICH, Intel MPI, PMI   PMI_RANK, PMI_SIZE, MPI_LOCALNRANKS
//   srun                    SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_TASKS_PER_NODE
//   a Slurm job array       SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT
//
// The first of those launchers that is there counts: mpirun inside of an allocation inherits what
// Slurm says of its job.  SLURM_NTASKS alone is no launcher: shells and batch scripts of an
// allocation have it, too, though they are one process.  The tasks of an array count besides: each
// with its own processes.
struct Launch {
  std::optional<SweepPart> part;  // nothing: this process was started alone
  int threads = 1;                // cores for each process on this node
};
// Throws UsageError: an array with gaps does not tell which part is which.
[[nodiscard]] Launch launch_of(const Environment& environment);

}  // namespace collsim
