// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// Dotted paths into a scenario: "collective.chunks", "cluster.links_override.0.bandwidth".
//
// A step is the name of a member, or the number of an element of an array.  Behind
// "cluster.override" and behind "sweep" the rest is one name, because names there have dots
// themselves: "cluster.override.nic.bandwidth", "sweep.collective.chunks".  Of an overridden
// "protocols" that name ends there: "cluster.override.nic.protocols.LL.hop".
//
// Nothing when a step is empty.
[[nodiscard]] std::optional<std::vector<std::string>> split_path(std::string_view path);

// Whether `path` is `outer` or lies in it: "cluster.link.bandwidth" lies in "cluster.link".
[[nodiscard]] bool lies_in(std::string_view path, std::string_view outer);

// What is written at a path; null: nothing.
[[nodiscard]] const JsonValue* value_at(const JsonValue& document, std::string_view path);

// Takes a member away; false when it is not there.
[[nodiscard]] bool take_away(JsonValue& document, std::string_view path);

// Puts a value at a path.  Objects that are missing on the way are made; they and a new member get
// `key_place`, so that an error about an unknown key points at where the path was written.
struct PathProblem {
  std::string message;
  std::string hint;
};
[[nodiscard]] std::optional<PathProblem> put(JsonValue& document, std::string_view path,
                                             JsonValue value, SourceRange key_place);

// What --set put where.
struct SetOption {
  std::string path;
  SourceRange place;  // of the path in the argument
};

// Puts each "path=value" into the document.  The value is JSON, or else a string, so that neither
// collective.size=64MiB nor collective.chunks=16 needs quotes; what begins with { or [ must be
// JSON. null removes a key.  Later options win over earlier ones.
std::vector<SetOption> apply_set_options(JsonValue& document,
                                         const std::vector<std::string>& options, Sources& sources,
                                         Diagnostics& diagnostics);

}  // namespace collsim
