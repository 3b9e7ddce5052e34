// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "topo/units.hpp"

namespace collsim {

// Numbers of events, by the time at which they begin.
class EventCount {
 public:
  void add(Time begins, std::uint32_t events) {
    total_ += events;
    if (keeps_times_) begins_.emplace_back(begins, events);
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  void keep_times() {
    *this = {};
    keeps_times_ = true;
  }
  // The time before which at most this many events begin.
  [[nodiscard]] Time first_time_beyond(std::uint64_t events) {
    std::sort(begins_.begin(), begins_.end());
    std::uint64_t sum = 0;
    for (const auto& [begins, count] : begins_) {
      sum += count;
      if (sum > events) return begins;
    }
    return Time::never();
  }

 private:
  bool keeps_times_ = false;
  std::uint64_t total_ = 0;
  std::vector<std::pair<Time, std::uint32_t>> begins_;
};

}  // namespace collsim
