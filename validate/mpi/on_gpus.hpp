// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/backend.hpp"
#include "validate/mpi/crew.hpp"
#include "validate/mpi/gpu_work.hpp"

namespace collsim {

// Process 0: lets all carry it out.  Throws the NoMeasurement that they agree on, and
// ProcessesLost.
[[nodiscard]] Measurement run_on_gpus(Crew& crew, GpuWork work);

}  // namespace collsim
