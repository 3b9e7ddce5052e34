// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Reads "measure" (scenario format, section 4).  `resolved` gets it with every default.
[[nodiscard]] Measure read_measure(const Value& measure, Diagnostics& diagnostics, Value& resolved);

}  // namespace collsim
