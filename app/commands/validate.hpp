// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/commands/command.hpp"
#include "app/commands/run.hpp"
#include "app/study/measure_rows.hpp"
#include "validate/backend.hpp"

namespace collsim {

// The options of `validate`; what is not given is what the scenario's "measure" says.
struct ValidateOptions {
  RunCommandOptions run;
  std::string backend, protocol, machine, trace;
  std::string max_error;  // "15%", "15"; empty: no limit
  std::vector<std::string> at;
  bool paced = false, native = false;  // at most one of them
  std::optional<int> iterations, warmup;
  bool no_check = false;
  int threads_per_lane = 0;
};

// Backends to choose from.  `unless_told`: the one that is used whatever the scenario names, if
// --backend names no other.  `why`: what to choose by.  Between processes nothing is paced.
// `interruptible`: the same run, which ends at once when the program is to end.
struct BackendChoice {
  std::span<const Backend> backends;
  std::string unless_told;
  const char* why = nullptr;
  bool between_processes = false;
  using Interruptible = std::function<RunForReal(RunForReal run, const std::atomic<bool>& stop)>;
  Interruptible interruptible = {};
};
[[nodiscard]] Action declare_validate(Options& command, const BackendChoice& choice);

// Predicts, runs for real on one of `backends` (or reads what ran before), compares; the exit code.
[[nodiscard]] int validate_files(const ValidateOptions& options, std::span<const Backend> backends,
                                 Terminal& terminal,
                                 const BackendChoice::Interruptible& interruptible = {});

// "15%", "15" and "0.15" are the same: a bare number below 1 is a part.  Throws UsageError.
[[nodiscard]] double part_of_option(const char* option, const std::string& text);
[[nodiscard]] std::optional<double> max_error_of(const std::string& text);  // of --max-error, or ""

}  // namespace collsim
