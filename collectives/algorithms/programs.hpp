// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"

namespace collsim {

// Every algorithm's entry point, named <operation>_<algorithm>: what one lane of one rank does.
// They are listed in table.cpp; each is defined in the file named after its idea (ring.cpp, chain.cpp, tree.cpp ...).
// The building blocks that hierarchical algorithms compose stand at the end of each section.

// --- one to many, many to one, exchanges --------------------------------------------------------

// --- all-reduce, all-gather, reduce-scatter -----------------------------------------------------

}  // namespace collsim
