// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/team_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace collsim {
namespace {

constexpr double to_share_s = 120;  // GPUs start up, or their memory is cleared

using Handle = cudaIpcMemHandle_t;

std::vector<Handle> handles_of_all(ProcessTeam& team, const DeviceMemory& own) {
  Handle handle{};
  need(cudaIpcGetMemHandle(&handle, own.get()), "letting other processes reach a GPU's memory");
  NoteWriter writer;
  writer.put(handle);
  std::vector<Handle> handles;
  for (const Note& note : team.exchange(writer.take(), to_share_s))
    handles.push_back(NoteReader(note).get<Handle>());
  return handles;
}

cudaError_t open(const Handle& handle, PeerMemory& memory) {
  void* opened = nullptr;
  const cudaError_t result = cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess);
  static_cast<void>(cudaGetLastError());  // or the next call reports it again
  if (result == cudaSuccess) memory.reset(static_cast<std::byte*>(opened));
  return result;
}

[[noreturn]] void cannot_share(const std::string& reason) {
  throw NoMeasurement{NoMeasurement::Why::unavailable, reason};
}

// A file without a name, which ends with its processes.
struct Pages {
  int pid = 0, file = -1;
};

Pages make_pages(std::uint64_t bytes) {
  const int file = ::memfd_create("collsim", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    cannot_share("the host gave no memory that processes can share");
  return {static_cast<int>(::getpid()), file};
}

std::byte* map(const Pages& pages, std::uint64_t bytes) {
  const std::string path =
      "/proc/" + std::to_string(pages.pid) + "/fd/" + std::to_string(pages.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    cannot_share(
        "process 0 is not to be seen on this host, though its name is the same: start all "
        "processes in one container");
  void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (begin == MAP_FAILED) cannot_share("the host's memory cannot be shared between processes");
  return static_cast<std::byte*>(begin);
}

}  // namespace

std::vector<std::vector<bool>> reach_in(ProcessTeam& team, int device,
                                        std::vector<std::string>& notes) {
  const DeviceMemory own = allocate_on_gpu(device, 1);
  const std::vector<Handle> handles = handles_of_all(team, own);
  NoteWriter writer;
  for (int process = 0; process < team.size(); ++process) {
    PeerMemory memory;
    const bool is_own = process == team.me();
    const cudaError_t result =
        is_own ? cudaSuccess : open(handles[static_cast<std::size_t>(process)], memory);
    writer.put_text(result == cudaSuccess ? "" : cudaGetErrorString(result));
  }
  // Nobody frees what another still has open.
  const std::vector<Note> all = team.exchange(writer.take(), to_share_s);
  std::vector<std::vector<bool>> reaches;
  std::string first;
  int others = 0;
  for (std::size_t from = 0; from < all.size(); ++from) {
    NoteReader reader(all[from]);
    std::vector<bool>& row = reaches.emplace_back();
    for (std::size_t to = 0; to < all.size(); ++to) {
      const std::string problem = reader.get_text();
      row.push_back(problem.empty());
      if (problem.empty()) continue;
      if (!first.empty()) ++others;
      if (first.empty())
        first = "the GPU of process " + std::to_string(from) +
                " does not reach the memory of process " + std::to_string(to) + "'s (" + problem +
                ")";
    }
  }
  if (others > 0) first += ", and so with " + std::to_string(others) + " other pairs";
  if (!first.empty()) notes.push_back(first);
  return reaches;
}

std::vector<PeerMemory> open_memory_of_all(ProcessTeam& team, const DeviceMemory& own,
                                           const std::vector<std::vector<bool>>& reaches) {
  const std::vector<Handle> handles = handles_of_all(team, own);
  const auto me = static_cast<std::size_t>(team.me());
  std::vector<PeerMemory> peers(handles.size());
  for (std::size_t process = 0; process < handles.size(); ++process)
    if (process != me && reaches[me][process])
      need(open(handles[process], peers[process]),
           "opening the memory of process " + std::to_string(process) + "'s GPU");
  return peers;
}

TeamHostMemory::TeamHostMemory(ProcessTeam& team, std::uint64_t bytes)
    : bytes_(std::max<std::uint64_t>(bytes, 1)) {
  NoteWriter writer;
  const Pages own = team.me() == 0 ? make_pages(bytes_) : Pages();
  writer.put(own);
  const std::vector<Note> all = team.exchange(writer.take(), to_share_s);
  begin_ = map(NoteReader(all.front()).get<Pages>(), bytes_);
  // Until all have it, the file must be there.
  static_cast<void>(team.exchange({}, to_share_s));
  if (own.file >= 0) ::close(own.file);
  need(cudaHostRegister(begin_, bytes_, cudaHostRegisterPortable | cudaHostRegisterMapped),
       "pinning memory of the host");
  void* of_device = nullptr;
  need(cudaHostGetDevicePointer(&of_device, begin_, 0), "mapping memory of the host");
  if (of_device != begin_)
    cannot_share("GPUs of this host have another address for the host's memory than its processes");
}

TeamHostMemory::TeamHostMemory(TeamHostMemory&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_) {}

TeamHostMemory& TeamHostMemory::operator=(TeamHostMemory&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

TeamHostMemory::~TeamHostMemory() {
  if (begin_ == nullptr) return;
  static_cast<void>(cudaHostUnregister(begin_));
  ::munmap(begin_, bytes_);
}

}  // namespace collsim
