// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_check.hpp"

#include <algorithm>
#include <cstdio>

namespace collsim {
namespace {

NoMeasurement::Why why_of(cudaError_t result) {
  switch (result) {
    case cudaErrorMemoryAllocation:
    case cudaErrorCooperativeLaunchTooLarge: return NoMeasurement::Why::too_large;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice: return NoMeasurement::Why::unavailable;
    default: return NoMeasurement::Why::failed;
  }
}

std::string on_device(int device) {
  return " on GPU " + std::to_string(device);
}

}  // namespace

void need(cudaError_t result, const std::string& what) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next call reports it again
  throw NoMeasurement{why_of(result), what + " failed: " + cudaGetErrorString(result) + " (" +
                                          cudaGetErrorName(result) + ")"};
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string in_gib(std::uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g GiB", static_cast<double>(bytes) / (1U << 30U));
  return text;
}

std::string in_us(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

DeviceMemory allocate_on_gpu(int device, std::uint64_t bytes) {
  need(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, size);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t available = 0, total = 0;
    need(cudaMemGetInfo(&available, &total), "asking for the free memory" + on_device(device));
    throw NoMeasurement{NoMeasurement::Why::too_large,
                        "this run needs " + in_gib(size) + on_device(device) + ", of whose " +
                            in_gib(total) + " there are " + in_gib(available) +
                            " free: use a smaller size, fewer ranks or fewer slots"};
  }
  need(result, "allocating " + in_gib(size) + on_device(device));
  DeviceMemory owner(static_cast<std::byte*>(memory));
  need(cudaMemset(memory, 0, size), "clearing memory" + on_device(device));
  return owner;
}

HostMemory allocate_on_host(std::uint64_t bytes) {
  void* memory = nullptr;
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  const cudaError_t result =
      cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped);
  need(result, "pinning " + in_gib(size) + " of host memory");
  std::fill_n(static_cast<std::byte*>(memory), size, std::byte{});
  return HostMemory(static_cast<std::byte*>(memory));
}

GpuStream make_stream(int device) {
  need(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  cudaStream_t stream = nullptr;
  need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
       "making a stream" + on_device(device));
  return GpuStream(stream);
}

GpuEvent make_event(int device) {
  need(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  cudaEvent_t event = nullptr;
  need(cudaEventCreate(&event), "making an event" + on_device(device));
  return GpuEvent(event);
}

}  // namespace collsim
