// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_graph.hpp"

#include "validate/cuda/cuda_check.hpp"

namespace collsim {

Executable end_capture(cudaStream_t stream, const std::optional<NoMeasurement>& problem) {
  cudaGraph_t made = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &made);
  const Graph graph(made);
  if (problem) throw NoMeasurement(*problem);
  need(ended, "ending a CUDA graph");
  cudaGraphExec_t executable = nullptr;
  need(cudaGraphInstantiate(&executable, graph.get(), 0), "making a CUDA graph");
  return Executable(executable);
}

}  // namespace collsim
