// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "collectives/workload.hpp"

namespace collsim {

// Turns of `members` ranks with which all do the same in all of these calls, renaming their peers:
// each may turn into the next, or, where parallel channels enter nodes at different members, into
// the same member of the next node.  Empty: none.
[[nodiscard]] std::vector<TurnDigit> turns_of_members(const std::set<Call>& calls, int members);

// Buffers that ranks share in equal parts are padded, as PyTorch's and Megatron-LM's are.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t elements, int parts) {
  return (elements + parts - 1) / parts * parts;
}

}  // namespace collsim
