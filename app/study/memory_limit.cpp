// SPDX-License-Identifier: Apache-2.0
#include "app/study/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>

namespace collsim {
namespace {

double usual_limit() {
  constexpr double usual = 8e9;
  constexpr double share = 0.75;
  double all = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double of_container = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> of_container && of_container > 0)
    all = std::min(all, of_container);
  rlimit allowed{};
  if (::getrlimit(RLIMIT_AS, &allowed) == 0 && allowed.rlim_cur != RLIM_INFINITY)
    all = std::min(all, static_cast<double>(allowed.rlim_cur));
  return all > 0 ? std::min(usual, share * all) : usual;
}

std::atomic<double>& limit() {
  static std::atomic<double> bytes{usual_limit()};
  return bytes;
}

}  // namespace

double memory_limit() {
  return limit();
}

void set_memory_limit(double bytes) {
  limit() = bytes;
}

}  // namespace collsim
