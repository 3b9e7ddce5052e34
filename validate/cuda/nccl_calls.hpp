// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule.hpp"
#include "validate/cuda/nccl_library.hpp"
#include "validate/lane_job.hpp"
#include "validate/plan.hpp"

namespace collsim {

// What a collective is in NCCL's terms: plain data, made without NCCL and without a GPU.

enum class NcclFunction : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  send,
  receive
};

// Bytes from the start of one of a rank's buffers.
struct NcclPlace {
  Buffer buffer = Buffer::input;
  std::uint64_t offset = 0;

  bool operator==(const NcclPlace&) const = default;
};

// One call of one rank.  Every pointer is one that the rank has, also where NCCL ignores it.
struct NcclCall {
  NcclFunction function{};
  int position = 0;         // of the calling rank in the group, which is its rank for NCCL
  NcclPlace from;           // send buffer; receive: not used
  NcclPlace to;             // receive buffer; send: not used
  std::uint64_t count = 0;  // elements, as the function counts them
  int peer = 0;             // broadcast, reduce: the root; send, receive: the other end

  bool operator==(const NcclCall&) const = default;
};

// All calls of all ranks, to be made between ncclGroupStart and ncclGroupEnd.
//
//   all-reduce, broadcast, reduce     one call per rank
//   all-gather, reduce-scatter        one call per rank when all pieces are equally long; else, as
//                                     NCCL cannot do that, a broadcast or reduce for each piece
//   gather, scatter, all-to-all, send-recv   sends and receives; a rank that has data for itself
//                                     sends them to itself, unless they are there already
//   barrier                           an all-reduce of one number, in scratch
//
// No calls: there is nothing to do.
struct NcclWork {
  std::vector<NcclCall> calls;
  int type = 0;                    // ncclDataType_t
  int reduction = 0;               // ncclRedOp_t
  std::vector<std::string> notes;  // what a reader of the numbers must know
};
[[nodiscard]] NcclWork nccl_work(const Collective& collective);

[[nodiscard]] int nccl_type(ElementType type);
[[nodiscard]] int nccl_reduction(Reduction reduction);
[[nodiscard]] const char* to_string(NcclFunction function);  // "ncclAllReduce"

// A rank's memory: input and output as aliasing() says, then scratch for a barrier.
[[nodiscard]] PlannedMemory nccl_memory(const Collective& collective, int position);

// What a call needs of the rank that makes it.
struct NcclRank {
  std::byte* memory = nullptr;
  PlannedMemory layout;
  NcclCommunicator communicator = nullptr;
  NcclStream stream = nullptr;
};
// NCCL's result.
[[nodiscard]] int make_call(const NcclFunctions& nccl, const NcclWork& work, const NcclCall& call,
                            const NcclRank& rank);

// Shall NCCL do what the schedule does, as far as it can, or what it thinks best?
enum class NcclChoice : std::uint8_t { as_scheduled, free };

// NCCL's variables, to be set before ranks are connected.  Only what has a counterpart is forced,
// and then algorithm and protocol together; NCCL refuses what it does not have.
struct NcclSettings {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> notes;
};
[[nodiscard]] NcclSettings nccl_settings(const Schedule& schedule, Protocol protocol,
                                         NcclChoice choice);

// The variables in this process's environment, as long as this lives; unless the user has set one
// of them: then nothing is changed.  NCCL reads them whenever it makes a communicator.
class NcclVariables {
 public:
  explicit NcclVariables(const NcclSettings& settings);
  NcclVariables(const NcclVariables&) = delete;
  NcclVariables& operator=(const NcclVariables&) = delete;
  ~NcclVariables();

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }  // that are true

 private:
  std::vector<std::string> set_, notes_;
};

// The longest that one collective may take before it is given up: `patience_s`, and the time that
// all its bytes would need at 100 MB/s, which no link of a GPU is slower than.
[[nodiscard]] double nccl_patience_s(const Collective& collective, double patience_s);

}  // namespace collsim
