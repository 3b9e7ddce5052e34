// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sim/connections.hpp"

namespace collsim {

// Internal to sim/: the connections of a lane in one direction.  As a rule it goes around among its
// peers in one order again and again, and finds the next one at once.
class MetInTurn {
 public:
  // The one with this peer, if it is the next; else nullptr.
  [[nodiscard]] Connection* if_next(Endpoint peer) {
    if (next_ == met_.size() || met_[next_].peer != peer) return nullptr;
    Connection* const found = met_[next_].connection;
    next_ = next_ + 1 < met_.size() ? next_ + 1 : 0;
    return found;
  }
  // One that was not, and must stay open; nullptr is not kept.  Returns it.
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
