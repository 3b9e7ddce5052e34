// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.hpp"

namespace collsim {

// Whether Ctrl-C was pressed, or the program told to end, while an InterruptWatch existed.
[[nodiscard]] const std::atomic<bool>& interrupted_flag();
// By which signal; 0: none.
[[nodiscard]] int interrupting_signal();

// Handles signals that would end the program, until it goes; signals that are ignored stay ignored.
class SignalHandlers {
 public:
  SignalHandlers() = default;
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
  ~SignalHandlers();

  void install(std::initializer_list<int> signals, void (*handler)(int));

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

// For work that looks at the flag from time to time and keeps what is done: while it lives, the
// first Ctrl-C or SIGTERM (of timeout, Slurm, Kubernetes) only sets the flag; the second ends the
// program at once, unless it is a SIGTERM right behind another.  Everything else ends at the first,
// as programs do.  Who started the program with one of them ignored gets it ignored.
class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch() = default;

 private:
  SignalHandlers handlers_;
};

// Does the work on another thread.  False: the program is to end, and the work goes on for longer
// than short work does.  Nobody waits for it then, so that all it uses must be its own, and the
// caller uses none of that.  Throws what the work throws.
[[nodiscard]] bool finishes(const std::function<void()>& work, const std::atomic<bool>& stop);

// While it lives, a signal that ends the program removes this file.  One at a time.
class RemovedWhenKilled {
 public:
  explicit RemovedWhenKilled(const std::string& file);
  RemovedWhenKilled(const RemovedWhenKilled&) = delete;
  RemovedWhenKilled& operator=(const RemovedWhenKilled&) = delete;
  ~RemovedWhenKilled();

 private:
  SignalHandlers handlers_;
};

// For signal handlers that end the program: removes the file of a RemovedWhenKilled.
void remove_unfinished_file();

}  // namespace collsim
