// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/commands/command.hpp"

namespace collsim {

class SimulationGauge;  // study/run_case.hpp

// One line on standard error that says how far a sweep is: "1,200 of 10,000 points, 4,800/s, 2 s
// left"; while a point takes long: "0 of 3 points, 12 s so far, Tree LL about 40%".
// On a terminal for what takes longer than half a second, gone at the end; in a log a line after
// a while, and whenever it has taken twice as long.
class Progress {
 public:
  // Who sees to it that the time is told while a point takes long: a thread, or whoever waits for
  // the point, by tell_the_time().  A process that forks must have no other threads.
  enum class Clock : std::uint8_t { thread, caller };
  explicit Progress(Terminal& terminal, Clock clock = Clock::thread,
                    std::chrono::seconds in_a_log = std::chrono::seconds(30));
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // What says how far one of the points is.
  void watch(std::shared_ptr<const SimulationGauge> gauge);
  void update(std::size_t done, std::size_t total);
  // Where nothing was told for a while.  To be called about twice a second.
  void tell_the_time();
  // For good: what comes next is not told.
  void clear();

 private:
  using Steady = std::chrono::steady_clock;
  void tell_a_log(Steady::time_point now);
  [[nodiscard]] std::string time_so_far() const;
  void show(const std::string& line);

  Terminal& terminal_;
  bool on_terminal_;
  std::size_t shown_ = 0;  // letters to take away again
  Steady::time_point start_ = Steady::now();
  Steady::time_point next_;  // not before
  std::size_t done_ = 0, total_ = 0;
  std::shared_ptr<const SimulationGauge> gauge_;
  std::mutex mutex_;  // of all above
  std::condition_variable_any stopped_;
  std::jthread clock_;
};

}  // namespace collsim
