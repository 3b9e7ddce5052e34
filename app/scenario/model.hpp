// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "collectives/cost_model.hpp"

namespace collsim {

// Reads "model" (scenario format, section 4): what instructions cost beyond the links.  All absent:
// the ideal machine.  `resolved` gets it with every default.
[[nodiscard]] CostModel read_model(const Value& model, const std::string& pointer,
                                   Diagnostics& diagnostics, Value& resolved);

}  // namespace collsim
