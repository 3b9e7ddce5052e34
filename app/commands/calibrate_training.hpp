// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/commands/command.hpp"

namespace collsim {

// `collsim calibrate --from-training`: the constants of a device from measured training steps.
struct CalibrateTrainingOptions {
  std::string table;
  std::string recompute = "none";
  std::string held;    // names of constants, separated by commas
  std::string preset;  // the machine that they ran on
  std::string output;  // empty: none
};
[[nodiscard]] int run_calibrate_training(const CalibrateTrainingOptions& options,
                                         Terminal& terminal);

}  // namespace collsim
