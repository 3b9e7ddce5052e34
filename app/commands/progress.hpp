// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "app/commands/command.hpp"

namespace collsim {

// One line on standard error that says how far a sweep is: "1,200 of 10,000 points, 4,800/s, 2 s
// left".  Only on a terminal, only for what takes longer than half a second, gone at the end.
class Progress {
 public:
  explicit Progress(Terminal& terminal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  void update(std::size_t done, std::size_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Terminal& terminal_;
  bool wanted_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace collsim
