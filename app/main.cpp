// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "app/commands/command_line.hpp"
#include "app/commands/process.hpp"

int main(int argument_count, char** arguments) {
  collsim::prepare_process();
  const std::vector<std::string> typed(arguments + 1, arguments + argument_count);
  std::string text = "collsim";
  for (const std::string& argument : typed) text += " " + argument;
  return collsim::run_process(text, [&typed](collsim::Terminal& terminal) {
    return collsim::run_command_line(typed, terminal);
  });
}
