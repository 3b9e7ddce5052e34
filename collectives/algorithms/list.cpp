// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/list.hpp"

#include "collectives/algorithms.hpp"

namespace collsim {

#define COLLSIM_DECLARE(name) extern const Algorithm name;
COLLSIM_ALGORITHMS(COLLSIM_DECLARE)

std::span<const Algorithm> algorithms() {
#define COLLSIM_ROW(name) name,
  static const Algorithm rows[] = {COLLSIM_ALGORITHMS(COLLSIM_ROW)};
  return rows;
}

}  // namespace collsim
