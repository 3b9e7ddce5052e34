// SPDX-License-Identifier: Apache-2.0
#include "validate/host/wait_on_word.hpp"

#include <bit>
#include <ctime>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <chrono>
#include <thread>
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

void wait_on_word(const std::uint64_t*, std::uint64_t) {
  std::this_thread::sleep_for(std::chrono::microseconds(20));
}
void wake_waiters(const std::uint64_t*) {}
void ask_for_punctual_sleep() {}

#endif

}  // namespace collsim
