// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>

#include "app/json/diagnostics.hpp"
#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

struct StudyOptions {
  int jobs = 0;  // threads; 0: one per core
  std::function<void(std::size_t done, std::size_t total)> progress =
      {};                                   // from one thread at a time
  const std::atomic<bool>* stop = nullptr;  // set: finish the rows begun and come back
  // Called when all rows are predicted and before the expectations are checked, while no other
  // thread runs: fills what was measured (measure_rows).  Rows it takes away are missing.
  std::function<void(Results&)> measure = {};
};

// Simulates every point of a scenario, on all cores, and checks the expectations; rows are in order
// whatever finished first, and the same for any number of jobs.  Nothing when a point makes no
// sense (the diagnostics say which and why).
[[nodiscard]] std::optional<Results> run_study(const Scenario& scenario,
                                               const StudyOptions& options,
                                               Diagnostics& diagnostics);

}  // namespace collsim
