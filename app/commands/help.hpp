// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Error;
class Option;
}  // namespace CLI

namespace collsim {

// One screen: two examples and the commands.
[[nodiscard]] std::string short_help(const CLI::App& program);
// The same, and options, exit codes and environment variables.
[[nodiscard]] std::string full_help(const CLI::App& program);
// Of a command; the footer of the app holds its examples.
[[nodiscard]] std::string command_help(const CLI::App& command);

// "collsim run", "collsim topo show"
[[nodiscard]] std::string full_name(const CLI::App& command);
// The command that was parsed, the program itself when there was none.
[[nodiscard]] const CLI::App& parsed_command(const CLI::App& program);
[[nodiscard]] std::vector<const CLI::App*> subcommands(const CLI::App& app);
// The words that an option may be (CLI::IsMember); empty: anything.
[[nodiscard]] std::vector<std::string> choices(const CLI::Option& option);
[[nodiscard]] bool takes_value(const CLI::Option& option);

// What is wrong with the command line, in words for the person who typed it.
[[nodiscard]] std::string usage_mistake(const CLI::App& program, const CLI::Error& error);

// ` "jsn"; did you mean "json"?`: the end of a sentence about an unknown word.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& allowed);

}  // namespace collsim
