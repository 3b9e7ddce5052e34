// SPDX-License-Identifier: Apache-2.0
#include "app/commands/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace collsim {
namespace {

constexpr std::size_t page_width = 96;

// Two columns: a name, and words about it that are wrapped.
class List {
 public:
  explicit List(std::size_t name_width) : name_width_(name_width) {}

  void add(const std::string& name, const std::string& words) {
    text_ += "  " + name;
    std::size_t column = name.size() + 2;
    if (name.size() > name_width_) start_line(column);
    pad(column);
    for (const std::string& word : CLI::detail::split(words, ' ')) {
      if (column + 1 + word.size() > page_width) {
        start_line(column);
        pad(column);
      }
      text_ += " " + word;
      column += word.size() + 1;
    }
    text_ += '\n';
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void start_line(std::size_t& column) {
    text_ += '\n';
    column = 0;
  }
  void pad(std::size_t& column) {
    const std::size_t wanted = name_width_ + 3;
    if (column < wanted) text_.append(wanted - column, ' ');
    column = std::max(column, wanted);
  }

  std::size_t name_width_;
  std::string text_;
};

// "TEXT" of "TEXT:{a,b}": what CLI11 calls the type of an option.
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::string base = type.substr(0, type.find(':'));
  if (base == "INT" || base == "UINT" || base == "FLOAT") return "N";
  return base;
}

std::string value_name(const CLI::Option& option) {
  if (!takes_value(option)) return {};
  constexpr std::size_t longest_list = 18;
  const std::string words = fmt::format("{}", fmt::join(choices(option), "|"));
  if (!words.empty() && words.size() <= longest_list) return " " + words;
  return " " + (words.empty() ? type_of(option) : std::string("NAME"));
}

std::string words_about(const CLI::Option& option) {
  std::string words = option.get_description();
  const std::vector<std::string> allowed = choices(option);
  if (!allowed.empty() && value_name(option) == " NAME")
    words += fmt::format(": {}", fmt::join(allowed, ", "));
  if (!option.get_default_str().empty())
    words += fmt::format(" (default: {})", option.get_default_str());
  return words;
}

std::string positional_name(const CLI::Option& option) {
  std::string name = option.get_name(true);
  if (option.get_items_expected_max() > 1) name += "...";
  return option.get_required() ? name : "[" + name + "]";
}

bool is_help(const CLI::App& app, const CLI::Option* option) {
  return option == app.get_help_ptr() || option == app.get_help_all_ptr();
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty() && !is_help(app, option);
  });
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string option_list(const CLI::App& app, const std::string& help) {
  constexpr std::size_t name_width = 24;
  List list(name_width);
  for (const CLI::Option* option : positionals(app))
    list.add(option->get_name(true), words_about(*option));
  for (const CLI::Option* option : shown_options(app)) {
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    list.add(fmt::format("{}{}", fmt::join(names, ", "), value_name(*option)),
             words_about(*option));
  }
  if (!help.empty()) list.add("-h, --help", help);
  return list.text();
}

std::string command_list(const CLI::App& app) {
  constexpr std::size_t name_width = 11;
  List list(name_width);
  for (const CLI::App* command : subcommands(app))
    list.add(command->get_name(), command->get_description());
  return list.text();
}

std::string indented(const std::string& lines) {
  std::string text;
  for (const std::string& line : CLI::detail::split(lines, '\n'))
    if (!line.empty()) text += "  " + line + "\n";
  return text;
}

}  // namespace

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  return CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

const CLI::App& parsed_command(const CLI::App& program) {
  const std::vector<CLI::App*> parsed = program.get_subcommands();
  return parsed.empty() ? program : parsed_command(*parsed.front());
}

std::string short_help(const CLI::App& program) {
  return fmt::format(
      "{}\n\n{}\ncommands:\n{}\n\"collsim COMMAND --help\" shows the options of a command and "
      "examples; \"collsim --help\" more.\n",
      program.get_description(), indented(program.get_footer()), command_list(program));
}

std::string full_help(const CLI::App& program) {
  constexpr const char* rest = R"(
exit codes:
  0    fine
  1    an expectation, a proof or a comparison failed
  2    bad usage, bad input, or the output cannot be written
  3    cannot be measured here
  4    measured data were wrong
  70   a bug of collsim
  77   skipped on request
  130  interrupted; what was done until then is written with "complete": false

environment:
  NO_COLOR                     no colour, unless --color says otherwise
  CLICOLOR_FORCE, FORCE_COLOR  colour also when the output is no terminal
)";
  return fmt::format(
      "{}\n\nusage: collsim COMMAND [OPTIONS] ...\n\n{}\ncommands:\n{}\n"
      "options, before or after the command:\n{}{}",
      program.get_description(), indented(program.get_footer()), command_list(program),
      option_list(program, "this text; after a command: its options and examples (-h: one screen)"),
      rest);
}

std::string command_help(const CLI::App& command) {
  std::string text = fmt::format("{}\n\nusage: {}", command.get_description(), full_name(command));
  if (!shown_options(command).empty()) text += " [OPTIONS]";
  for (const CLI::Option* option : positionals(command)) text += " " + positional_name(*option);
  if (!subcommands(command).empty()) text += " COMMAND";
  text += "\n";
  if (!subcommands(command).empty()) text += "\ncommands:\n" + command_list(command);
  const std::string options = option_list(command, {});
  if (!options.empty()) text += "\noptions:\n" + options;
  text += "\n--color, --quiet: see collsim --help\n";
  const std::string examples = indented(command.get_footer());
  if (!examples.empty()) text += "\nexamples:\n" + examples;
  return text;
}

}  // namespace collsim
