// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace collsim {

// The command line makes no sense, in words for the user.  run_command_line() shows it, says how to
// get help, and ends with exit_usage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An option of a command, or one of its arguments.
struct Option {
  std::vector<std::string> names;  // "-b", "--minbytes"; of an argument "FILE"
  std::string help;
  std::string kind;                  // of its value: "SIZE"; empty: a flag
  std::vector<std::string> choices;  // empty: any value
  std::string shown_default = {};
  std::string excludes = {}, needs = {};  // names of other options of the same command
  bool required = false, repeats = false, hidden = false;
  bool is_enough = false;  // with it, only the command must exist: --help
  std::function<void(const std::string& value)> take = {};
  std::vector<std::string> given = {};  // on the command line

  [[nodiscard]] bool is_argument() const { return names.front().front() != '-'; }
  [[nodiscard]] bool has(std::string_view name) const;
  // "-f" of "-f,--stepfactor": those who know the short name type it.
  [[nodiscard]] const std::string& shortest_name() const { return names.front(); }
};

// What a command takes and what its help says.  The program itself is one, with commands below it.
//
// Each option is bound to a variable, which keeps its value when the option is not given.  `names`
// are "-b,--minbytes", or "FILE" for an argument.  An option that belongs to the program may also
// stand behind a command.
class Options {
 public:
  Options(std::string name, std::string summary, std::string examples, Options* parent = nullptr);

  Option& flag(const char* names, bool& variable, const char* help);
  Option& value(const char* names, std::string& variable, const char* kind, const char* help);
  Option& value(const char* names, std::optional<std::string>& variable, const char* kind,
                const char* help);  // of which "" is no default
  Option& value(const char* names, std::vector<std::string>& variable, const char* kind,
                const char* help);  // repeats
  Option& choice(const char* names, std::string& variable, std::vector<std::string> words,
                 const char* help);
  template <class Integer>  // or an optional one
  Option& integer(const char* names, Integer& variable, const char* help,
                  std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                  std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
    return integer(
        names, [&variable](std::int64_t number) { variable = static_cast<Integer>(number); }, help,
        low, high);
  }
  Options& command(const char* name, const char* summary, const char* examples);

  // Fills in the variables.  Throws UsageError.
  void parse(const std::vector<std::string>& arguments);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string full_name() const;  // "collsim topo show"
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::string& examples() const { return examples_; }  // one a line
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  [[nodiscard]] const std::list<Options>& commands() const { return commands_; }
  [[nodiscard]] const Options* parent() const { return parent_; }
  // The command that was given, this one when there was none below it.
  [[nodiscard]] const Options& chosen() const;

  bool needs_command = false;

 private:
  class Parser;

  Option& add(const char* names, const char* kind, const char* help);
  Option& integer(const char* names, const std::function<void(std::int64_t)>& take,
                  const char* help, std::int64_t low, std::int64_t high);

  std::string name_, summary_, examples_;
  Options* parent_;
  std::vector<Option> options_;
  std::list<Options> commands_;
  const Options* chosen_ = nullptr;  // of commands_
};

// ` "jsn"; did you mean "json"?`: the end of a sentence about an unknown word.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& allowed);

// For a terminal of so many columns, or 0: for any.
//
// One screen: two examples and the commands.
[[nodiscard]] std::string short_help(const Options& program, std::size_t columns);
// The same, and options, exit codes and environment variables.
[[nodiscard]] std::string full_help(const Options& program, std::size_t columns);
[[nodiscard]] std::string command_help(const Options& command, std::size_t columns);

}  // namespace collsim
