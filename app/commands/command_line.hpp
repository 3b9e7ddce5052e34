// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command.hpp"

namespace collsim {

// A program: its name with the version, what its help says, and its commands.
struct Executable {
  const char* name;
  const char* summary;   // after the version
  const char* examples;  // each line a command
  std::span<const Command> commands;
};

// A whole program but for main(), as run_command_line() is one.
[[nodiscard]] int run_program_line(const Executable& program,
                                   const std::vector<std::string>& arguments, Terminal& terminal);

// The whole program collsim but for main(): parses the arguments (without the program's name), runs
// a command, gives the exit code.  Mistakes of the user end here; what else is thrown is a bug.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments, Terminal& terminal);

// In the order of the help.
[[nodiscard]] std::span<const Command> commands();

// Whether to colour what goes to a stream: `flag` (auto, always, never) wins, then NO_COLOR, then
// CLICOLOR_FORCE and FORCE_COLOR, then whether it is a terminal that can.
[[nodiscard]] bool wants_colour(std::string_view flag, bool is_terminal);

}  // namespace collsim
