// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>
#include <cstddef>
#include <string>

namespace collsim::testing {

// Memory that fakes in several processes share.  It has no name that a process that is killed could
// leave behind: others open it at the process that made it.
struct SharedPages {
  int pid = 0, file = -1;
  std::size_t bytes = 0;
};

inline SharedPages make_shared_pages(std::size_t bytes) {
  const int file = ::memfd_create("collsim-fake", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return {};
  return {::getpid(), file, bytes};
}

// Null when they are gone.
inline void* map_shared_pages(const SharedPages& pages) {
  const std::string path =
      "/proc/" + std::to_string(pages.pid) + "/fd/" + std::to_string(pages.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const begin = ::mmap(nullptr, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return begin == MAP_FAILED ? nullptr : begin;
}

inline void unmap_shared_pages(void* begin, const SharedPages& pages) {
  ::munmap(begin, pages.bytes);
  if (pages.pid == ::getpid()) ::close(pages.file);
}

}  // namespace collsim::testing
