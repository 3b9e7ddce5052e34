// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace collsim {

// A failure shows both texts, and the line of the caller.
inline void expect_contains(std::string_view text, std::string_view part,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (text.find(part) == std::string_view::npos)
    ADD_FAILURE_AT(file, line) << "\"" << part << "\" is missing in:\n" << text;
}

inline void expect_lacks(std::string_view text, std::string_view part,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (text.find(part) != std::string_view::npos)
    ADD_FAILURE_AT(file, line) << "\"" << part << "\" should not be in:\n" << text;
}

}  // namespace collsim
