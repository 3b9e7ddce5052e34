// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// Stated limits on what is read at all, so that garbage is refused in bounded time and memory.
inline constexpr std::size_t max_json_depth = 64;
inline constexpr std::size_t max_json_key_bytes = 1000;
inline constexpr std::size_t max_json_values = 2'000'000;

// What a document may have, and what is kept of a long one: of the array of that name in the
// outermost object (or in objects of the outermost array) only the first items, and of these only
// those that `keeps` wants.  The others must be JSON too, but are forgotten at once, so that a file
// may be longer than memory for its values.
struct JsonLimits {
  std::size_t bytes = max_json_bytes;
  std::string_view long_list = {};
  std::size_t kept_items = 0;
  bool (*keeps)(const JsonValue& item) = nullptr;  // none: all
};
// How many items of such an array were forgotten, by the place where it begins.
using ForgottenItems = std::map<std::uint32_t, std::size_t>;

// Parses a source as strict JSON (RFC 8259).  Reports syntax errors (in words: "a comma is missing
// before this", "comments are not JSON; use \"notes\""), duplicate keys, numbers that a double does
// not hold, and what is beyond the limits above.  Nothing when there is no tree to go on
// with; duplicate keys leave one (the first value).  A byte order mark before the text, which some
// editors write, is passed over.
[[nodiscard]] std::optional<JsonValue> parse_json(std::uint32_t source, const Sources& sources,
                                                  Diagnostics& diagnostics);
[[nodiscard]] std::optional<JsonValue> parse_json(std::uint32_t source, const Sources& sources,
                                                  Diagnostics& diagnostics,
                                                  const JsonLimits& limits,
                                                  ForgottenItems& forgotten);

// A document that is built into the program, without places: a mistake in it is a bug.
[[nodiscard]] JsonValue parse_builtin(const std::string& name, std::string_view text);

}  // namespace collsim
