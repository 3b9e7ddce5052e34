// SPDX-License-Identifier: Apache-2.0
#include "app/commands/interrupts.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <future>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace collsim {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> interrupting{0};
std::atomic<std::int64_t> interrupted_at_ns{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "signal handlers use it");

// Handlers must not touch what may be half changed: the flag says when the name is whole.
char unfinished_file[PATH_MAX];
std::atomic<bool> has_unfinished_file{false};

constexpr std::string_view how_to_stop_at_once =
    "\nstopping, and keeping what is done; press Ctrl-C again to keep nothing\n";

std::int64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// timeout(1) sends its signal to the program and then to the whole group, which has the program in
// it: one wish in two signals.
bool is_an_echo(int signal) {
  constexpr std::int64_t soon_ns = 300'000'000;
  const int first = interrupting;  // 0: on its way
  return signal == SIGTERM && (first == SIGTERM || first == 0) &&
         clock_ns() - interrupted_at_ns < soon_ns;
}

extern "C" void on_interrupt(int signal) {
  const int error = errno;
  std::int64_t never = 0;
  if (!interrupted_at_ns.compare_exchange_strong(never, clock_ns())) {
    if (is_an_echo(signal)) {
      errno = error;
      return;
    }
    remove_unfinished_file();
    ::_exit(128 + signal);
  }
  interrupting = signal;
  interrupted = true;
  if (::isatty(STDERR_FILENO) != 0)
    static_cast<void>(
        !::write(STDERR_FILENO, how_to_stop_at_once.data(), how_to_stop_at_once.size()));
  errno = error;
}

// The signal comes again when this returns, and then ends the program.
extern "C" void on_end(int signal) {
  remove_unfinished_file();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

SignalHandlers::~SignalHandlers() {
  for (const auto& [signal, before] : before_) ::sigaction(signal, &before, nullptr);
}

void SignalHandlers::install(std::initializer_list<int> signals, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : signals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (!is_default(before)) continue;
    ::sigaction(signal, &action, nullptr);
    before_.emplace_back(signal, before);
  }
}

const std::atomic<bool>& interrupted_flag() {
  return interrupted;
}

int interrupting_signal() {
  return interrupting;
}

InterruptWatch::InterruptWatch() {
  handlers_.install({SIGINT, SIGTERM}, on_interrupt);
}

bool finishes(const std::function<void()>& work, const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds between_looks{20}, patience{200};
  std::packaged_task<void()> task(work);
  std::future<void> done = task.get_future();
  std::thread thread;
  try {
    thread = std::thread(std::move(task));
  } catch (const std::system_error&) {
    work();  // no thread to be had: it cannot be left
    return true;
  }
  while (done.wait_for(between_looks) != std::future_status::ready) {
    if (!stop || done.wait_for(patience) == std::future_status::ready) continue;
    thread.detach();
    return false;
  }
  thread.join();
  done.get();
  return true;
}

RemovedWhenKilled::RemovedWhenKilled(const std::string& file) {
  if (file.size() >= sizeof unfinished_file) return;
  std::memcpy(unfinished_file, file.c_str(), file.size() + 1);
  has_unfinished_file = true;
  handlers_.install({SIGINT, SIGTERM, SIGHUP}, on_end);
}

RemovedWhenKilled::~RemovedWhenKilled() {
  has_unfinished_file = false;
}

void remove_unfinished_file() {
  if (has_unfinished_file) ::unlink(unfinished_file);
}

}  // namespace collsim
