// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/collective.hpp"

namespace collsim {

// Over the first `ranks` ranks; a barrier has no data whatever the count.
inline Collective collective_of(Operation operation, int ranks, std::int64_t count,
                                ElementType type = ElementType::f32) {
  Collective collective;
  collective.operation = operation;
  collective.count = operation == Operation::barrier ? 0 : count;
  collective.type = type;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  return collective;
}

inline Collective in_place_if(bool in_place, Collective collective) {
  collective.in_place = in_place;
  return collective;
}

}  // namespace collsim
