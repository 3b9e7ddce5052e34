// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/connections.hpp"

namespace collsim {

// Internal to sim/: the connections of a lane in one direction.  As a rule it goes around among its
// peers in one order again and again, and finds the next one at once.
class MetInTurn {
 public:
  // The one with this peer, if it is the next or there are few; else nullptr.
  [[nodiscard]] Connection* find(Endpoint peer) {
    constexpr std::size_t few = 16;
    if (next_ == met_.size() || met_[next_].peer != peer) {
      if (met_.size() > few) return nullptr;
      const auto is_peer = [&](const Met& met) { return met.peer == peer; };
      const auto found = std::find_if(met_.begin(), met_.end(), is_peer);
      if (found == met_.end()) return nullptr;
      next_ = static_cast<std::size_t>(found - met_.begin());
    }
    Connection* const found = met_[next_].connection;
    next_ = next_ + 1 < met_.size() ? next_ + 1 : 0;
    return found;
  }
  // One that was not found; it must never be closed.  nullptr is not kept.  Returns it.
  Connection* add(Endpoint peer, Connection* connection) {
    constexpr std::size_t most = 256;  // memory
    if (met_.size() < most && connection != nullptr) met_.push_back({peer, connection});
    next_ = 0;
    return connection;
  }

 private:
  struct Met {
    Endpoint peer;
    Connection* connection;
  };
  std::vector<Met> met_;
  std::size_t next_ = 0;
};

}  // namespace collsim
