// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "collectives/script.hpp"

namespace collsim::checker {

// "all-reduce of 8 f32, sum"
[[nodiscard]] std::string describe(const Call& call);
// With the name of the operation's default where the call has none.
[[nodiscard]] AlgorithmChoice choice_of(const Call& call);
// Whether members of a communicator may make these two together.
[[nodiscard]] bool same_call(const Call& a, const Call& b);

}  // namespace collsim::checker
