// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"
#include "validate/backend.hpp"

namespace collsim {

// Runs a case for real: Backend::run, or a test's substitute.
using RunForReal = std::function<RunOutcome(const RunCase&, const RunOptions&)>;

// A recorded run of one row.
struct RecordedRun {
  const Case& one_case;
  const Programs& programs;
  std::variant<const Schedule*, const Workload*> what;  // the same
  const Timeline& timeline;
};

struct MeasureOptions {
  Comparison how;           // goes into the results
  RunForReal run;           // nothing: `unavailable` says why
  std::string unavailable;  // why nothing can be measured; then nothing runs
  bool check = true;        // the data
  int threads_per_lane = 0;
  std::function<void(std::size_t done, std::size_t total)> progress = {};
  std::function<void()> meanwhile = {};             // see RunOptions
  std::function<void(const CaseResult&)> row = {};  // gets each row when it was measured
  // Set: rows that have not begun are removed; so is one that is interrupted.
  const std::atomic<bool>* stop = nullptr;
  // Of this row the steps are recorded, in a run that does not count.
  std::optional<std::size_t> record;
  std::function<void(const RecordedRun&)> recorded = {};
};

// Runs every row for real, one after the other, with the algorithm that was simulated, and fills
// CaseResult::measured, or CaseResult::not_measured with the reason.  Results must be complete, and
// a prediction never uses what is measured here.  No schedule runs that was not proved right
// before.
//
// A wait is given up after 1 s, ten times the predicted time, or (not paced) the time that all
// messages would take at 100 MB/s, whichever is longest.
void measure_rows(const Scenario& scenario, const MeasureOptions& options, Results& results);

// The same for one schedule, whose time was predicted.
[[nodiscard]] RunOutcome measure_schedule(const Case& one_case, const Schedule& schedule,
                                          const CaseResult& predicted,
                                          const MeasureOptions& options, bool record);

}  // namespace collsim
