// SPDX-License-Identifier: Apache-2.0
#include "validate/host/threads.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <ctime>
#include <exception>
#include <fstream>
#include <thread>
#include <vector>

#include "topo/error.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <chrono>
#endif

namespace collsim {

#if defined(__linux__)

namespace {
// A futex has 32 bits; counters grow by one, so the lower half always changes.
const std::uint32_t* lower_half(const std::uint64_t* word) {
  const auto* halves = reinterpret_cast<const std::uint32_t*>(word);
  return std::endian::native == std::endian::little ? halves : halves + 1;
}
}  // namespace

std::size_t usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cores)));
}

void stay_on_core(std::size_t n) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  std::size_t left = n % static_cast<std::size_t>(std::max(1, CPU_COUNT(&usable)));
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

void wait_on_word(const std::uint64_t* word, std::uint64_t seen) {
  const timespec at_most{0, 2'000'000};
  syscall(SYS_futex, lower_half(word), FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(seen),
          &at_most, nullptr, 0);
}

void wake_waiters(const std::uint64_t* word) {
  constexpr int all = 1 << 30;
  syscall(SYS_futex, lower_half(word), FUTEX_WAKE_PRIVATE, all, nullptr, nullptr, 0);
}

void ask_for_punctual_sleep() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

#else

std::size_t usable_cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}
void stay_on_core(std::size_t) {}

void wait_on_word(const std::uint64_t*, std::uint64_t) {
  std::this_thread::sleep_for(std::chrono::microseconds(20));
}
void wake_waiters(const std::uint64_t*) {}
void ask_for_punctual_sleep() {}

#endif

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  return "an unnamed processor";
}

namespace {

class StartingGate {
 public:
  // Until it is opened, or the run is called off: then false.
  [[nodiscard]] bool wait() const {
    state_.wait(closed, std::memory_order_acquire);
    return state_.load(std::memory_order_acquire) == opened;
  }
  void open() { set(opened); }
  void call_off() { set(called_off); }

 private:
  static constexpr int closed = 0, opened = 1, called_off = 2;
  void set(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }
  std::atomic<int> state_{closed};
};

}  // namespace

void run_on_threads(std::size_t teams, int threads_per_team,
                    const std::function<void(std::size_t team, int thread)>& work) {
  StartingGate gate;
  std::vector<std::jthread> threads;
  const std::size_t wanted = teams * static_cast<std::size_t>(threads_per_team);
  try {
    threads.reserve(wanted);
    for (std::size_t team = 0; team < teams; ++team)
      for (int thread = 0; thread < threads_per_team; ++thread)
        threads.emplace_back([&gate, &work, team, thread] {
          if (gate.wait()) work(team, thread);
        });
  } catch (const std::exception& error) {
    gate.call_off();
    throw_error(ErrorCode::too_large,
                "this run needs " + std::to_string(wanted) +
                    " threads, and the system created only " + std::to_string(threads.size()) +
                    " (" + error.what() +
                    "): use fewer ranks, channels or threads per lane, or raise its limits");
  }
  gate.open();
}

}  // namespace collsim
