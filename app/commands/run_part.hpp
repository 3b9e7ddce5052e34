// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/commands/run.hpp"
#include "app/study/part_file.hpp"

namespace collsim {

// `collsim run FILE... --part 3/8 -o FOLDER`, or without --part as a launcher's process: simulates
// one part of the points and leaves it in the folder for `collsim merge`.  A part that is there is
// not run again.

// Whether the options ask for it: --part is given, or -o is a folder.  A folder without --part, and
// without a launcher that says which part this is, is refused.
[[nodiscard]] bool wants_part(const RunCommandOptions& options);
[[nodiscard]] int run_part(const RunCommandOptions& options, Terminal& terminal);

// What a scenario is loaded with that comes from the command line, as a part remembers it.
[[nodiscard]] LoadOptions load_options_of(const PartHeader& header);

// "collsim run big.json --set 'x=1 2' --part 3/8 -o out": what makes this part.
[[nodiscard]] std::string command_for(const PartHeader& header, const SweepPart& part,
                                      const std::string& folder);

}  // namespace collsim
