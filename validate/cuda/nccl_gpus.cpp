// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_gpus.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

std::string in_seconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string name_of(const Collective& collective, std::size_t position, int device) {
  return "rank " + std::to_string(collective.group[position].index()) + " on GPU " +
         std::to_string(device);
}

}  // namespace

NcclGpus::NcclGpus(const NcclLibrary& nccl, const Collective& collective, const NcclWork& work,
                   std::vector<int> devices)
    : nccl_(nccl), collective_(collective), work_(work), gpus_(devices.size()) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    RankGpu& gpu = gpus_[i];
    gpu.device = devices[i];
    gpu.layout = nccl_memory(collective_, static_cast<int>(i));
    gpu.memory = allocate_on_gpu(gpu.device, gpu.layout.bytes);
    gpu.stream = make_stream(gpu.device);
  }
  make_communicators();
}

void NcclGpus::make_communicators() {
  std::vector<NcclCommunicator> made(gpus_.size());
  std::vector<int> devices;
  for (const RankGpu& gpu : gpus_) devices.push_back(gpu.device);
  const int result =
      nccl_.call.init_all(made.data(), static_cast<int>(made.size()), devices.data());
  if (result != nccl_success) throw failed("ncclCommInitAll", result);
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    gpus_[i].communicator = Communicator(made[i], {nccl_.call.destroy});
}

void NcclGpus::fill(const std::vector<std::vector<std::byte>>& inputs) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    RankGpu& gpu = gpus_[i];
    need(cudaSetDevice(gpu.device), "choosing a GPU");
    need(cudaMemset(gpu.memory.get(), std::to_integer<int>(poison), gpu.layout.bytes),
         "poisoning memory");
    need(cudaMemcpy(gpu.memory.get() + gpu.layout.input, inputs[i].data(), inputs[i].size(),
                    cudaMemcpyHostToDevice),
         "copying an input to a GPU");
    // The streams of this object do not wait for what CUDA does on its own.
    need(cudaDeviceSynchronize(), "filling memory");
  }
}

std::vector<std::byte> NcclGpus::output(int position) const {
  const RankGpu& gpu = gpus_[static_cast<std::size_t>(position)];
  std::vector<std::byte> bytes(gpu.layout.output_bytes);
  need(cudaMemcpy(bytes.data(), gpu.memory.get() + gpu.layout.output, bytes.size(),
                  cudaMemcpyDeviceToHost),
       "copying an output from a GPU");
  return bytes;
}

void NcclGpus::launch() {
  int result = nccl_.call.group_start();
  const char* what = "ncclGroupStart";
  for (std::size_t i = 0; i < work_.calls.size() && result == nccl_success; ++i) {
    result = queue(work_.calls[i]);
    what = to_string(work_.calls[i].function);
  }
  // A group must be ended even when one of its calls was refused.
  const int end = nccl_.call.group_end();
  if (result != nccl_success) give_up(failed(what, result));
  if (end != nccl_success) give_up(failed("ncclGroupEnd", end));
}

int NcclGpus::queue(const NcclCall& call) const {
  const RankGpu& gpu = gpus_[static_cast<std::size_t>(call.position)];
  return make_call(nccl_.call, work_, call,
                   {gpu.memory.get(), gpu.layout, gpu.communicator.get(), gpu.stream.get()});
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
        late += (late.empty() ? "" : ", ") + name_of(collective_, i, gpus_[i].device);
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
    give_up({NoMeasurement::Why::failed, "NCCL reports an error of " +
                                             name_of(collective_, i, gpus_[i].device) + ": " +
                                             nccl_.call.error_string(error)});
  }
}

void NcclGpus::give_up(NoMeasurement reason) {
  // Freeing the memory of a GPU that hangs would hang too: its memory is left to the end of the
  // process.
  for (RankGpu& gpu : gpus_) {
    NcclCommunicator communicator = gpu.communicator.release();
    if (communicator != nullptr) static_cast<void>(nccl_.call.abort(communicator));
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

NoMeasurement NcclGpus::failed_on(std::size_t position, cudaError_t result) const {
  return {NoMeasurement::Why::failed, name_of(collective_, position, gpus_[position].device) +
                                          " failed: " + cudaGetErrorString(result)};
}

NoMeasurement NcclGpus::failed(const char* what, int result) const {
  std::string reason = std::string(what) + " failed: " + nccl_.call.error_string(result);
  const char* detail = nccl_.call.last_error(nullptr);
  if (detail != nullptr && *detail != '\0') reason += std::string(" (") + detail + ")";
  return {NoMeasurement::Why::failed, reason};
}

}  // namespace collsim
