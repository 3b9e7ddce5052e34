// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// What the buffers of an explicit program hold on every rank before and after it.
struct ProgramBuffers {
  // Nothing: the rank has no such buffer, or only its size is known.
  using Values = std::optional<std::vector<double>>;
  std::vector<std::string> names;
  std::vector<std::vector<Values>> before, after;  // by rank and buffer
  std::string problem;                             // why it does not end, or what has no value
};
// Carries the program out on its data, in an order that its streams and messages allow; where its
// result depends on more than that (a buffer is read while a message to it is under way), on one
// such order.  Throws Error where the workload is no program, or has no numbers in its "data".
[[nodiscard]] ProgramBuffers show_program(const Case& one_case);

[[nodiscard]] std::string to_text(const ProgramBuffers& buffers);
// {"ranks": [{"rank": 0, "before": {"x": [1, 2]}, "after": {...}}, ...], "problem": null}
[[nodiscard]] JsonValue to_value(const ProgramBuffers& buffers);

}  // namespace collsim
