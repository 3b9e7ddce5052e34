// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "collectives/programs.hpp"

namespace collsim {

// "rank", "switch" or "network".
[[nodiscard]] inline const char* place_name(Programs::Place place) {
  switch (place) {
    case Programs::Place::rank: return "rank";
    case Programs::Place::node_switch: return "switch";
    case Programs::Place::network: return "network";
  }
  return "";
}

// Who sends or receives: "rank 3"; "switch for rank 3", "network for rank 3" where a switch of its
// node or of the network does so in the rank's place.
[[nodiscard]] inline std::string lane_name(Rank rank, Programs::Place place) {
  const std::string name = fmt::format("rank {}", rank.index());
  return place == Programs::Place::rank ? name : fmt::format("{} for {}", place_name(place), name);
}

}  // namespace collsim
