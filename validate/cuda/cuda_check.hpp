// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "validate/backend.hpp"

namespace collsim {

// Throws NoMeasurement unless the result is cudaSuccess: "starting the lanes on GPU 0 failed: ...".
// Out of memory is too_large, no code for this GPU and no driver are unavailable, all else failed.
void need(cudaError_t result, const std::string& what);

// "12.4" of CUDA's 12040.
[[nodiscard]] std::string cuda_version_text(int version);
// "1.5 GiB"
[[nodiscard]] std::string in_gib(std::uint64_t bytes);
// "12.40 us"
[[nodiscard]] std::string in_us(double seconds);
[[nodiscard]] double seconds_since(std::chrono::steady_clock::time_point begin);

// Memory, streams and events that free themselves.  What a GPU that hangs still uses must not be
// freed, for that waits for it: release() it.
struct FreeDeviceMemory {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
struct FreeHostMemory {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;
using HostMemory = std::unique_ptr<std::byte, FreeHostMemory>;  // pinned, for every GPU
using GpuStream = std::unique_ptr<CUstream_st, DestroyStream>;
using GpuEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

// On the current device.  All bytes are zero.
[[nodiscard]] DeviceMemory allocate_on_gpu(int device, std::uint64_t bytes);
[[nodiscard]] HostMemory allocate_on_host(std::uint64_t bytes);
[[nodiscard]] GpuStream make_stream(int device);
[[nodiscard]] GpuEvent make_event(int device);

}  // namespace collsim
