// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "validate/cuda/cuda_check.hpp"
#include "validate/cuda/gpus.hpp"
#include "validate/cuda/step_kernel.hpp"
#include "validate/lane_memory.hpp"

namespace collsim {
namespace {

// Each lane has a queue of its own on the GPU, and has ended when that is empty.  A GPU reads and
// writes slots in memory of the host like its own.
class GpuLaneMemory : public LaneMemory {
 public:
  GpuLaneMemory(Gpu gpu, bool reached_by_mpi)
      : gpu_(std::move(gpu)), reached_by_mpi_(reached_by_mpi) {}

  void expect_lanes(std::size_t count) override {
    while (queues_.size() < count) queues_.push_back(make_stream(gpu_.device));
  }
  std::byte* allocate(std::uint64_t bytes) override {
    return device_memory_.emplace_back(allocate_on_gpu(gpu_.device, bytes)).get();
  }
  std::byte* allocate_slots(std::uint64_t bytes) override {
    if (reached_by_mpi_) return allocate(bytes);
    return host_memory_.emplace_back(allocate_on_host(bytes)).get();
  }
  [[nodiscard]] bool sends_from_slots() const override { return !reached_by_mpi_; }

  void fill(std::byte* to, std::byte value, std::uint64_t bytes) override {
    need(cudaMemset(to, std::to_integer<int>(value), bytes), "poisoning a GPU's memory");
    settle();
  }
  void write(std::byte* to, const std::vector<std::byte>& data) override {
    need(cudaMemcpy(to, data.data(), data.size(), cudaMemcpyDefault), "copying to a GPU");
    settle();
  }
  std::vector<std::byte> read(const std::byte* from, std::uint64_t bytes) const override {
    std::vector<std::byte> data(bytes);
    need(cudaMemcpy(data.data(), from, bytes, cudaMemcpyDefault), "copying from a GPU");
    return data;
  }

  void move(std::size_t lane, const LaneStep& step, const std::byte* from, std::byte* to,
            std::byte* also_to) override {
    if (also_to != nullptr) return launch(lane, step, {from, nullptr, to, also_to});
    if (to == from || step.bytes == 0) return;
    need(cudaMemcpyAsync(to, from, step.bytes, cudaMemcpyDefault, queues_[lane].get()),
         "starting a copy" + on_gpu());
  }
  void combine(std::size_t lane, const LaneStep& step, const std::byte* message,
               const std::byte* source, std::byte* to, std::byte* also_to) override {
    launch(lane, step, {message, source, to, also_to});
  }
  bool has_ended(std::size_t lane) override {
    const cudaError_t state = cudaStreamQuery(queues_[lane].get());
    if (state == cudaErrorNotReady) return false;
    need(state, "a lane's work" + on_gpu());
    return true;
  }

  void abandon() override {
    for (DeviceMemory& memory : device_memory_) static_cast<void>(memory.release());
    for (HostMemory& memory : host_memory_) static_cast<void>(memory.release());
    for (GpuStream& queue : queues_) static_cast<void>(queue.release());
  }

 private:
  [[nodiscard]] std::string on_gpu() const { return " on GPU " + std::to_string(gpu_.device); }

  void launch(std::size_t lane, const LaneStep& step, StepLaunch launch) const {
    if (step.bytes == 0) return;
    launch.bytes = step.bytes;
    launch.type = step.type;
    launch.reduction = step.reduction;
    void* arguments[] = {&launch};
    constexpr std::uint64_t bytes_of_block = std::uint64_t{16} * threads_of_step;
    constexpr std::uint64_t blocks_on_each = 4;
    const std::uint64_t most = blocks_on_each * static_cast<std::uint64_t>(gpu_.multiprocessors);
    const std::uint64_t blocks = std::min((step.bytes + bytes_of_block - 1) / bytes_of_block, most);
    need(cudaLaunchKernel(step_kernel(), dim3(static_cast<unsigned>(blocks)), dim3(threads_of_step),
                          arguments, 0, queues_[lane].get()),
         "starting a step" + on_gpu());
  }

  // Clearing memory, and copies from memory that is not pinned, may end after the call; queues wait
  // for neither.
  static void settle() { need(cudaDeviceSynchronize(), "filling a GPU's memory"); }

  const Gpu gpu_;
  const bool reached_by_mpi_;
  std::vector<DeviceMemory> device_memory_;
  std::vector<HostMemory> host_memory_;
  std::vector<GpuStream> queues_;  // by lane
};

}  // namespace

LaneMemoryOnGpu make_gpu_lane_memory(ProcessTeam& team, bool reached_by_mpi) {
  constexpr double to_start_s = 120;
  team.must_come_within(to_start_s, "starting a GPU");
  TeamGpu gpu = gpu_in(team);
  team.must_come_within(to_start_s, "taking memory of a GPU");
  return {std::make_unique<GpuLaneMemory>(std::move(gpu.own), reached_by_mpi),
          std::move(gpu.names)};
}

}  // namespace collsim
