// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/completion_model.hpp"

namespace collsim {

Action declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "for which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell, &app](Terminal& terminal) {
    const std::vector<CompletedCommand> commands = completed_commands(*app.get_parent());
    if (*shell == "bash")
      terminal.out << bash_completion(commands);
    else if (*shell == "zsh")
      terminal.out << zsh_completion(commands);
    else
      terminal.out << fish_completion(commands);
    return static_cast<int>(exit_fine);
  };
}

}  // namespace collsim
