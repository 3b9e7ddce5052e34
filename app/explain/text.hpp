// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/explain/explanation.hpp"

namespace collsim {

// An explanation in plain language: at most 100 columns wide, ends with a newline.
[[nodiscard]] std::string to_text(const Explanation& explanation, bool colour = false);

}  // namespace collsim
