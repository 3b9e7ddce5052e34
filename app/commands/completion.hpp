// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/commands/options.hpp"

namespace collsim {

// What a shell may offer at a place of the command line.
struct Offer {
  enum class Files { none, json, any };
  // What depends on the rest of the line: the algorithms of its operation; paths to values of its
  // scenario file, or what that sweeps.
  enum class OfLine { nothing, algorithms, paths, axes };
  std::vector<std::string> words;
  Files files = Files::none;
  OfLine of_line = OfLine::nothing;
};

struct CompletedOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
  Offer value;
};

// A command, or the program itself (path "").
struct CompletedCommand {
  std::string path;  // "run", "topo show"
  std::string description;
  std::vector<CompletedOption> options;  // those of the program work behind every command as well
  Offer argument;
  [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }
  [[nodiscard]] bool is_below(const std::string& parent) const;
};

// All commands from the options that they declare, the program first.
[[nodiscard]] std::vector<CompletedCommand> completed_commands(const Options& program);

// Scripts for the shells.
[[nodiscard]] std::string bash_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace collsim
