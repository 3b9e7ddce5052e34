// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace collsim {

// NCCL as this program uses it: found and loaded when it is needed, so that one binary runs with
// whatever NCCL is installed, or with none.  Its header is not needed to build; what is declared
// here has not changed since 2.18.  Handles are opaque, enumerations are ints, 0 is success.

using NcclCommunicator = void*;  // ncclComm_t
using NcclStream = void*;        // cudaStream_t

inline constexpr int nccl_success = 0;
inline constexpr int nccl_in_progress = 7;

// ncclUniqueId: what the ranks of one communicator find each other by.
struct NcclId {
  char bytes[128] = {};
};

// ncclSimInfo_t, since 2.22: how long NCCL believes that a group of calls takes.
struct NcclEstimate {
  std::size_t size = sizeof(NcclEstimate);
  unsigned int magic = 0x74685283;
  unsigned int version = 0;  // of the library
  float microseconds = -1;   // still -1 afterwards: NCCL has no opinion
};

struct NcclFunctions {
  int (*get_version)(int* version) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  const char* (*last_error)(NcclCommunicator) = nullptr;
  int (*init_all)(NcclCommunicator* communicators, int count, const int* devices) = nullptr;
  int (*get_id)(NcclId*) = nullptr;
  int (*init_rank)(NcclCommunicator*, int ranks, NcclId, int rank) = nullptr;
  int (*destroy)(NcclCommunicator) = nullptr;
  int (*abort)(NcclCommunicator) = nullptr;
  int (*async_error)(NcclCommunicator, int* result) = nullptr;

  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*group_simulate_end)(NcclEstimate*) = nullptr;  // null before 2.22

  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int reduction,
                    NcclCommunicator, NcclStream) = nullptr;
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root,
                   NcclCommunicator, NcclStream) = nullptr;
  int (*reduce)(const void* from, void* to, std::size_t count, int type, int reduction, int root,
                NcclCommunicator, NcclStream) = nullptr;
  int (*all_gather)(const void* from, void* to, std::size_t count_of_one, int type,
                    NcclCommunicator, NcclStream) = nullptr;
  int (*reduce_scatter)(const void* from, void* to, std::size_t count_of_one, int type,
                        int reduction, NcclCommunicator, NcclStream) = nullptr;
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclCommunicator,
              NcclStream) = nullptr;
  int (*receive)(void* to, std::size_t count, int type, int peer, NcclCommunicator,
                 NcclStream) = nullptr;
};

struct NcclLibrary {
  NcclFunctions call;
  int version = 0;   // NCCL's own code, 22809
  std::string path;  // of the file that was loaded
};

inline constexpr int oldest_nccl = 21800;

// "2.28.9"; also for the codes of NCCL before 2.9, which had another form.
[[nodiscard]] std::string nccl_version_text(int version);

// The files that may be NCCL, best first.
//
// With the environment variable COLLSIM_NCCL set, only what it names: the library, or a folder that
// has it (a Python's site-packages, or nvidia/nccl in it, or any folder with libnccl.so.2 in it or
// in its lib/).  Otherwise libnccl.so.2 where the system looks for libraries, then in
// /usr/local/cuda, CUDA_HOME and CONDA_PREFIX, then NVIDIA's Python package beside any folder of
// PATH: PATH/../lib/python3*/{site,dist}-packages/nvidia/nccl/lib.
[[nodiscard]] std::vector<std::string> nccl_places();

struct NcclSearch {
  std::optional<NcclLibrary> library;
  std::string problem;  // why there is none: what was tried, what was wrong, what would help
};

// The first of the places that is NCCL 2.18 or newer and has all functions.  It stays loaded: NCCL
// has threads of its own.  NCCL reads its NCCL_* variables once, so set them before.
[[nodiscard]] NcclSearch load_nccl(const std::vector<std::string>& places = nccl_places());

}  // namespace collsim
