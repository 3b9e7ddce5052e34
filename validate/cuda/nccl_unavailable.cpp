// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_backend.hpp"

// In the place of nccl_backend.cpp where there is no CUDA to build with.

namespace collsim {
namespace {

constexpr const char* no_nccl =
    "this program was built without CUDA; \"./dev run\" builds it with CUDA when its arguments "
    "name "
    "this backend, and cmake with -DCOLLSIM_CUDA=ON";

}  // namespace

std::optional<std::string> nccl_unavailable() {
  return no_nccl;
}

RunOutcome run_on_nccl(const RunCase&, const RunOptions&, NcclChoice) {
  return NoMeasurement{NoMeasurement::Why::unavailable, no_nccl};
}

RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::as_scheduled);
}

RunOutcome run_on_free_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::free);
}

NcclTask nccl_task(const RunCase&, NcclChoice) {
  throw NoMeasurement{NoMeasurement::Why::unavailable, no_nccl};
}

RunOutcome run_on_nccl(const NcclTask&, const RunOptions&, ProcessTeam&) {
  return NoMeasurement{NoMeasurement::Why::unavailable, no_nccl};
}

}  // namespace collsim
