// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/explain/explanation.hpp"

namespace collsim {

// An explanation in plain language, for people: at most 100 columns wide, ends with a newline.
[[nodiscard]] std::string to_text(const Explanation& explanation, bool colour = false);

// "A broadcast of 64 MiB from rank 0 to 8 ranks along a chain, cut into 16 messages."
[[nodiscard]] std::string question_of(const Explanation& explanation);

}  // namespace collsim
