// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "collectives/instruction.hpp"

namespace collsim {

// The lane of the same rank and channel whose role is `roles` more.
[[nodiscard]] inline Endpoint role_above(Endpoint endpoint, int roles) {
  const int lane = static_cast<int>(endpoint.lane.index()) + roles;
  return endpoint.on(Lane(static_cast<std::size_t>(lane)));
}

}  // namespace collsim
