// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/calibration.hpp"
#include "collectives/cost_model.hpp"

namespace collsim {

// "model" (scenario format, section 4): what instructions cost beyond the links.  All absent: the ideal
// machine.  A calibration gives the costs instead, by the size of the buffers.
struct Model {
  CostModel costs;
  std::optional<Calibration> calibration;

  [[nodiscard]] CostModel costs_of(const Collective& collective) const;
};

// `resolved` gets it with every default.
[[nodiscard]] Model read_model(const Value& model, const std::string& pointer,
                               Diagnostics& diagnostics, Value& resolved);

}  // namespace collsim
