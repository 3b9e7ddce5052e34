// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/commands/options.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

// What commands take as a machine: a file with a "cluster" and optionally a "model", which is what
// `collsim calibrate` and `topo import` write, or a scenario, whose other keys do not matter.
[[nodiscard]] std::optional<JsonValue> read_machine_file(const std::string& file, Sources& sources,
                                                         Diagnostics& diagnostics);

// An option whose value is a word of scenarios, in any of the spellings that they take.
Option& word_option(Options& command, const char* names, std::string& variable,
                    const Vocabulary& words, const char* help);

// Puts its cluster, and its model if it has one, in place of the scenario's.
void put_machine(JsonValue& scenario, const JsonValue& machine);

}  // namespace collsim
