// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_backend.hpp"
#include "validate/lane_memory.hpp"

// In the place of cuda_backend.cpp and gpu_lane_memory.cpp where there is no CUDA to build with.

namespace collsim {
namespace {

constexpr const char* no_cuda =
    "this program was built without CUDA; \"./dev run\" builds it with CUDA when its arguments "
    "name "
    "this backend, and cmake with -DCOLLSIM_CUDA=ON";

}  // namespace

RunOutcome run_on_cuda(const RunCase& /*run_case*/, const RunOptions& /*options*/) {
  return NoMeasurement{NoMeasurement::Why::unavailable, no_cuda};
}

RunOutcome run_on_cuda(const Plan& /*plan*/, const RunOptions& /*options*/, ProcessTeam& /*team*/) {
  return NoMeasurement{NoMeasurement::Why::unavailable, no_cuda};
}

LaneMemoryOnGpu make_gpu_lane_memory(ProcessTeam& /*team*/, bool /*reached_by_mpi*/) {
  throw NoMeasurement{NoMeasurement::Why::unavailable, no_cuda};
}

std::optional<std::string> cuda_unavailable() {
  return no_cuda;
}

std::variant<GpuFacts, std::string> gpu_facts(std::uint64_t /*copied_bytes*/) {
  return no_cuda;
}

}  // namespace collsim
