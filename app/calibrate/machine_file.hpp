// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/calibrate/calibrate.hpp"
#include "app/json/value.hpp"

namespace collsim {

// A calibrated machine as a file that scenarios can use: "cluster" and "model" of a scenario, with the
// raw points and where they come from.
[[nodiscard]] Value machine_value(const CalibratedMachine& machine, const std::string& version,
                                  const std::string& date);

}  // namespace collsim
