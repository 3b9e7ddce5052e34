// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {

// Programs by the path from which they were read; null: there was something wrong with it.
using ProgramFiles = std::map<std::string, std::shared_ptr<const ListedSchedule>>;

// Reads the files that {"msccl": FILE} names in "collective", "sweep" and "expect", each once, and
// puts
// the path that was opened in the place of FILE.  A name in a file is relative to the scenario's
// folder, one on
// the command line to where the program runs.  Reports what is wrong, in the file itself.
[[nodiscard]] ProgramFiles load_program_files(JsonValue& document, const std::string& scenario_file,
                                              Sources& sources, Diagnostics& diagnostics);

}  // namespace collsim
