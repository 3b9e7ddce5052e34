// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/study_summary.hpp"

namespace collsim {

// Axes of a sweep along which no row's time changes, and why as far as can be told.
[[nodiscard]] std::vector<Warning> axes_without_effect(const Scenario& scenario,
                                                       const Results& results);

// Overrides of a preset that no row reads: NCCL's protocols have hops in place of latencies and
// overheads, and all other algorithms do not read what protocols cost.
[[nodiscard]] std::vector<Warning> overrides_without_effect(const Scenario& scenario,
                                                            const Results& results,
                                                            const StudySummary& summary);

}  // namespace collsim
