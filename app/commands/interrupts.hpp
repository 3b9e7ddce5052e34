// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.hpp"

namespace collsim {

// Whether Ctrl-C was pressed while an InterruptWatch existed.
[[nodiscard]] const std::atomic<bool>& interrupted_flag();

// For work that looks at the flag from time to time: while it lives, the first Ctrl-C only sets the
// flag, and says so on a terminal; the second ends the program at once.  Everything else ends at
// the first, as programs do.  Who started the program with Ctrl-C ignored gets it ignored.
class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

 private:
  struct sigaction before_ {};
};

// While it lives, a signal that ends the program removes this file.  One at a time.
class RemovedWhenKilled {
 public:
  explicit RemovedWhenKilled(const std::string& file);
  RemovedWhenKilled(const RemovedWhenKilled&) = delete;
  RemovedWhenKilled& operator=(const RemovedWhenKilled&) = delete;
  ~RemovedWhenKilled();

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

// For signal handlers that end the program: removes the file of a RemovedWhenKilled.
void remove_unfinished_file();

}  // namespace collsim
