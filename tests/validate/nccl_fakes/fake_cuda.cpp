// SPDX-License-Identifier: Apache-2.0
#include "tests/validate/nccl_fakes/fake_cuda.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "tests/validate/nccl_fakes/fake_stream.hpp"
#include "validate/backend.hpp"
#include "validate/cuda/gpus.hpp"

// Stands for the CUDA runtime in tests without a GPU: as much of it as nccl_gpus.cpp and
// cuda_check.cpp use, with this process's memory in place of a GPU's.

using collsim::testing::fake_cuda;
using collsim::testing::FakeStream;

namespace {

enum Error { success = 0, invalid_value = 1, no_memory = 2, invalid_device = 101, not_ready = 600 };

struct FakeEvent {
  FakeStream* stream = nullptr;
  std::chrono::steady_clock::time_point at;
};

}  // namespace

collsim::testing::FakeCuda collsim::testing::fake_cuda;

// The rest of gpus.hpp is not used here.
std::vector<collsim::Gpu> collsim::find_gpus() {
  if (fake_cuda.gpus == 0) throw NoMeasurement{NoMeasurement::Why::unavailable, "no GPU: a fake"};
  std::vector<Gpu> gpus(static_cast<std::size_t>(fake_cuda.gpus));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].device = static_cast<int>(i);
    gpus[i].name = "Fake GPU";
  }
  return gpus;
}
std::string collsim::names_of(const std::vector<Gpu>& gpus, std::size_t count) {
  return std::to_string(count) + " x " + gpus[0].name;
}

extern "C" {

int cudaSetDevice(int device) {
  return device >= 0 && device < fake_cuda.gpus ? success : invalid_device;
}
int cudaDeviceSynchronize() {
  return success;
}
int cudaGetLastError() {
  return success;
}
const char* cudaGetErrorString(int) {
  return "fake CUDA error";
}
const char* cudaGetErrorName(int) {
  return "fakeError";
}

int cudaMalloc(void** memory, std::size_t bytes) {
  if (bytes > fake_cuda.free_bytes) return no_memory;
  *memory = ::operator new(bytes);
  ++fake_cuda.living;
  return success;
}
int cudaFree(void* memory) {
  ::operator delete(memory);
  --fake_cuda.living;
  return success;
}
int cudaHostAlloc(void** memory, std::size_t bytes, unsigned int) {
  return cudaMalloc(memory, bytes);
}
int cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
int cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = fake_cuda.free_bytes;
  *total = std::size_t{80} << 30U;
  return success;
}
int cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return success;
}
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return success;
}

int cudaStreamCreateWithFlags(FakeStream** stream, unsigned int) {
  *stream = new FakeStream;
  ++fake_cuda.living;
  return success;
}
int cudaStreamDestroy(FakeStream* stream) {
  delete stream;
  --fake_cuda.living;
  return success;
}

int cudaEventCreate(FakeEvent** event) {
  *event = new FakeEvent;
  ++fake_cuda.living;
  return success;
}
int cudaEventDestroy(FakeEvent* event) {
  delete event;
  --fake_cuda.living;
  return success;
}
int cudaEventRecord(FakeEvent* event, FakeStream* stream) {
  *event = {stream, std::chrono::steady_clock::now()};
  return success;
}
int cudaEventQuery(FakeEvent* event) {
  if (fake_cuda.event_error != success) return fake_cuda.event_error;
  return event->stream != nullptr && event->stream->hangs ? not_ready : success;
}
int cudaEventElapsedTime(float* ms, FakeEvent* begin, FakeEvent* end) {
  if (begin->stream != end->stream) return invalid_value;
  *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return success;
}
int cudaEventElapsedTime_v2(float* ms, FakeEvent* begin, FakeEvent* end) {
  return cudaEventElapsedTime(ms, begin, end);
}

}  // extern "C"
