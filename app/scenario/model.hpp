// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/calibration.hpp"
#include "collectives/cost/cost_model.hpp"

namespace collsim {

// "model" (scenario format, section 4): what instructions cost beyond the links.  All absent: the ideal
// machine.  With a calibration the costs depend on the schedule (app/study/calibrated.hpp).
struct Model {
  CostModel costs;
  std::shared_ptr<const Calibration> calibration;  // nothing: the costs above
};

// `resolved` gets it with every default.
[[nodiscard]] Model read_model(const Value& model, const std::string& pointer,
                               Diagnostics& diagnostics, Value& resolved);

}  // namespace collsim
