// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/commands/options.hpp"

namespace collsim {

// One screen: two examples and the commands.
[[nodiscard]] std::string short_help(const Options& program);
// The same, and options, exit codes and environment variables.
[[nodiscard]] std::string full_help(const Options& program);
[[nodiscard]] std::string command_help(const Options& command);

}  // namespace collsim
