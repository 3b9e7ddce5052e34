// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/backend.hpp"

namespace collsim {

// Every lane is a CPU thread and every message goes through memory.  Native, or paced: then each
// message is there no earlier than on the machine that is emulated, while threads sleep instead of
// spinning, so that a few cores carry many ranks.
//
// In this process; backends() wraps it into a child.
[[nodiscard]] RunOutcome run_on_host(const RunCase& run_case, const RunOptions& options);

// No more threads than this: every lane needs one.
inline constexpr std::size_t max_host_threads = 1024;

}  // namespace collsim
