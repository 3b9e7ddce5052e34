// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// Stated limits on what is read at all, so that garbage is refused in bounded time and memory.
inline constexpr std::size_t max_json_bytes = 16U << 20U;
inline constexpr std::size_t max_json_depth = 64;
inline constexpr std::size_t max_json_key_bytes = 1000;
inline constexpr std::size_t max_json_values = 2'000'000;

// Parses a source as strict JSON (RFC 8259).  Reports syntax errors (in words: "a comma is missing
// before this", "comments are not JSON; use \"notes\""), duplicate keys, numbers that a double does
// not hold, and what is beyond the limits above.  Nothing when there is no tree to go on
// with; duplicate keys leave one (the first value) and so does a byte order mark.
[[nodiscard]] std::optional<Value> parse_json(std::uint32_t source, const Sources& sources,
                                              Diagnostics& diagnostics);

}  // namespace collsim
