// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// Puts the rows of a table in the place of its name: "layers": "resnet.csv" of a workload's model,
// also in a sweep, whose values are then {"file": "resnet.csv", "rows": [...]}.  The first line of
// the file names the columns, as the keys of a layer, in any order; each further one is a layer, an
// empty cell is as though not written, and lines that begin with '#' are comments:
//
//   name,times,forward,backward,gradients
//   embedding,1,2ms,4ms,98MiB
//   layer,24,3ms,6ms,48MiB
//
// Names of files are those of load_program_files().  Reports what is wrong, in the table itself.
void load_layer_files(JsonValue& document, const std::string& scenario_file, Sources& sources,
                      Diagnostics& diagnostics);

}  // namespace collsim
