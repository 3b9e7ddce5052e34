// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "app/json/value.hpp"

namespace collsim {

// The shortest digits that read back as the same double; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_json(const Value& value, int indent = 2);  // -1: on one line
// Objects and arrays of plain values on one line where they fit; for people (--print-resolved).
[[nodiscard]] std::string to_pretty_json(const Value& value, std::size_t width = 100);
// quoted(text) is "a \"b\"".  An object, so that a call with a std::string never means std::quoted.
struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text) const;
};
inline constexpr Quoted quoted{};

}  // namespace collsim
