// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/collective.hpp"

namespace collsim {

// "" if the output of a position is what the collective requires, byte by byte; else the first
// wrong element: "rank 3 element 17 is 5, not 6 (and 11 more are wrong)".
[[nodiscard]] std::string first_difference(const Collective& collective,
                                           const std::vector<std::vector<std::byte>>& inputs,
                                           int position, const std::vector<std::byte>& finished);

}  // namespace collsim
