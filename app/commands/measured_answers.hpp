// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/commands/options.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// The options with which a user says what a log does not.
struct AnswerOptions {
  std::string operation, dtype, gpu;
  std::optional<std::int64_t> ranks, nodes;

  void declare(Options& command);
  // In collsim's spelling.  Throws UsageError.
  [[nodiscard]] MeasuredAnswers read() const;
};

}  // namespace collsim
