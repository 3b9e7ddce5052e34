// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// Stated limits on includes.
inline constexpr std::size_t max_include_depth = 16;
inline constexpr std::size_t max_files = 100;

// Reads a file ("-": standard input) with everything that it includes, as one document without
// "include".
//
// "include": ["common/links.json"] merges files in order *under* the file that names them: what the
// file itself says wins, then what later includes say.  Objects merge member by member, everything
// else replaces.  Names are relative to the including file.  An include must stay in the scenario
// root: the folder of the top file or, if that lies below a folder named "scenarios", that folder.
// An included file is a fragment and needs no "scenario"; where that is written it must be 1.
//
// Reports files that cannot be read, that are no objects, of another format version, cycles and
// includes beyond the root or the limits.  Nothing when there is no document to go on with.
//
// The file itself is a scenario, which says of which version, or may be a fragment, too.
enum class Document : std::uint8_t { scenario, fragment };
[[nodiscard]] std::optional<JsonValue> read_with_includes(const std::string& file, Sources& sources,
                                                          Diagnostics& diagnostics,
                                                          Document what = Document::scenario);

// What `over` says, and where it says nothing what `under` says.
[[nodiscard]] JsonValue merged(JsonValue over, JsonValue under);

// Reports a "scenario" other than 1, or none when it is required.
bool check_version(const JsonValue& document, bool required, Diagnostics& diagnostics);

}  // namespace collsim
