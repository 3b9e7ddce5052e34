// SPDX-License-Identifier: Apache-2.0
#include "tests/validate/cuda/fake_gpus.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "tests/validate/cuda/fake_kernels.hpp"
#include "tests/validate/shared_pages.hpp"
#include "validate/cuda/cuda_check.hpp"

// Stands for the CUDA runtime in tests without a GPU: as much of it as validate/cuda/cuda_*.cpp,
// gpus.cpp, gpu_clocks.cpp and launch_cost.cpp use.

namespace collsim::testing {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whole programs have their memory where other processes can open it.
bool is_program() {
  static const bool is_one = !variable("FAKE_GPUS").empty();
  return is_one;
}

void tell_of_first_step() {
  static const bool told = [] {
    if (const std::string file = variable("FAKE_GPUS_BEGUN"); !file.empty()) std::ofstream{file};
    return true;
  }();
  static_cast<void>(told);
}

// The numbers that the machine has for those that CUDA shows.
std::vector<int> visible_gpus() {
  std::vector<int> numbers;
  std::istringstream listed(variable("CUDA_VISIBLE_DEVICES"));
  for (std::string number; std::getline(listed, number, ',');) numbers.push_back(std::stoi(number));
  return numbers;
}

FakeGpus gpus_by_environment() {
  FakeGpus gpus;
  const std::string said = variable("FAKE_GPUS");
  if (said.empty()) return gpus;
  const auto seen = static_cast<int>(visible_gpus().size());
  gpus.count = seen > 0 ? seen : std::stoi(said);
  gpus.peers = said.find("no-peers") == std::string::npos;
  gpus.refuses_launches = said.find("refuses-launches") != std::string::npos;
  gpus.adds_wrong = said.find("adds-wrong") != std::string::npos;
  if (said.find("small") != std::string::npos) gpus.largest_allocation = 2000;
  return gpus;
}

}  // namespace

FakeGpus fake_gpus = gpus_by_environment();
std::atomic<bool> fake_gpus_are_deaf{variable("FAKE_GPUS").find("deaf") != std::string::npos};
FakeLog fake_log;

namespace {

using Work = std::function<void()>;

constexpr std::size_t alignment = 4096;

// Places that are no device.
constexpr int on_the_host = -1, of_another_process = -2;

struct Allocation {
  std::size_t bytes = 0;
  int device = on_the_host;
  SharedPages pages;  // of a program, where other processes may open them
};

std::mutex guard;  // of everything below
std::map<const std::byte*, Allocation> allocations;
std::map<int, std::map<int, bool>> peers;

std::map<int, bool> unsettled;  // GPUs whose memory is still being cleared or filled
// Kernels that have begun on a GPU once: the first time may wait for all other GPUs.
std::set<std::pair<int, const void*>> rehearsed;

thread_local int current = 0;

void violate(const std::string& what) {
  const std::lock_guard lock(guard);
  if (fake_log.violation.empty()) fake_log.violation = what;
  if (is_program()) std::fprintf(stderr, "real GPUs would not forgive: %s\n", what.c_str());
}

// What an address is part of; the end when it is nothing's.  Under the guard.
auto allocation_with(const void* place) {
  const auto* const at = static_cast<const std::byte*>(place);
  auto next = allocations.upper_bound(at);
  if (next == allocations.begin()) return allocations.end();
  --next;
  return at < next->first + next->second.bytes ? next : allocations.end();
}

void* allocate(std::size_t bytes, int device) {
  SharedPages pages;
  void* memory = nullptr;
  if (is_program()) {
    pages = make_shared_pages(bytes);
    memory = map_shared_pages(pages);
  } else {
    memory = ::operator new(bytes, std::align_val_t(alignment));
  }
  std::memset(memory, 0x55, bytes);  // nothing is zero by itself
  const std::lock_guard lock(guard);
  allocations[static_cast<const std::byte*>(memory)] = {bytes, device, pages};
  ++fake_log.living;
  return memory;
}

cudaError_t free_memory(void* memory) {
  SharedPages pages;
  {
    const std::lock_guard lock(guard);
    const auto found = allocations.find(static_cast<const std::byte*>(memory));
    if (found == allocations.end()) return cudaErrorInvalidValue;
    pages = found->second.pages;
    allocations.erase(found);
    --fake_log.living;
  }
  if (is_program())
    unmap_shared_pages(memory, pages);
  else
    ::operator delete(memory, std::align_val_t(alignment));
  return cudaSuccess;
}

// A queue that works by itself.
class Stream {
 public:
  explicit Stream(int device) : device_(device), worker_([this] { work(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(guard_);
      ends_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  void put(Work work) {
    if (captured) return captured->push_back(std::move(work));
    {
      const std::lock_guard lock(guard_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool is_idle() {
    const std::lock_guard lock(guard_);
    return queue_.empty();
  }
  void wait() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return queue_.empty(); });
  }
  [[nodiscard]] int device() const { return device_; }

  std::unique_ptr<std::vector<Work>> captured;

 private:
  void work() {
    std::unique_lock lock(guard_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work next = queue_.front();
      lock.unlock();
      next();
      lock.lock();
      queue_.pop_front();
      changed_.notify_all();
    }
  }

  int device_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool ends_ = false;
  std::thread worker_;
};

struct Event {
  std::chrono::steady_clock::time_point at;
  std::atomic<int> pending{0};  // times that it is in a stream
};
struct Graph {
  std::vector<Work> work;
  bool is_uploaded = false;
};

// Who asks again and again keeps its core from the GPU, which is threads like itself.
cudaError_t not_ready() {
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  return cudaErrorNotReady;
}

void hear() {
  while (fake_gpus_are_deaf) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// All that was written outside of streams is there.
bool is_settled() {
  const std::lock_guard lock(guard);
  return std::none_of(unsettled.begin(), unsettled.end(),
                      [](const auto& gpu) { return gpu.second; });
}

Stream& of(cudaStream_t stream) {
  return *reinterpret_cast<Stream*>(stream);
}

}  // namespace

void reset_fake_gpus() {
  fake_gpus = {};
  fake_log = {};
  const std::lock_guard lock(guard);
  allocations.clear();
  peers.clear();
  unsettled.clear();
  rehearsed.clear();
}

// What is written to a GPU's memory outside of streams may be so later than the call returns.
void write_late(const void* place) {
  const std::lock_guard lock(guard);
  const auto found = allocation_with(place);
  if (found != allocations.end() && found->second.device >= 0)
    unsettled[found->second.device] = true;
}

bool reaches(int device, const void* place) {
  const std::lock_guard lock(guard);
  const auto found = allocation_with(place);
  if (found == allocations.end()) return false;
  const int other = found->second.device;
  return other < 0 || other == device || peers[device][other];
}

bool is_on_gpu(const void* place) {
  const std::lock_guard lock(guard);
  const auto found = allocation_with(place);
  return found != allocations.end() && found->second.device >= 0;
}

}  // namespace collsim::testing

using namespace collsim::testing;  // NOLINT: the functions below belong to CUDA

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = fake_gpus.count;
  return static_cast<cudaError_t>(fake_gpus.count_error);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = fake_gpus.driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  const std::vector<int> visible = visible_gpus();
  const int number = visible.empty() ? device : visible.at(static_cast<std::size_t>(device));
  properties->uuid.bytes[0] = static_cast<char>('A' + number);
  std::strcpy(properties->name, "Fake GPU");
  properties->major = fake_gpus.major;
  properties->multiProcessorCount = fake_gpus.multiprocessors;
  properties->cooperativeLaunch = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= fake_gpus.count) return cudaErrorInvalidDevice;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(guard);
  unsettled[current] = false;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "fake CUDA error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice ? "cudaErrorNoKernelImageForDevice" : "cudaError";
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (bytes > fake_gpus.largest_allocation) return cudaErrorMemoryAllocation;
  *memory = allocate(bytes, current);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  return free_memory(memory);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned int flags) {
  if (flags != (cudaHostAllocPortable | cudaHostAllocMapped)) return cudaErrorInvalidValue;
  *memory = allocate(bytes, on_the_host);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  return free_memory(memory);
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned int) {
  const std::lock_guard lock(guard);
  allocations[static_cast<const std::byte*>(memory)] = {bytes, on_the_host, {}};
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  const std::lock_guard lock(guard);
  const bool known = allocations.erase(static_cast<const std::byte*>(memory)) == 1;
  return known ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaHostGetDevicePointer(void** of_device, void* memory, unsigned int) {
  *of_device = memory;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  const std::lock_guard lock(guard);
  const auto found = allocations.find(static_cast<const std::byte*>(memory));
  if (found == allocations.end() || found->second.device < 0) return cudaErrorInvalidValue;
  std::memcpy(handle->reserved, &found->second.pages, sizeof(SharedPages));
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned int flags) {
  if (flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
  if (!fake_gpus.peers) return cudaErrorPeerAccessUnsupported;
  SharedPages pages;
  std::memcpy(static_cast<void*>(&pages), handle.reserved, sizeof pages);
  if (pages.pid == ::getpid()) return cudaErrorInvalidResourceHandle;
  *memory = map_shared_pages(pages);
  if (*memory == nullptr) return cudaErrorMapBufferObjectFailed;
  const std::lock_guard lock(guard);
  allocations[static_cast<const std::byte*>(*memory)] = {pages.bytes, of_another_process, pages};
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* memory) {
  SharedPages pages;
  {
    const std::lock_guard lock(guard);
    const auto found = allocations.find(static_cast<const std::byte*>(memory));
    if (found == allocations.end() || found->second.device != of_another_process)
      return cudaErrorInvalidValue;
    pages = found->second.pages;
    allocations.erase(found);
  }
  unmap_shared_pages(memory, pages);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = fake_gpus.free_bytes;
  *total = std::size_t{80} << 30U;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  if (!reaches(current, memory)) violate("memset on the wrong GPU");
  std::memset(memory, value, bytes);
  write_late(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  write_late(to);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  of(stream).put([=] {
    hear();
    std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = fake_gpus.peers ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned int) {
  if (fake_gpus.peer_error != 0) return static_cast<cudaError_t>(fake_gpus.peer_error);
  const std::lock_guard lock(guard);
  peers[current][device] = true;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream(current));
  ++fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &of(stream);
  --fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return of(stream).is_idle() ? cudaSuccess : not_ready();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  of(stream).wait();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  ++fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event*>(event);
  --fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (of(stream).device() != current) violate("an event recorded on the wrong GPU");
  auto* const recorded = reinterpret_cast<Event*>(event);
  ++recorded->pending;
  of(stream).put([recorded] {
    recorded->at = std::chrono::steady_clock::now();
    --recorded->pending;
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (fake_gpus.event_error != 0) return static_cast<cudaError_t>(fake_gpus.event_error);
  return reinterpret_cast<Event*>(event)->pending > 0 ? not_ready() : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  const auto elapsed = reinterpret_cast<Event*>(end)->at - reinterpret_cast<Event*>(begin)->at;
  *ms = std::chrono::duration<float, std::milli>(elapsed).count();
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return static_cast<cudaError_t>(fake_gpus.load_error);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t shared_bytes) {
  constexpr std::size_t all_shared_bytes = 200'000;
  *blocks = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(1024 / threads),
                            all_shared_bytes / std::max<std::size_t>(1, shared_bytes)));
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t stream) {
  if (of(stream).device() != current) violate("a kernel started in another GPU's stream");
  if (kind_of(kernel) == KernelKind::step) {
    tell_of_first_step();
    if (fake_gpus.refuses_launches) return cudaErrorLaunchFailure;
    if (!is_settled()) violate("a step started before a GPU's memory was cleared and filled");
    const std::string problem =
        problem_of_step(current, static_cast<int>(grid.x), static_cast<int>(block.x), arguments);
    if (!problem.empty()) violate(problem);
    of(stream).put([work = step_work(arguments)] {
      hear();
      work();
    });
    return cudaSuccess;
  }
  if (grid.x != 1 || block.x != 1) violate("a kernel started in the wrong way");
  of(stream).put(clock_work(kernel, current, arguments));
  return cudaSuccess;
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t stream) {
  if (of(stream).device() != current) violate("lanes started in another GPU's stream");
  if (fake_gpus.refuses_launches) return cudaErrorLaunchFailure;
  if (fake_gpus.launch_error_on == current) return static_cast<cudaError_t>(fake_gpus.launch_error);
  if (of(stream).captured && fake_gpus.capture_error != 0)
    return static_cast<cudaError_t>(fake_gpus.capture_error);
  const LanesOfLaunch lanes{kernel, current, static_cast<int>(grid.x), static_cast<int>(block.x),
                            shared_bytes};
  if (!is_settled()) violate("lanes started before a GPU's memory was cleared and filled");
  const std::string problem = problem_of(lanes, arguments);
  if (!problem.empty()) violate(problem);
  const std::function<void()> work = lane_work(lanes, arguments);
  bool is_rehearsed = true;
  {
    const std::lock_guard lock(guard);
    if (!work) rehearsed.emplace(current, kernel);
    is_rehearsed = rehearsed.contains({current, kernel});
  }
  if (!work) return cudaSuccess;
  if (!is_rehearsed) violate("lanes of other GPUs may wait for a kernel's first launch");
  ++fake_log.launches;
  of(stream).put(work);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  if (of(stream).captured && fake_gpus.capture_error != 0)
    return static_cast<cudaError_t>(fake_gpus.capture_error);
  of(stream).put([=] { function(argument); });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  of(stream).captured = std::make_unique<std::vector<Work>>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(new Graph{*of(stream).captured});
  of(stream).captured.reset();
  ++fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  ++fake_log.living;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph != nullptr) --fake_log.living;
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  --fake_log.living;
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  reinterpret_cast<Graph*>(executable)->is_uploaded = true;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const auto& graph = *reinterpret_cast<Graph*>(executable);
  if (!graph.is_uploaded) violate("lanes of other GPUs may wait for a graph's upload");
  for (const Work& work : graph.work) of(stream).put(work);
  return cudaSuccess;
}

}  // extern "C"
