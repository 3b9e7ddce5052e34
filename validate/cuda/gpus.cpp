// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/gpus.hpp"

#include <cstdlib>
#include <map>
#include <utility>

#include "validate/cuda/cuda_check.hpp"

namespace collsim {
namespace {

constexpr int oldest_major = 8;  // what the kernels are compiled for

[[noreturn]] void refuse(const std::string& reason) {
  throw NoMeasurement{NoMeasurement::Why::unavailable, reason};
}

// Why CUDA finds nothing, in words that help.
[[noreturn]] void explain(cudaError_t result) {
  static_cast<void>(cudaGetLastError());
  int driver = 0, runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (result == cudaErrorInsufficientDriver && driver == 0)
    refuse("no GPU: no NVIDIA driver is installed");
  if (result == cudaErrorInsufficientDriver)
    refuse("the NVIDIA driver is too old: it supports CUDA " + cuda_version_text(driver) +
           ", this program was built with CUDA " + cuda_version_text(runtime) +
           "; install a newer driver or build with an older toolkit");
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (result == cudaErrorNoDevice || result == cudaSuccess)
    refuse(std::string("no GPU: the NVIDIA driver sees none") +
           (visible ? " (CUDA_VISIBLE_DEVICES=" + std::string(visible) + ")" : ""));
  refuse(std::string("no GPU can be used: ") + cudaGetErrorString(result));
}

std::string name(const Gpu& gpu) {
  return "GPU " + std::to_string(gpu.device) + " (" + gpu.name + ")";
}

}  // namespace

std::vector<Gpu> find_gpus() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) explain(result);
  std::vector<Gpu> gpus;
  std::string too_old;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    need(cudaGetDeviceProperties(&properties, device),
         "asking what GPU " + std::to_string(device) + " is");
    const Gpu gpu{
        device,           properties.name,  properties.multiProcessorCount,
        properties.major, properties.minor, {properties.uuid.bytes, sizeof properties.uuid.bytes}};
    if (gpu.major >= oldest_major && properties.cooperativeLaunch != 0)
      gpus.push_back(gpu);
    else
      too_old = name(gpu) + " has compute capability " + std::to_string(gpu.major) + "." +
                std::to_string(gpu.minor);
  }
  if (gpus.empty())
    refuse("no GPU that is new enough: " + too_old + ", and 8.0 is needed (Ampere, 2020)");
  return gpus;
}

TeamGpu gpu_in(ProcessTeam& team) {
  constexpr double limit_s = 120;
  const std::vector<Gpu> gpus = find_gpus();
  TeamGpu found{gpus[static_cast<std::size_t>(team.place_on_host()) % gpus.size()], {}};
  NoteWriter writer;
  writer.put_text(found.own.name);
  writer.put_text(found.own.identity);
  const std::vector<Note> notes = team.exchange(writer.take(), limit_s);
  std::map<std::pair<std::string, std::string>, int> process_with;
  std::vector<Gpu> all;
  for (int process = 0; process < team.size(); ++process) {
    NoteReader reader(notes[static_cast<std::size_t>(process)]);
    all.emplace_back().name = reader.get_text();
    const auto [other, is_new] =
        process_with.try_emplace({team.host_of(process), reader.get_text()}, process);
    if (!is_new)
      refuse("processes " + std::to_string(other->second) + " and " + std::to_string(process) +
             " have the same GPU of " + team.host_of(process) +
             ": start at most one process for each GPU of a host, and where CUDA_VISIBLE_DEVICES "
             "is set, let each process see all GPUs or one of its own");
  }
  found.names = names_of(all, all.size());
  return found;
}

std::string names_of(const std::vector<Gpu>& gpus, std::size_t count) {
  std::vector<std::pair<std::string, int>> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    if (kinds.empty() || kinds.back().first != gpus[i].name) kinds.emplace_back(gpus[i].name, 0);
    ++kinds.back().second;
  }
  std::string text;
  for (const auto& [kind, times] : kinds) {
    if (!text.empty()) text += ", ";
    if (times > 1) text += std::to_string(times) + " x ";
    text += kind;
  }
  return text;
}

std::uint64_t free_memory(const Gpu& gpu) {
  need(cudaSetDevice(gpu.device), "using " + name(gpu));
  std::size_t available = 0, total = 0;
  need(cudaMemGetInfo(&available, &total), "asking for the free memory of " + name(gpu));
  return available;
}

GpuRoom room_on(const Gpu& gpu, const void* kernel, std::uint64_t shared_bytes,
                std::uint64_t shared_bytes_with_steps) {
  need(cudaSetDevice(gpu.device), "using " + name(gpu));
  cudaFuncAttributes attributes{};
  need(cudaFuncGetAttributes(&attributes, kernel), "loading the interpreter on " + name(gpu));
  GpuRoom room;
  room.name = name(gpu);
  room.multiprocessors = gpu.multiprocessors;
  const auto blocks = [&](int threads, std::uint64_t bytes) {
    int count = 0;
    if (bytes <= most_shared_bytes)
      need(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, threads, bytes),
           "asking how many blocks fit on " + name(gpu));
    return count;
  };
  for (std::size_t i = 0; i < block_sizes.size(); ++i) {
    room.blocks_without[i] = blocks(block_sizes[i], shared_bytes);
    room.blocks_with_steps[i] = blocks(block_sizes[i], shared_bytes_with_steps);
  }
  return room;
}

std::vector<std::vector<bool>> connect_peers(const std::vector<Gpu>& gpus, std::size_t count,
                                             std::vector<std::string>& notes) {
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (std::size_t a = 0; a < count; ++a) {
    reaches[a][a] = true;
    need(cudaSetDevice(gpus[a].device), "using " + name(gpus[a]));
    for (std::size_t b = 0; b < count; ++b) {
      int can = 0;
      if (a != b)
        need(cudaDeviceCanAccessPeer(&can, gpus[a].device, gpus[b].device),
             "asking whether GPUs reach each other's memory");
      if (can == 0) continue;
      const cudaError_t result = cudaDeviceEnablePeerAccess(gpus[b].device, 0);
      static_cast<void>(cudaGetLastError());
      reaches[a][b] = result == cudaSuccess || result == cudaErrorPeerAccessAlreadyEnabled;
      if (!reaches[a][b])
        notes.push_back("access of " + name(gpus[a]) + " to the memory of " + name(gpus[b]) +
                        " was refused: " + cudaGetErrorString(result));
    }
  }
  return reaches;
}

}  // namespace collsim
