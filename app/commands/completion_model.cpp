// SPDX-License-Identifier: Apache-2.0
#include "app/commands/completion_model.hpp"

#include <algorithm>

#include "app/scenario/presets.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names{"auto"};
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// An option's words are known to the option; those of what is read later go by the option's name.
Offer offer_of(const Option& option) {
  if (!option.choices.empty()) return {option.choices};
  if (option.has("OP")) return {operation_words().allowed};
  if (option.has("--preset") || option.has("PRESET")) return {preset_words().allowed};
  if (option.has("--algorithm")) return {algorithm_names()};
  if (option.has("--datatype")) return {element_type_words().allowed};
  if (option.has("--redop")) return {reduction_words().allowed};
  if (option.has("FILE") || option.has("RESULTS")) return {{}, Offer::Files::json};
  if (option.kind == "FILE") return {{}, Offer::Files::any};
  return {};
}

CompletedCommand completed(const Options& of, const std::string& path) {
  CompletedCommand command{path, of.summary(), {}, {}};
  for (const Option& option : of.options()) {
    if (option.hidden) continue;
    if (!option.is_argument())
      command.options.push_back(
          {option.names, option.help, !option.kind.empty(), offer_of(option)});
    else if (command.argument.words.empty() && command.argument.files == Offer::Files::none)
      command.argument = offer_of(option);
  }
  return command;
}

void collect(const Options& of, const std::string& path, std::vector<CompletedCommand>& all) {
  all.push_back(completed(of, path));
  for (const Options& command : of.commands())
    collect(command, path.empty() ? command.name() : path + " " + command.name(), all);
}

}  // namespace

bool CompletedCommand::is_below(const std::string& parent) const {
  if (path.empty()) return false;
  const std::size_t blank = path.rfind(' ');
  return (blank == std::string::npos ? "" : path.substr(0, blank)) == parent;
}

std::vector<CompletedCommand> completed_commands(const Options& program) {
  std::vector<CompletedCommand> all;
  collect(program, {}, all);
  return all;
}

}  // namespace collsim
