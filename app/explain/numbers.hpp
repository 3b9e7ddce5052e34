// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace collsim {

// Real numbers for people, as to_text() writes whole ones; zero is "0", and no value is an error.
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string rate_text(double bytes_per_second);

}  // namespace collsim
