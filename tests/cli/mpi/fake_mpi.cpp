// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/validate/cuda/fake_gpus.hpp"

// Takes the place of functions of the MPI library in programs on fakes: it reaches memory of GPUs
// where the environment says so (FAKE_MPI=reaches-gpus), and is as unhappy with it as a real one
// elsewhere.

namespace {

bool reaches_gpus() {
  const char* const said = std::getenv("FAKE_MPI");
  return said != nullptr && std::string(said) == "reaches-gpus";
}

void must_reach(const void* data, int count) {
  if (count == 0 || reaches_gpus() || !collsim::testing::is_on_gpu(data)) return;
  std::fputs("real GPUs would not forgive: MPI was given memory that it does not reach\n", stderr);
  std::abort();
}

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm processes,
              MPI_Request* request) {
  must_reach(data, count);
  return PMPI_Isend(data, count, type, to, tag, processes, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm processes,
              MPI_Request* request) {
  must_reach(data, count);
  return PMPI_Irecv(data, count, type, from, tag, processes, request);
}

// Of Open MPI, and of MPICH.
int MPIX_Query_cuda_support(void) {
  return reaches_gpus() ? 1 : 0;
}
int MPIX_GPU_query_support(int, int* is_supported) {
  *is_supported = reaches_gpus() ? 1 : 0;
  return MPI_SUCCESS;
}

}  // extern "C"
