// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/completion_model.hpp"

namespace collsim {

Action declare_completion(Options& options) {
  const auto shell = std::make_shared<std::string>();
  options.choice("SHELL", *shell, {"bash", "zsh", "fish"}, "for which shell").required = true;
  return [shell, &options](Terminal& terminal) {
    const std::vector<CompletedCommand> commands = completed_commands(*options.parent());
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
