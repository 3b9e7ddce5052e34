// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/gpu_clocks.hpp"

#include <vector>

#include "validate/cuda/cuda_check.hpp"

namespace collsim {
namespace {

void launch(const void* kernel, void** arguments, const GpuStream& stream, int device) {
  need(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  need(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, stream.get()),
       "reading the clock of GPU " + std::to_string(device));
}

void load(const void* kernel, int device) {
  need(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  cudaFuncAttributes attributes{};
  need(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
}

}  // namespace

std::uint64_t clock_tick_ns(int device) {
  const HostMemory memory = allocate_on_host(sizeof(std::uint64_t));
  auto* tick = reinterpret_cast<std::uint64_t*>(memory.get());
  const GpuStream stream = make_stream(device);
  void* arguments[] = {&tick};
  launch(clock_kernel(), arguments, stream, device);
  need(cudaStreamSynchronize(stream.get()), "watching the clock of a GPU");
  return *tick;
}

ClockOffset clock_offset(int device, int reference) {
  const HostMemory memory = allocate_on_host(sizeof(PingPong) + ping_rounds * sizeof(PingTimes));
  auto* shared = reinterpret_cast<PingPong*>(memory.get());
  auto* times = reinterpret_cast<PingTimes*>(memory.get() + sizeof(PingPong));
  const GpuStream there = make_stream(device);
  const GpuStream here = make_stream(reference);
  load(pong_kernel(), device);
  load(ping_kernel(), reference);
  void* arguments[] = {&shared, &times};
  launch(pong_kernel(), arguments, there, device);
  launch(ping_kernel(), arguments, here, reference);
  need(cudaStreamSynchronize(here.get()), "comparing the clocks of GPUs");
  need(cudaStreamSynchronize(there.get()), "comparing the clocks of GPUs");
  const std::optional<ClockOffset> offset = offset_of({times, ping_rounds});
  if (!offset)
    throw NoMeasurement{NoMeasurement::Why::failed,
                        "GPU " + std::to_string(device) + " and GPU " + std::to_string(reference) +
                            " could not compare their clocks: no note came back in time"};
  return *offset;
}

}  // namespace collsim
