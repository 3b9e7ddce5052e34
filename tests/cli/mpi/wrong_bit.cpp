// SPDX-License-Identifier: Apache-2.0
// Loaded before MPI (LD_PRELOAD), it stands for a network that damages data: of what process 1
// sends, messages of COLLSIM_TEST_WRONG_BYTES bytes arrive with one bit changed.
#include <mpi.h>

#include <cstdlib>
#include <cstring>

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm processes, MPI_Request* request) {
  int me = 0;
  PMPI_Comm_rank(processes, &me);
  const char* const wanted = std::getenv("COLLSIM_TEST_WRONG_BYTES");
  if (me != 1 || wanted == nullptr || std::atoi(wanted) != count)
    return PMPI_Isend(data, count, type, to, tag, processes, request);
  // Never freed: MPI reads it later.
  auto* const damaged = static_cast<unsigned char*>(std::malloc(static_cast<std::size_t>(count)));
  std::memcpy(damaged, data, static_cast<std::size_t>(count));
  damaged[count / 2] ^= 1U;
  return PMPI_Isend(damaged, count, type, to, tag, processes, request);
}
