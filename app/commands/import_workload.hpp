// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/options.hpp"
#include "app/import/workload/imported_workload.hpp"

namespace collsim {

// The part of `collsim import` that is about traces and workloads of other programs.
struct WorkloadOptions {
  std::optional<std::int64_t> model_ranks;
  std::string cycle;

  void declare(Options& command);
  // Throws UsageError.
  [[nodiscard]] WorkloadAnswers read(std::optional<std::int64_t> ranks) const;
};

// What was understood, for people.
[[nodiscard]] std::string workload_in_words(const ImportedWorkload& workload,
                                            const std::string& file);

}  // namespace collsim
