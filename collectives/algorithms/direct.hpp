// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/group.hpp"
#include "collectives/program.hpp"
#include "collectives/span.hpp"

namespace collsim {

// The direct exchanges as parts of others; direct.cpp explains them.  Nothing is copied where
// source and destination are the same span.
[[nodiscard]] Program direct_all_gather(Group group, Span mine, Blocks all, int chunks);
[[nodiscard]] Program direct_reduce_scatter(Group group, Blocks source, Span mine, int chunks);

}  // namespace collsim
