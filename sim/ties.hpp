// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/connections.hpp"

namespace collsim {

// Internal to sim/: who asks for an exclusive link of a quotient, to find those that ask at once.
// Which of them goes first is decided by number, and a turn changes the numbers of ranks.
class Ties {
 public:
  explicit Ties(std::size_t links) : latest_(links) {}

  struct Asking {
    std::uint64_t round = 0;
    Rank rank;  // as seen from the link
    LaneNumber lane = 0;
    bool operator==(const Asking&) const = default;
  };
  void note(LinkId link, const Asking& asking) {
    Asking& latest = latest_[link.index()];
    if (latest.round == asking.round && latest != asking) any_ = true;
    latest = asking;
  }
  [[nodiscard]] bool any() const { return any_; }

 private:
  std::vector<Asking> latest_;
  bool any_ = false;
};

}  // namespace collsim
