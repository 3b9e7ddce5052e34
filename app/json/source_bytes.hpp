// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"

namespace collsim {

// read_source() in two steps, for files that need not be text.
[[nodiscard]] std::optional<std::uint32_t> read_bytes(const std::string& file, Sources& sources,
                                                      Diagnostics& diagnostics,
                                                      const Diagnostic& asked_by,
                                                      std::size_t most_bytes);
// Reports the first byte that is not UTF-8.
[[nodiscard]] bool is_text(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics,
                           std::size_t most_bytes);

}  // namespace collsim
