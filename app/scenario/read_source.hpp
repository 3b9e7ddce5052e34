// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/parse_json.hpp"
#include "app/json/sources.hpp"

namespace collsim {

// Reads a file ("-": standard input, which is called <stdin>) into the sources, or says why it cannot
// be read, at `asked_by` (the include that names it).  Of what is longer than a scenario may be only
// as much is read as shows that.
[[nodiscard]] std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                                       Diagnostics& diagnostics,
                                                       const Diagnostic& asked_by = {},
                                                       std::size_t most_bytes = max_json_bytes);

}  // namespace collsim
