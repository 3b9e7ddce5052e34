// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_gpus.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "collectives/execute.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

std::string in_seconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

}  // namespace

NcclGpus::NcclGpus(const NcclLibrary& nccl, const Collective& collective, const NcclWork& work,
                   const std::vector<Place>& places)
    : nccl_(nccl), collective_(collective), work_(work) {
  for (const Place& place : places) {
    RankGpu& gpu = gpus_.emplace_back();
    gpu.position = place.position;
    gpu.device = place.device;
    gpu.layout = nccl_memory(collective_, gpu.position);
    gpu.memory = allocate_on_gpu(gpu.device, gpu.layout.bytes);
    gpu.stream = make_stream(gpu.device);
  }
}

void NcclGpus::connect() {
  std::vector<NcclCommunicator> made(gpus_.size());
  std::vector<int> devices;
  for (const RankGpu& gpu : gpus_) devices.push_back(gpu.device);
  const int result =
      nccl_.call.init_all(made.data(), static_cast<int>(made.size()), devices.data());
  if (result != nccl_success) throw failed("ncclCommInitAll", result);
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    gpus_[i].communicator = Communicator(made[i], {nccl_.call.destroy});
}

NcclId NcclGpus::make_id() const {
  NcclId id;
  if (const int result = nccl_.call.get_id(&id); result != nccl_success)
    throw failed("ncclGetUniqueId", result);
  return id;
}

void NcclGpus::connect(const NcclId& id) {
  std::vector<NcclCommunicator> made(gpus_.size());
  int result = nccl_.call.group_start();
  for (std::size_t i = 0; i < gpus_.size() && result == nccl_success; ++i) {
    need(cudaSetDevice(gpus_[i].device), "choosing a GPU");
    result = nccl_.call.init_rank(&made[i], collective_.size(), id, gpus_[i].position);
  }
  const int end = nccl_.call.group_end();
  if (result == nccl_success) result = end;
  if (result != nccl_success) throw failed("ncclCommInitRank", result);
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    gpus_[i].communicator = Communicator(made[i], {nccl_.call.destroy});
}

NcclGpus::RankGpu* NcclGpus::gpu_of(int position) {
  for (RankGpu& gpu : gpus_)
    if (gpu.position == position) return &gpu;
  return nullptr;
}

std::vector<int> NcclGpus::positions() const {
  std::vector<int> positions;
  for (const RankGpu& gpu : gpus_) positions.push_back(gpu.position);
  return positions;
}

std::string NcclGpus::name_of(std::size_t index) const {
  const RankGpu& gpu = gpus_[index];
  return "rank " +
         std::to_string(collective_.group[static_cast<std::size_t>(gpu.position)].index()) +
         " on GPU " + std::to_string(gpu.device);
}

void NcclGpus::fill(const std::vector<std::vector<std::byte>>& inputs) {
  for (RankGpu& gpu : gpus_) {
    const std::vector<std::byte>& input = inputs[static_cast<std::size_t>(gpu.position)];
    need(cudaSetDevice(gpu.device), "choosing a GPU");
    need(cudaMemset(gpu.memory.get(), std::to_integer<int>(poison), gpu.layout.bytes),
         "poisoning memory");
    need(cudaMemcpy(gpu.memory.get() + gpu.layout.input, input.data(), input.size(),
                    cudaMemcpyHostToDevice),
         "copying an input to a GPU");
    // The streams of this object do not wait for what CUDA does on its own.
    need(cudaDeviceSynchronize(), "filling memory");
  }
}

std::vector<std::byte> NcclGpus::output(int position) const {
  const auto here = std::find_if(gpus_.begin(), gpus_.end(), [position](const RankGpu& gpu) {
    return gpu.position == position;
  });
  COLLSIM_CHECK(here != gpus_.end(), "only ranks of this process are asked for");
  const RankGpu& gpu = *here;
  std::vector<std::byte> bytes(gpu.layout.output_bytes);
  need(cudaMemcpy(bytes.data(), gpu.memory.get() + gpu.layout.output, bytes.size(),
                  cudaMemcpyDeviceToHost),
       "copying an output from a GPU");
  return bytes;
}

void NcclGpus::launch() {
  if (auto problem = queue_calls()) give_up(std::move(*problem));
}

std::optional<NoMeasurement> NcclGpus::queue_calls() {
  int result = nccl_.call.group_start();
  const char* what = "ncclGroupStart";
  for (std::size_t i = 0; i < work_.calls.size() && result == nccl_success; ++i) {
    result = queue(work_.calls[i]);
    what = to_string(work_.calls[i].function);
  }
  // A group must be ended even when one of its calls was refused.
  const int end = nccl_.call.group_end();
  if (result != nccl_success) return failed(what, result);
  if (end != nccl_success) return failed("ncclGroupEnd", end);
  return std::nullopt;
}

int NcclGpus::queue(const NcclCall& call) {
  const RankGpu* const gpu = gpu_of(call.position);
  if (gpu == nullptr) return nccl_success;  // another process makes it
  return make_call(nccl_.call, work_, call,
                   {gpu->memory.get(), gpu->layout, gpu->communicator.get(), gpu->stream.get()});
}

std::optional<NoMeasurement> NcclGpus::capture(int calls) {
  std::optional<NoMeasurement> problem;
  try {
    for (const RankGpu& gpu : gpus_) {
      need(cudaSetDevice(gpu.device), "choosing a GPU");
      need(cudaStreamBeginCapture(gpu.stream.get(), cudaStreamCaptureModeThreadLocal),
           "beginning a CUDA graph");
    }
  } catch (const NoMeasurement& refused) {
    problem = refused;
  }
  for (int i = 0; i < calls && !problem; ++i) problem = queue_calls();
  for (RankGpu& gpu : gpus_) {
    try {
      need(cudaSetDevice(gpu.device), "choosing a GPU");
      gpu.graph = end_capture(gpu.stream.get(), problem);
      need(cudaGraphUpload(gpu.graph.get(), gpu.stream.get()), "bringing a CUDA graph to a GPU");
    } catch (const NoMeasurement& refused) {
      problem = refused;
    }
  }
  return problem;
}

void NcclGpus::launch_graph() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    cudaError_t result = cudaSetDevice(gpus_[i].device);
    if (result == cudaSuccess)
      result = cudaGraphLaunch(gpus_[i].graph.get(), gpus_[i].stream.get());
    if (result != cudaSuccess) give_up(failed_on(i, result));
  }
}

void NcclGpus::start_marks(std::size_t count) {
  used_marks_ = 0;
  while (marks_.size() < count) {
    std::vector<GpuEvent>& events = marks_.emplace_back();
    for (const RankGpu& gpu : gpus_) events.push_back(make_event(gpu.device));
  }
}

std::size_t NcclGpus::mark() {
  const std::vector<GpuEvent>& events = marks_.at(used_marks_);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    cudaError_t result = cudaSetDevice(gpus_[i].device);
    if (result == cudaSuccess) result = cudaEventRecord(events[i].get(), gpus_[i].stream.get());
    if (result != cudaSuccess) give_up(failed_on(i, result));
  }
  return used_marks_++;
}

void NcclGpus::wait_for(std::size_t mark, double patience_s) {
  const auto begin = Clock::now();
  constexpr int turns_between_looks = 64;
  for (int turn = 1; !has_come_to(mark); ++turn) {
    if (turn % turns_between_looks != 0) continue;
    look_for_errors();
    if (seconds_since(begin) < patience_s) continue;
    std::string late;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (cudaEventQuery(marks_[mark][i].get()) != cudaSuccess)
        late += (late.empty() ? "" : ", ") + name_of(i);
    give_up({NoMeasurement::Why::stuck, "NCCL's " + std::string(to_string(collective_.operation)) +
                                            " did not end within " + in_seconds(patience_s) +
                                            " and was aborted; late: " + late});
  }
}

bool NcclGpus::has_come_to(std::size_t mark) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const cudaError_t state = cudaEventQuery(marks_[mark][i].get());
    if (state == cudaErrorNotReady) return false;
    if (state != cudaSuccess) give_up(failed_on(i, state));
  }
  return true;
}

void NcclGpus::look_for_errors() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    int error = nccl_success;
    NcclCommunicator communicator = gpus_[i].communicator.get();
    const int asked = nccl_.call.async_error(communicator, &error);
    if (asked != nccl_success) error = asked;
    if (error == nccl_success || error == nccl_in_progress) continue;
    give_up({NoMeasurement::Why::failed,
             "NCCL reports an error of " + name_of(i) + ": " + nccl_.call.error_string(error)});
  }
}

void NcclGpus::give_up(NoMeasurement reason) {
  // Freeing the memory of a GPU that hangs would hang too: its memory is left to the end of the
  // process.
  for (RankGpu& gpu : gpus_) {
    NcclCommunicator communicator = gpu.communicator.release();
    if (communicator != nullptr) static_cast<void>(nccl_.call.abort(communicator));
    static_cast<void>(gpu.graph.release());
    static_cast<void>(gpu.stream.release());
    static_cast<void>(gpu.memory.release());
  }
  for (auto& events : marks_)
    for (GpuEvent& event : events) static_cast<void>(event.release());
  throw std::move(reason);
}

double NcclGpus::seconds_between(std::size_t first, std::size_t second) const {
  double sum_ms = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    float ms = 0;
    need(cudaEventElapsedTime(&ms, marks_[first][i].get(), marks_[second][i].get()),
         "reading the time of an event");
    sum_ms += static_cast<double>(ms);
  }
  return sum_ms / static_cast<double>(gpus_.size()) / 1e3;
}

std::optional<double> NcclGpus::expected_us() {
  if (nccl_.call.group_simulate_end == nullptr) return std::nullopt;
  NcclEstimate estimate;
  estimate.version = static_cast<unsigned int>(nccl_.version);
  int result = nccl_.call.group_start();
  for (std::size_t i = 0; i < work_.calls.size() && result == nccl_success; ++i)
    result = queue(work_.calls[i]);
  const int end = nccl_.call.group_simulate_end(&estimate);
  if (result != nccl_success || end != nccl_success) return std::nullopt;
  if (!(estimate.microseconds > 0)) return std::nullopt;
  return estimate.microseconds;
}

NoMeasurement NcclGpus::failed_on(std::size_t index, cudaError_t result) const {
  return {NoMeasurement::Why::failed, name_of(index) + " failed: " + cudaGetErrorString(result)};
}

NoMeasurement NcclGpus::failed(const char* what, int result) const {
  std::string reason = std::string(what) + " failed: " + nccl_.call.error_string(result);
  const char* detail = nccl_.call.last_error(nullptr);
  if (detail != nullptr && *detail != '\0') reason += std::string(" (") + detail + ")";
  return {NoMeasurement::Why::failed, reason};
}

}  // namespace collsim
