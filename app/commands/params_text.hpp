// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/scenario/scenario.hpp"

namespace collsim {

// "64MiB", 16, [0,1]: a value of a sweep, readable.
[[nodiscard]] std::string value_text(const Value& value);
// "collective.chunks = 16, collective.size = 64MiB"; empty without a sweep.
[[nodiscard]] std::string params_text(const Params& params);

}  // namespace collsim
