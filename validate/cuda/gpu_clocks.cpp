// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/gpu_clocks.hpp"

#include <algorithm>

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

constexpr const char* comparing = "comparing the clocks of GPUs";
static_assert(clock_note_bytes >= sizeof(PingPong) + ping_rounds * sizeof(PingTimes));

PingTimes* times_in(std::byte* notes) {
  return reinterpret_cast<PingTimes*>(notes + sizeof(PingPong));
}

void start(const void* kernel, std::byte* notes, const GpuStream& stream, int device) {
  auto* shared = reinterpret_cast<PingPong*>(notes);
  PingTimes* times = times_in(notes);
  void* arguments[] = {&shared, &times};
  launch(kernel, arguments, stream, device);
}

ClockOffset offset_in(std::byte* notes, const std::string& name, int reference) {
  const std::optional<ClockOffset> offset = offset_of({times_in(notes), ping_rounds});
  if (!offset)
    throw NoMeasurement{NoMeasurement::Why::failed,
                        name + " and GPU " + std::to_string(reference) +
                            " could not compare their clocks: no note came back in time"};
  return *offset;
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

void clear_clock_notes(std::byte* notes) {
  std::fill_n(notes, clock_note_bytes, std::byte{});
}

void answer_clock_notes(int device, std::byte* notes) {
  const GpuStream stream = make_stream(device);
  load(pong_kernel(), device);
  start(pong_kernel(), notes, stream, device);
  need(cudaStreamSynchronize(stream.get()), comparing);
}

ClockOffset send_clock_notes(int reference, std::byte* notes, const std::string& name) {
  const GpuStream stream = make_stream(reference);
  load(ping_kernel(), reference);
  start(ping_kernel(), notes, stream, reference);
  need(cudaStreamSynchronize(stream.get()), comparing);
  return offset_in(notes, name, reference);
}

ClockOffset clock_offset(int device, int reference) {
  const HostMemory notes = allocate_on_host(clock_note_bytes);
  const GpuStream there = make_stream(device);
  const GpuStream here = make_stream(reference);
  load(pong_kernel(), device);
  load(ping_kernel(), reference);
  start(pong_kernel(), notes.get(), there, device);
  start(ping_kernel(), notes.get(), here, reference);
  need(cudaStreamSynchronize(here.get()), comparing);
  need(cudaStreamSynchronize(there.get()), comparing);
  return offset_in(notes.get(), "GPU " + std::to_string(device), reference);
}

}  // namespace collsim
