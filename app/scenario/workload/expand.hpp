// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// One point of a scenario whose scheme is written out as the program that it stands for: a scenario
// that takes the same time, step by step (the same fingerprint).  Rounds that are alike are loops,
// and ranks that do the same have one block.  Expectations and other points are left out.
//
// Error{invalid_argument}: there is no scheme, or a program cannot say what it does; {too_large}.
[[nodiscard]] JsonValue expanded(const Scenario& scenario, std::size_t point);

}  // namespace collsim
