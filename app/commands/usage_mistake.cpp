// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "app/commands/help.hpp"
#include "app/json/screen_text.hpp"
#include "collectives/names.hpp"

namespace collsim {
namespace {

std::string_view without_dashes(std::string_view option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

std::string unknown_option(const CLI::App& program, const CLI::App& command,
                           const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  if (command.get_option_no_throw(option) != nullptr)
    return fmt::format("{} belongs to \"{}\" and goes behind it", option, full_name(command));
  std::vector<std::string> names = long_names(command);
  const std::vector<std::string> global = long_names(program);
  names.insert(names.end(), global.begin(), global.end());
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view meant = nearest_name(without_dashes(option), views);
  std::string text = fmt::format("there is no option \"{}\"", option);
  if (!meant.empty()) text += fmt::format("; did you mean \"--{}\"?", meant);
  return text;
}

std::string unknown_command(const CLI::App& command, const std::string& word) {
  if (word.ends_with(".json"))
    return fmt::format("\"{0}\" is no command; did you mean \"collsim run {0}\"?", printable(word));
  std::vector<std::string> names;
  for (const CLI::App* known : subcommands(command)) names.push_back(known->get_name());
  return fmt::format("there is no command{}", did_you_mean(printable(word), names));
}

std::string left_over(const CLI::App& program, const CLI::App& command,
                      const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (looks_like_option(word)) return unknown_option(program, command, word);
  for (const std::string& word : words) {
    if (word == "--") continue;
    if (!subcommands(command).empty()) return unknown_command(command, word);
    return fmt::format("\"{}\" is one argument too many", word);
  }
  return {};
}

// CLI11 puts the option's name before its texts: "--format: jsn not in {table,json}".
struct Complaint {
  std::string option, text;
};
Complaint split_complaint(const std::string& what) {
  const std::size_t colon = what.find(": ");
  if (colon == std::string::npos) return {{}, what};
  return {what.substr(0, colon), what.substr(colon + 2)};
}

// "-f" for "--stepfactor": whoever has a short name at hand types it.
std::string shortest_name(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr || option->get_snames().empty() ? name : "-" + option->get_snames()[0];
}

// The text between two others; empty when they are not there.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find(after, begin + before.size());
  if (end == std::string::npos) return {};
  return text.substr(begin + before.size(), end - begin - before.size());
}

std::string bad_value(const CLI::App& command, const std::string& what) {
  const auto [name, text] = split_complaint(what);
  const std::string option = shortest_name(command, name);
  const std::size_t not_in = text.find(" not in {");
  if (not_in != std::string::npos) {
    const std::vector<std::string> allowed =
        CLI::detail::split(between(text, " not in {", "}"), ',');
    return fmt::format("{} cannot be{}", option, did_you_mean(text.substr(0, not_in), allowed));
  }
  const std::string value = between(text, "Value ", " not in range ");
  if (!value.empty()) {
    const std::string range = text.substr(text.find(" in range ") + 10);
    return fmt::format("{} cannot be {}: it takes {}", option, value, range);
  }
  return what;
}

std::string bad_number(const CLI::App& command, const std::string& what) {
  const std::string name = between(what, "Could not convert: ", " = ");
  if (name.empty()) return what;
  const std::string value = what.substr(what.find(" = ") + 3);
  const CLI::Option* known = command.get_option_no_throw(name);
  const bool real = known != nullptr && known->get_type_name().starts_with("FLOAT");
  return fmt::format("{} takes a {}, not \"{}\"", shortest_name(command, name),
                     real ? "number" : "whole number", value);
}

std::string bad_count(const CLI::App& command, const std::string& what) {
  const auto [name, text] = split_complaint(what);
  const std::string option = shortest_name(command, name);
  if (text.find(" missing") != std::string::npos) return fmt::format("{} needs a value", option);
  const std::string given = text.substr(text.find_last_of(' ') + 1);
  return fmt::format("{} takes one value and was given {} of them", option, given);
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& allowed) {
  const std::vector<std::string_view> views(allowed.begin(), allowed.end());
  const std::string_view meant = nearest_name(word, views);
  std::string text = fmt::format(" \"{}\"", word);
  if (!meant.empty()) text += fmt::format("; did you mean \"{}\"?", meant);
  if (!allowed.empty()) text += fmt::format("\n  known: {}", fmt::join(allowed, ", "));
  return text;
}

std::string usage_mistake(const CLI::App& program, const CLI::Error& error) {
  const CLI::App& command = parsed_command(program);
  std::string unknown = left_over(program, command, program.remaining(true));
  if (!unknown.empty()) return unknown;

  std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (what == "A subcommand is required") return "a command is missing";
    return what.substr(0, what.find(" is required")) + " is missing";
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return bad_value(command, what);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return bad_number(command, what);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return bad_count(command, what);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return fmt::format("{} and {} do not go together",
                       shortest_name(command, what.substr(0, what.find(' '))),
                       shortest_name(command, what.substr(what.find_last_of(' ') + 1)));
  return what;
}

}  // namespace collsim
