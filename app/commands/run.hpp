// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/command.hpp"
#include "app/results/results.hpp"
#include "app/study/run_study.hpp"

namespace collsim {

// What `run`, `predict` and `validate` have in common: how to simulate and where the results go.
struct RunCommandOptions {
  std::vector<std::string> files, set, outputs;
  std::string format;               // empty: the table
  std::optional<std::string> part;  // "3/8"
  int jobs = 0;                     // 0: one per core
  bool more_points = false, print_resolved = false;
};
void add_run_options(Options& command, RunCommandOptions& options);

[[nodiscard]] LoadOptions load_options_of(const RunCommandOptions& options);

// What another command does besides: each may be empty.
struct RunHooks {
  // In place of load_scenario().
  std::function<std::optional<Scenario>(const std::string& file, Sources& sources,
                                        Diagnostics& diagnostics)>
      load = {};
  // In place of run_study().
  std::function<std::optional<Results>(const Scenario& scenario, const StudyOptions& options,
                                       Diagnostics& diagnostics)>
      study = {};
  // StudyOptions::measure.  `row` takes each row that is measured, where it is shown at once.
  std::function<void(const Scenario& scenario, Results& results,
                     const std::function<void(const CaseResult&)>& row)>
      measure = {};
  // What to exit with, beyond what the expectations say; tells why where the output does not.
  std::function<int(const Scenario& scenario, const Results& results, bool output_tells)> judge =
      {};
};

// Simulates the files one after the other and writes the results; returns the exit code.
[[nodiscard]] int run_files(const RunCommandOptions& options, const RunHooks& hooks,
                            Terminal& terminal);

// Simulates a scenario that was made by the program, as `run` does a file; the exit code.
[[nodiscard]] int run_document(const RunCommandOptions& options, const std::string& name,
                               JsonValue document, Sources sources, Terminal& terminal,
                               const RunHooks& hooks = {});

}  // namespace collsim
