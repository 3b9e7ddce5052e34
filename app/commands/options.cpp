// SPDX-License-Identifier: Apache-2.0
#include "app/commands/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "app/json/screen_text.hpp"
#include "collectives/names.hpp"

namespace collsim {
namespace {

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

template <class Some>
auto* find_option(Some& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.has(name); });
  return found == options.end() ? nullptr : &*found;
}

void add_long_names(const Options& command, std::vector<std::string>& names) {
  for (const Option& option : command.options())
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name.substr(2));
}

}  // namespace

bool Option::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Options::Options(std::string name, std::string summary, std::string examples, Options* parent)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      examples_(std::move(examples)),
      parent_(parent) {}

Option& Options::add(const char* names, const char* kind, const char* help) {
  return options_.emplace_back(Option{split(names, ','), help, kind, {}});
}

Option& Options::flag(const char* names, bool& variable, const char* help) {
  Option& option = add(names, "", help);
  option.take = [&variable](const std::string&) { variable = true; };
  return option;
}

Option& Options::value(const char* names, std::string& variable, const char* kind,
                       const char* help) {
  Option& option = add(names, kind, help);
  option.take = [&variable](const std::string& value) { variable = value; };
  return option;
}

Option& Options::value(const char* names, std::optional<std::string>& variable, const char* kind,
                       const char* help) {
  Option& option = add(names, kind, help);
  option.take = [&variable](const std::string& value) { variable = value; };
  return option;
}

Option& Options::value(const char* names, std::vector<std::string>& variable, const char* kind,
                       const char* help) {
  Option& option = add(names, kind, help);
  option.repeats = true;
  option.take = [&variable](const std::string& value) { variable.push_back(value); };
  return option;
}

Option& Options::choice(const char* names, std::string& variable, std::vector<std::string> words,
                        const char* help) {
  Option& option = add(names, "NAME", help);
  option.choices = std::move(words);
  option.take = [&variable, name = option.shortest_name(),
                 allowed = option.choices](const std::string& value) {
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      throw UsageError(fmt::format("{} cannot be{}", name, did_you_mean(value, allowed)));
    variable = value;
  };
  return option;
}

Option& Options::integer(const char* names, const std::function<void(std::int64_t)>& take,
                         const char* help, std::int64_t low, std::int64_t high) {
  Option& option = add(names, "N", help);
  option.take = [=, name = option.shortest_name()](const std::string& value) {
    std::int64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [rest, problem] = std::from_chars(value.data(), end, number);
    if (rest != end || problem == std::errc::invalid_argument)
      throw UsageError(fmt::format("{} takes a whole number, not \"{}\"", name, value));
    if (problem != std::errc{} || number < low || number > high)
      throw UsageError(fmt::format("{} cannot be {}: it takes {} to {}", name, value, low, high));
    take(number);
  };
  return option;
}

Options& Options::command(const char* name, const char* summary, const char* examples) {
  return commands_.emplace_back(name, summary, examples, this);
}

std::string Options::full_name() const {
  return parent_ == nullptr ? name_ : parent_->full_name() + " " + name_;
}

const Options& Options::chosen() const {
  return chosen_ == nullptr ? *this : chosen_->chosen();
}

// Sorts the words first, so that mistakes are judged when the command is known.
class Options::Parser {
 public:
  Parser(Options& program, const std::vector<std::string>& words)
      : words_(words), command_(&program) {}

  void parse() {
    bool only_arguments = false;
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (!only_arguments && word == "--")
        only_arguments = true;
      else if (!only_arguments && word.starts_with("--"))
        long_option(word);
      else if (!only_arguments && looks_like_option(word))
        short_options(word);
      else
        argument(word);
    }
    if (is_enough_) {
      if (!command_->commands_.empty()) refuse_arguments();
      return take_all();
    }
    refuse_left_over();
    if (!mistake_.empty()) throw UsageError(mistake_);
    take_all();
    if (command_->needs_command) throw UsageError("no command given");
    for (const Option& option : command_->options_) check(option);
  }

 private:
  // Of the command or, what works everywhere, of the program.
  Option* find(std::string_view name) {
    for (Options* command = command_; command != nullptr; command = command->parent_)
      if (Option* option = find_option(command->options_, name)) return option;
    return nullptr;
  }

  void give(Option& option, std::string value) {
    option.given.push_back(std::move(value));
    is_enough_ = is_enough_ || option.is_enough;
  }

  void give_next(Option& option) {
    if (next_ < words_.size())
      give(option, words_[next_++]);
    else
      note(fmt::format("{} needs a value", option.shortest_name()));
  }

  void note(std::string mistake) {
    if (mistake_.empty()) mistake_ = std::move(mistake);
  }

  void long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    Option* option = find(name);
    if (option == nullptr)
      left_.push_back(word);
    else if (equals == std::string::npos)
      option->kind.empty() ? give(*option, "") : give_next(*option);
    else if (option->kind.empty())
      note(fmt::format("{} takes no value", name));
    else if (equals + 1 == word.size())  // "--format= x.json" would take x.json as the format
      note(fmt::format("{} has nothing after the \"=\"", word));
    else
      give(*option, word.substr(equals + 1));
  }

  // "-n 4", "-n4", "-qn4"
  void short_options(const std::string& word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      Option* option = find(std::string("-") + word[at]);
      if (option == nullptr) {
        left_.push_back(at == 1 ? word : "-" + word.substr(at));
        return;
      }
      if (option->kind.empty()) {
        give(*option, "");
        continue;
      }
      if (at + 1 < word.size())
        give(*option, word.substr(at + 1));
      else
        give_next(*option);
      return;
    }
  }

  void argument(const std::string& word) {
    for (Options& command : command_->commands_) {
      if (command.name_ != word) continue;
      command_->chosen_ = &command;
      command_ = &command;
      return;
    }
    for (Option& option : command_->options_) {
      if (!option.is_argument() || (!option.repeats && !option.given.empty())) continue;
      return give(option, word);
    }
    left_.push_back(word);
  }

  [[noreturn]] void refuse_option(const std::string& word) const {
    const std::string option = word.substr(0, word.find('='));
    if (find_option(command_->options_, option) != nullptr)
      throw UsageError(
          fmt::format("{} belongs to \"{}\"; put it after that", option, command_->full_name()));
    std::vector<std::string> names;
    for (const Options* command = command_; command != nullptr; command = command->parent_)
      add_long_names(*command, names);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view meant = nearest_name(
        std::string_view(option).substr(std::min(option.find_first_not_of('-'), option.size())),
        views);
    throw UsageError(
        fmt::format("there is no option \"{}\"{}", option,
                    meant.empty() ? "" : fmt::format("; did you mean \"--{}\"?", meant)));
  }

  void refuse_left_over() const {
    for (const std::string& word : left_)
      if (looks_like_option(word)) refuse_option(word);
    refuse_arguments();
  }

  void refuse_arguments() const {
    const auto found = std::find_if_not(left_.begin(), left_.end(), looks_like_option);
    if (found == left_.end()) return;
    const std::string& word = *found;
    if (command_->commands_.empty())
      throw UsageError(fmt::format("\"{}\" is an unexpected argument", word));
    if (word.ends_with(".json"))
      throw UsageError(
          fmt::format("\"{0}\" is not a command; did you mean \"collsim run {0}\"?", word));
    std::vector<std::string> names;
    for (const Options& known : command_->commands_) names.push_back(known.name_);
    throw UsageError("there is no command" + did_you_mean(word, names));
  }

  void take_all() {
    for (Options* command = command_; command != nullptr; command = command->parent_)
      for (Option& option : command->options_) {
        if (is_enough_ && !option.is_enough) continue;
        if (!option.kind.empty() && !option.repeats && option.given.size() > 1)
          throw UsageError(fmt::format("{} takes one value, not {}", option.shortest_name(),
                                       option.given.size()));
        for (const std::string& value : option.given) option.take(value);
      }
  }

  void check(const Option& option) const {
    const std::string& name = option.shortest_name();
    if (option.given.empty()) {
      if (option.required) throw UsageError(name + " is missing");
      return;
    }
    const auto is_given = [&](const std::string& other) {
      return !other.empty() && !find_option(command_->options_, other)->given.empty();
    };
    if (is_given(option.excludes))
      throw UsageError(fmt::format("{} and {} do not go together", option.excludes, name));
    if (!option.needs.empty() && !is_given(option.needs))
      throw UsageError(fmt::format("{} needs {}", name, option.needs));
  }

  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  Options* command_;
  std::vector<std::string> left_;  // what nothing takes
  std::string mistake_;            // the first
  bool is_enough_ = false;
};

void Options::parse(const std::vector<std::string>& arguments) {
  Parser(*this, arguments).parse();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& allowed) {
  const std::vector<std::string_view> views(allowed.begin(), allowed.end());
  const std::string_view meant = nearest_name(word, views);
  std::string text = fmt::format(" \"{}\"", word);
  if (!meant.empty()) text += fmt::format("; did you mean \"{}\"?", meant);
  if (!allowed.empty()) text += fmt::format("\n  known: {}", fmt::join(allowed, ", "));
  return text;
}

}  // namespace collsim
