// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/workload.hpp"

namespace collsim {

// Ranks that compute and communicate the same, whoever their peers are: to look at one is to have
// seen all.
struct RankKind {
  Rank first{};
  std::int64_t ranks = 1;  // how many there are
};
// In the order of their first ranks.
[[nodiscard]] std::vector<RankKind> kinds_of_ranks(const Workload& workload);

}  // namespace collsim
