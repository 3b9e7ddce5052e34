// SPDX-License-Identifier: Apache-2.0
#include "app/commands/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

constexpr std::size_t widest_page = 96;
constexpr std::size_t narrowest_page = 60;

std::size_t width_of_page(std::size_t columns) {
  return columns == 0 ? widest_page : std::clamp(columns, narrowest_page, widest_page);
}

// Two columns: a name, and words about it that are wrapped.
class List {
 public:
  List(std::size_t name_width, std::size_t columns)
      : name_width_(columns > 0 && columns < 80 ? std::min<std::size_t>(name_width, 16)
                                                : name_width),
        page_width_(width_of_page(columns)) {}

  void add(const std::string& name, const std::string& words) {
    text_ += "  " + name;
    std::size_t column = name.size() + 2;
    if (name.size() > name_width_) start_line(column);
    pad(column);
    for (const std::string& word : split(words, ' ')) {
      if (column + 1 + word.size() > page_width_) {
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
  std::size_t page_width_;
  std::string text_;
};

std::string value_name(const Option& option) {
  if (option.kind.empty()) return {};
  constexpr std::size_t longest_list = 18;
  const std::string words = fmt::format("{}", fmt::join(option.choices, "|"));
  return " " + (words.empty() || words.size() > longest_list ? option.kind : words);
}

std::string words_about(const Option& option) {
  std::string words = option.help;
  if (!option.choices.empty() && value_name(option) == " " + option.kind)
    words += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (!option.shown_default.empty()) words += fmt::format(" (default: {})", option.shown_default);
  return words;
}

std::string argument_name(const Option& option) {
  const std::string name = option.names.front() + (option.repeats ? "..." : "");
  return option.required ? name : "[" + name + "]";
}

// Arguments, or the others that are shown.
std::vector<const Option*> some(const Options& command, bool arguments) {
  std::vector<const Option*> some;
  for (const Option& option : command.options())
    if (option.is_argument() == arguments && !option.hidden && !option.has("-h") &&
        !option.has("--help"))
      some.push_back(&option);
  return some;
}

std::string option_list(const Options& command, std::size_t columns, const std::string& help) {
  constexpr std::size_t name_width = 24;
  List list(name_width, columns);
  for (const Option* option : some(command, true))
    list.add(option->names.front(), words_about(*option));
  for (const Option* option : some(command, false))
    list.add(fmt::format("{}{}", fmt::join(option->names, ", "), value_name(*option)),
             words_about(*option));
  if (!help.empty()) list.add("-h, --help", help);
  return list.text();
}

std::string command_list(const Options& program, std::size_t columns) {
  constexpr std::size_t name_width = 11;
  List list(name_width, columns);
  for (const Options& command : program.commands()) list.add(command.name(), command.summary());
  return list.text();
}

// Words from the left margin on; lines begin where they are told to.
std::string wrapped(const std::string& text, std::size_t columns) {
  if (columns == 0) return text;
  std::string lines;
  std::size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    const bool fits = column + 1 + word.size() <= width_of_page(columns);
    if (column > 0) lines += fits ? ' ' : '\n';
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
    lines += word;
  }
  return lines;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (const std::string& line : split(lines, '\n'))
    if (!line.empty()) text += "  " + line + "\n";
  return text;
}

}  // namespace

std::string short_help(const Options& program, std::size_t columns) {
  const std::string more = fmt::format(
      "\"{0} COMMAND --help\" shows the options of a command and examples; \"{0} --help\" has "
      "more.",
      program.name());
  return fmt::format("{}\n{}commands:\n{}{}\n", wrapped(program.summary(), columns),
                     indented(program.examples()), command_list(program, columns),
                     wrapped(more, columns));
}

std::string full_help(const Options& program, std::size_t columns) {
  constexpr const char* rest = R"(
exit codes:
  0    success
  1    an expectation, a proof or a comparison failed
  2    wrong usage, wrong input, or the output cannot be written
  3    cannot be measured here
  4    a real run produced wrong data
  70   a bug in collsim
  77   skipped on request
  130  interrupted (143: told to end); the results so far are written with "complete": false

environment:
  NO_COLOR                     no colour, unless overridden by --color
  CLICOLOR_FORCE, FORCE_COLOR  colour even if the output is not a terminal
)";
  return fmt::format(
      "{}\n\nusage: {} COMMAND [OPTIONS] ...\n\n{}\ncommands:\n{}\n"
      "options, before or after the command:\n{}{}",
      wrapped(program.summary(), columns), program.name(), indented(program.examples()),
      command_list(program, columns),
      option_list(program, columns,
                  "this text; after a command: its options and examples (-h: short help)"),
      rest);
}

std::string command_help(const Options& command, std::size_t columns) {
  std::string text =
      fmt::format("{}\n\nusage: {}", wrapped(command.summary(), columns), command.full_name());
  if (!some(command, false).empty()) text += " [OPTIONS]";
  for (const Option* option : some(command, true)) text += " " + argument_name(*option);
  if (!command.commands().empty()) text += " COMMAND";
  text += "\n";
  if (!command.commands().empty()) text += "\ncommands:\n" + command_list(command, columns);
  const std::string options = option_list(command, columns, {});
  if (!options.empty()) text += "\noptions:\n" + options;
  const Options* program = &command;
  while (program->parent() != nullptr) program = program->parent();
  text += fmt::format("\n--color, --memory, --quiet: see {} --help\n", program->name());
  const std::string examples = indented(command.examples());
  if (!examples.empty()) text += "\nexamples:\n" + examples;
  return text;
}

}  // namespace collsim
