// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/backend.hpp"
#include "validate/cuda/cuda_check.hpp"
#include "validate/cuda/cuda_graph.hpp"
#include "validate/cuda/nccl_calls.hpp"
#include "validate/cuda/nccl_library.hpp"

namespace collsim {

// The GPUs of one collective that are in this process: each with its rank's memory, a stream and an
// NCCL communicator.  They may be all, or some, where other processes have the others.  Driven by
// the calling thread.
//
// What goes wrong is thrown as a NoMeasurement: no memory is too_large, a collective that does not
// end is stuck, anything else failed.  NCCL's calls themselves (making communicators, the first
// launch) have no time limit: the process around this must have one.
class NcclGpus {
 public:
  struct Place {
    int position = 0;  // of the rank in the group
    int device = 0;
  };
  NcclGpus(const NcclLibrary& nccl, const Collective& collective, const NcclWork& work,
           const std::vector<Place>& places);

  // Before anything is launched: where this process has all ranks ...
  void connect();
  // ... and where it has some of them, with the id that one process made for all.
  [[nodiscard]] NcclId make_id() const;
  void connect(const NcclId& id);

  // `inputs` by position: each rank has its own, and poison everywhere else.
  void fill(const std::vector<std::vector<std::byte>>& inputs);
  [[nodiscard]] std::vector<int> positions() const;  // that are here
  [[nodiscard]] std::vector<std::byte> output(int position) const;

  // The collective once, after what was launched before; returns as soon as it has been queued.
  void launch();

  // Puts the collective `calls` times into a CUDA graph, or says why that cannot be done; and that
  // graph once into the queues.
  [[nodiscard]] std::optional<NoMeasurement> capture(int calls);
  void launch_graph();

  // A moment in every GPU's queue.  Marks are numbered from 0 again after start_marks(), which
  // makes room for so many of them: allocating takes time that must not be measured.
  void start_marks(std::size_t count);
  std::size_t mark();
  // Until all GPUs have come to the mark.  After `patience_s` without that, or an error of NCCL's,
  // everything is aborted; the object can only be destroyed then.
  void wait_for(std::size_t mark, double patience_s);
  // Between two marks that have been waited for: the mean over the GPUs, as nccl-tests has it, so
  // that times of calls one after the other add up to the time of all.
  [[nodiscard]] double seconds_between(std::size_t first, std::size_t second) const;

  // What NCCL believes that the collective takes; nothing when it does not say.
  [[nodiscard]] std::optional<double> expected_us();

 private:
  struct DestroyCommunicator {
    int (*destroy)(NcclCommunicator);  // only looked at when there is a communicator
    void operator()(NcclCommunicator communicator) const {
      static_cast<void>(destroy(communicator));
    }
  };
  using Communicator = std::unique_ptr<void, DestroyCommunicator>;

  struct RankGpu {
    int position = 0, device = 0;
    PlannedMemory layout;
    DeviceMemory memory;
    GpuStream stream;
    Communicator communicator;  // before the stream and the memory, when destroyed
    Executable graph;           // before the communicator
  };

  [[nodiscard]] RankGpu* gpu_of(int position);
  [[nodiscard]] int queue(const NcclCall& call);
  [[nodiscard]] std::optional<NoMeasurement> queue_calls();
  [[nodiscard]] std::string name_of(std::size_t index) const;              // "rank 3 on GPU 0"
  [[nodiscard]] NoMeasurement failed(const char* what, int result) const;  // of NCCL
  [[nodiscard]] NoMeasurement failed_on(std::size_t index, cudaError_t result) const;
  [[nodiscard]] bool has_come_to(std::size_t mark);
  void look_for_errors();
  [[noreturn]] void give_up(NoMeasurement reason);

  NcclLibrary nccl_;
  Collective collective_;
  NcclWork work_;
  std::vector<RankGpu> gpus_;                 // of this process
  std::vector<std::vector<GpuEvent>> marks_;  // by mark, then GPU
  std::size_t used_marks_ = 0;
};

}  // namespace collsim
