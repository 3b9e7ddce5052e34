// SPDX-License-Identifier: Apache-2.0
#include "app/results/step_result.hpp"

#include <fmt/format.h>

namespace collsim {

std::string shortage_text(const StepResult& step) {
  const StepResult::Memory& memory = step.memory.value();
  const auto largest = std::ranges::max_element(memory.bytes);
  const auto number = largest - memory.bytes.begin();
  const auto gigabytes = [](double bytes) { return fmt::format("{:.3g} GB", bytes / 1e9); };
  std::string who = "each rank needs", where;
  if (step.scheme == "program") {
    who = fmt::format("rank {} needs", number);
  } else if (memory.bytes.size() > 1) {
    who = fmt::format("stage {} needs", number);
    where = " on each rank";
  }
  return fmt::format("{} {}{}, of which a device has {}; it runs out {}", who, gigabytes(*largest),
                     where, gigabytes(static_cast<double>(memory.device)), memory.runs_out);
}

}  // namespace collsim
