// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/backend.hpp"

namespace collsim {

// Every lane is a CPU thread and every message goes through memory.  Native or paced.  When paced,
// no message arrives earlier than on the emulated machine, and threads sleep instead of spinning,
// so that a few cores can run many ranks.
//
// Runs in this process; backends() wraps it in a child.
[[nodiscard]] RunOutcome run_on_host(const RunCase& run_case, const RunOptions& options);

// The most threads; every lane needs one.
inline constexpr std::size_t max_host_threads = 1024;

}  // namespace collsim
