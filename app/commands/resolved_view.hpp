// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// A resolved scenario with where each of its values came from (run --print-resolved).  The text
// shortens what is long; the value is whole.
//
//   collective.chunks = 16         scenarios/x.json:5:20
//   collective.root   = 0          default
[[nodiscard]] std::string resolved_text(const JsonValue& resolved, const Sources& sources);

// {"scenario": {...}, "origins": {"/collective/chunks": "scenarios/x.json:5:20", ...}}
[[nodiscard]] JsonValue resolved_value(const JsonValue& resolved, const Sources& sources);

}  // namespace collsim
