// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "collectives/workload.hpp"

namespace collsim {

// What a line of a script is for, in words: "forward of layer 3", "all-reduce of bucket 2",
// "microbatch 4: backward".
[[nodiscard]] std::string action_text(const Action& action, const Workload& workload);
// Of several alike, from the first to the last: "forward of layers 1 to 24", "of layers 1, 3 ...
// 23", "of 5 of layers 1 to 24".
struct ActionNumbers {
  std::set<std::int32_t> layers, microbatches;  // or buckets; empty: all from first to last
};
[[nodiscard]] std::string action_text(const Action& first, const Action& last,
                                      const ActionNumbers& numbers, const Workload& workload);

}  // namespace collsim
