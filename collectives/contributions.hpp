// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"

namespace collsim {

// Of a reduction: how many ranks' data are added up in what each step's message carries, as
// Timeline::steps; 0 where it sends nothing.  Empty for operations that add nothing.  A message
// that holds several pieces counts as its first element.  Of a schedule that is right
// (collectives/checker.hpp): it adds no rank's data twice.
[[nodiscard]] std::vector<std::int32_t> find_contributions(const Schedule& schedule,
                                                           const Timeline& timeline);

}  // namespace collsim
