// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "app/calibrate/accuracy.hpp"
#include "app/calibrate/constants.hpp"
#include "app/json/value.hpp"

namespace collsim {

// A preset with other constants as a file that scenarios include: its "cluster" (the preset with an
// "override", and how well that fits the logs) and "model".  `network` may be empty.
[[nodiscard]] JsonValue machine_file(const std::string& preset, std::int64_t nodes,
                                     const std::string& network, const MachineConstants& present,
                                     const MachineConstants& wanted, const Accuracy& fit);

}  // namespace collsim
