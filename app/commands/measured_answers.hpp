// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/commands/options.hpp"
#include "app/measured/measured_table.hpp"
#include "app/scenario/presets.hpp"

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

// The machine that a table is of: the preset that it names, or whose GPUs the log names; null:
// unknown.
[[nodiscard]] const Preset* preset_of(const MeasuredTable& table);
// Whether the log's GPUs are of that kind, or it does not name any.
[[nodiscard]] bool are_gpus_of(const MeasuredTable& table, const Preset& preset);

}  // namespace collsim
