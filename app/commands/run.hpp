// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/commands/command.hpp"

namespace collsim {

// What `run` and `predict` have in common: how to simulate and where the results go.
struct RunOptions {
  std::vector<std::string> files, set, outputs;
  std::string format;  // empty: the table
  int jobs = 0;        // 0: one per core
  bool more_points = false, print_resolved = false;
};
void add_run_options(CLI::App& app, RunOptions& options);

[[nodiscard]] LoadOptions load_options_of(const RunOptions& options);

// Simulates a scenario that was made by the program, as `run` does a file; the exit code.
[[nodiscard]] int run_document(const RunOptions& options, const std::string& name, Value document,
                               Sources sources, Terminal& terminal);

}  // namespace collsim
