// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>

#include "validate/backend.hpp"

namespace collsim {

// CUDA graphs that free themselves: as they were captured, and ready to be launched.
struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
struct DestroyExecutable {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using Executable = std::unique_ptr<CUgraphExec_st, DestroyExecutable>;

// All that a stream was given since its capture began, ready to be launched.  Throws the problem
// that there was meanwhile, if any, once the capture has ended.
[[nodiscard]] Executable end_capture(cudaStream_t stream,
                                     const std::optional<NoMeasurement>& problem);

}  // namespace collsim
