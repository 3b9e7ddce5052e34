// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/commands/options.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// What commands say of the LOG that they read.
inline constexpr const char* log_in_words =
    "what nccl-tests or rccl-tests printed, as pasted; a measured table (JSON, CSV); \"-\" reads "
    "standard input";

// The options with which a user says what a log does not.
struct AnswerOptions {
  std::string operation, dtype, gpu;
  std::optional<std::int64_t> ranks, nodes;

  void declare(Options& command);
  // In collsim's spelling.  Throws UsageError.
  [[nodiscard]] MeasuredAnswers read() const;
};

}  // namespace collsim
