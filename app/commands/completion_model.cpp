// SPDX-License-Identifier: Apache-2.0
#include "app/commands/completion_model.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/commands/help.hpp"
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
Offer offer_of(const CLI::Option& option) {
  const std::vector<std::string> words = choices(option);
  if (!words.empty()) return {words};
  const std::string& name = option.get_single_name();
  if (name == "OP") return {operation_words().allowed};
  if (name == "preset" || name == "PRESET") return {preset_words().allowed};
  if (name == "algorithm") return {algorithm_names()};
  if (name == "datatype") return {element_type_words().allowed};
  if (name == "redop") return {reduction_words().allowed};
  if (name == "FILE" || name == "RESULTS") return {{}, Offer::Files::json};
  if (option.get_type_name().starts_with("FILE")) return {{}, Offer::Files::any};
  return {};
}

CompletedCommand completed(const CLI::App& app, const std::string& path) {
  CompletedCommand command{path, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (!option->nonpositional()) {
      if (command.argument.words.empty() && command.argument.files == Offer::Files::none)
        command.argument = offer_of(*option);
      continue;
    }
    CompletedOption one{{}, option->get_description(), takes_value(*option), offer_of(*option)};
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    command.options.push_back(std::move(one));
  }
  return command;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& all) {
  all.push_back(completed(app, path));
  if (!path.empty())  // -h and --help are inherited; the program's work everywhere
    std::erase_if(all.back().options, [&](const CompletedOption& option) {
      return option.names.front() == "-h" || option.names.front() == "--help";
    });
  for (const CLI::App* command : subcommands(app))
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), all);
}

}  // namespace

bool CompletedCommand::is_below(const std::string& parent) const {
  if (path.empty()) return false;
  const std::size_t blank = path.rfind(' ');
  return (blank == std::string::npos ? "" : path.substr(0, blank)) == parent;
}

std::vector<CompletedCommand> completed_commands(const CLI::App& program) {
  std::vector<CompletedCommand> all;
  collect(program, {}, all);
  return all;
}

}  // namespace collsim
