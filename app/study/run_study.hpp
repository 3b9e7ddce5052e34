// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/study_summary.hpp"

namespace collsim {

class SimulationGauge;  // run_case.hpp

struct StudyOptions {
  int jobs = 0;  // threads; 0: one per core
  std::function<void(std::size_t done, std::size_t total)> progress =
      {};  // from one thread at a time
  // Set: come back with the rows that are done.  What is under way is given up at once if
  // `kept_alive`, what the scenario is part of, may outlive the call; else it is finished.
  const std::atomic<bool>* stop = nullptr;
  std::shared_ptr<const void> kept_alive = {};
  std::shared_ptr<SimulationGauge> gauge = {};  // of what one of the threads simulates
  // Gets the rows in order, each as soon as it and all before it are there; from one thread at a
  // time.
  std::function<void(const CaseResult&)> row = {};
  // Called when all rows are predicted and before the expectations are checked, while no other
  // thread runs: fills what was measured (measure_rows).  Rows it takes away are missing.
  std::function<void(Results&)> measure = {};
};

// What simulating points of a scenario gave, and all that results are made of.
struct SimulatedPoints {
  std::vector<CaseResult> rows = {};  // in the order of the sweep
  StudySummary summary = {};
  bool complete = true;  // false: stopped, rows are missing
};

// Simulates some points of a scenario, given in order, on all cores.  Nothing when one of them
// makes no sense (the diagnostics say which and why).
[[nodiscard]] std::optional<SimulatedPoints> simulate_points(const Scenario& scenario,
                                                             const std::vector<std::size_t>& points,
                                                             const StudyOptions& options,
                                                             Diagnostics& diagnostics);

// Measures, checks the expectations and warns: the results of a sweep all of whose points were
// simulated, wherever that was done.  Expectations::read() must find nothing wrong.
[[nodiscard]] Results finish_study(const Scenario& scenario, SimulatedPoints simulated,
                                   const StudyOptions& options = {});

// Simulates every point of a scenario, on all cores, and checks the expectations; rows are in order
// whatever finished first, and the same for any number of jobs.  Nothing when a point makes no
// sense (the diagnostics say which and why).
[[nodiscard]] std::optional<Results> run_study(const Scenario& scenario,
                                               const StudyOptions& options,
                                               Diagnostics& diagnostics);

}  // namespace collsim
