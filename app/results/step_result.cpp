// SPDX-License-Identifier: Apache-2.0
#include "app/results/step_result.hpp"

#include <fmt/format.h>

namespace collsim {

std::string shortage_text(const StepResult& step) {
  const StepResult::Memory& memory = step.memory.value();
  const auto largest = std::ranges::max_element(memory.bytes);
  const bool program = step.scheme == "program";
  constexpr double gigabyte = 1e9;
  return fmt::format("{} {} needs {:.1f} GB{}, of which a device has {:.1f} GB; it runs out {}",
                     program ? "rank" : "stage", largest - memory.bytes.begin(),
                     *largest / gigabyte, program ? "" : " on each rank",
                     static_cast<double>(memory.device) / gigabyte, memory.runs_out);
}

}  // namespace collsim
