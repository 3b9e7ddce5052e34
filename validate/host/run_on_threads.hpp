// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace collsim {

// Runs work(team, thread) on a thread each and returns when all have ended.  None begins before all
// are there: they wait for each other, and would wait for ever for one that the system did not give.
// Then none begins, and there is Error{too_large}.
void run_on_threads(std::size_t teams, int threads_per_team,
                    const std::function<void(std::size_t team, int thread)>& work);

}  // namespace collsim
