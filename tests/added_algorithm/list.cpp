// SPDX-License-Identifier: Apache-2.0
//
// The product's list and one name more, linked in the place of collectives/algorithms/list.cpp.
#include <span>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/list.hpp"

namespace collsim {

#define COLLSIM_DECLARE(name) extern const Algorithm name;
COLLSIM_ALGORITHMS(COLLSIM_DECLARE)
COLLSIM_DECLARE(all_gather_in_turns)

std::span<const Algorithm> algorithms() {
#define COLLSIM_ROW(name) name,
  static const Algorithm rows[] = {COLLSIM_ALGORITHMS(COLLSIM_ROW) all_gather_in_turns};
  return rows;
}

}  // namespace collsim
