// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace collsim {

// Runs work(team, thread) on a thread each and returns when all have ended.  None begins before all
// exist: they wait for each other, and would wait forever for one that the system could not create.
// In that case none begins, and Error{too_large} is thrown.
void run_on_threads(std::size_t teams, int threads_per_team,
                    const std::function<void(std::size_t team, int thread)>& work);

}  // namespace collsim
