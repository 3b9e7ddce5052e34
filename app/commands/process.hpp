// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "app/commands/command.hpp"

namespace collsim {

// What belongs to a process and not to a command: signals, descriptors, exceptions that are bugs.

// First of all in main().
void prepare_process();

// Runs a command line on standard output and gives the exit code.  The text is for messages: what
// was run, beginning with the program.
[[nodiscard]] int run_process(const std::string& command_line_text,
                              const std::function<int(Terminal&)>& command_line);

}  // namespace collsim
