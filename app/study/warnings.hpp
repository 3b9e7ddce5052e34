// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/results/results.hpp"
#include "app/study/study_summary.hpp"

namespace collsim {

// What a user should know about these results, each thing once, in plain words, with what to do
// about it.  Everything in `results` but its warnings must be there.
[[nodiscard]] std::vector<Warning> warnings_about(const Scenario& scenario, const Results& results,
                                                  const StudySummary& summary);

// "collective.chunks = 7, collective.size = 1MiB"; empty for no parameters.
[[nodiscard]] std::string to_text(const Params& params);

}  // namespace collsim
