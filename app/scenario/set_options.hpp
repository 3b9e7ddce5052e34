// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// What --set put where.
struct SetOption {
  std::string path;
  Place place;  // of the path in the argument
};

// Puts each "path=value" into the document.  The value is JSON, or else a string, so that neither
// collective.size=64MiB nor collective.chunks=16 needs quotes; what begins with { or [ must be JSON.
// null takes away what is there.  A later one wins over an earlier one.
std::vector<SetOption> apply_set_options(Value& document, const std::vector<std::string>& options,
                                         Sources& sources, Diagnostics& diagnostics);

}  // namespace collsim
