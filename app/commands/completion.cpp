// SPDX-License-Identifier: Apache-2.0
#include "app/commands/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names(algorithm_policies.begin(), algorithm_policies.end());
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
  if (option.has("--algorithm")) return {algorithm_names(), {}, Offer::OfLine::algorithms};
  if (option.has("--set")) return {{}, {}, Offer::OfLine::paths};
  if (option.has("--at")) return {{}, {}, Offer::OfLine::axes};
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

using Commands = std::vector<CompletedCommand>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string in_quotes(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

// 'run'|'topo show'
std::string all_paths(const Commands& commands, const char* separator) {
  std::vector<std::string> paths;
  for (const CompletedCommand& command : commands)
    if (!command.path.empty()) paths.push_back(in_quotes(command.path));
  return joined(paths, separator);
}

std::vector<std::string> names_below(const Commands& commands, const CompletedCommand& parent) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands)
    if (command.is_below(parent.path)) names.push_back(command.name());
  return names;
}

// Its own, and those of the program.
std::vector<const CompletedOption*> options_behind(const Commands& commands,
                                                   const CompletedCommand& command) {
  std::vector<const CompletedOption*> options;
  for (const CompletedOption& option : command.options) options.push_back(&option);
  if (!command.path.empty())
    for (const CompletedOption& option : commands.front().options) options.push_back(&option);
  return options;
}

// Bash and zsh: a case of "command:option" for what follows an option.
template <class Branch>
std::string value_cases(const Commands& commands, const Branch& branch) {
  std::string text;
  for (const CompletedCommand& command : commands)
    for (const CompletedOption& option : command.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back((command.path.empty() ? "*" : in_quotes(command.path)) + ":" + name);
      text += fmt::format("    {}) {} ;;\n", joined(patterns, "|"), branch(option.value));
    }
  return text;
}

// "all-reduce|allreduce", as shells match it.
std::string patterns_of(const std::string& operation, const char* separator) {
  std::vector<std::string> names{operation};
  if (operation.find('-') != std::string::npos) names.push_back(replaced(operation, "-", ""));
  for (const auto& [alias, meaning] : operation_words().aliases)
    if (meaning == operation) names.push_back(alias);
  return joined(names, separator);
}

std::vector<std::string> algorithm_names_of(const std::string& operation) {
  std::vector<std::string> names(algorithm_policies.begin(), algorithm_policies.end());
  for (const Algorithm* const algorithm : algorithms(parse_operation(operation)))
    names.emplace_back(algorithm->name);
  return names;
}

// What a scenario says of itself: "collective.chunks = 16   file:3:4", a line each.
constexpr const char* list_paths =
    "--print-resolved 2>/dev/null | awk '$1 ~ /^(cluster|collective|workload|model|measure)[.]/ "
    "{ print $1 \"=\" }'";
constexpr const char* list_axes =
    "--print-resolved 2>/dev/null | awk '/^sweep[.]/ { sub(/^sweep[.](zip: )?/, \"\"); "
    "sub(/ += .*/, \"\"); count = split($0, paths, \", \"); for (i = 1; i <= count; ++i) { "
    "path = paths[i]; sub(/[.](from|to|factor|step|points)$/, \"\", path); "
    "if (path !~ /^cluster[.]late[.]/) sub(/[.][0-9]+([.].*)?$/, \"\", path); "
    "print path \"=\" } }' | sort -u";

// Bash and zsh: functions that put what depends on the line into `offer`.  `line`: the words of it.
std::string functions_of_line(const std::string& line) {
  std::string text = "_collsim_algorithms() {\n  local word\n  for word in " + line +
                     "; do\n    word=${word##*/}\n    word=${word%_perf}\n"
                     "    case ${word//_/-} in\n";
  for (const std::string& operation : operation_words().allowed)
    text += fmt::format("    {}) offer={}; return ;;\n", patterns_of(operation, "|"),
                        in_quotes(joined(algorithm_names_of(operation))));
  text += "    esac\n  done\n  offer=" + in_quotes(joined(algorithm_names())) + "\n}\n\n";
  const auto add_lister = [&](const char* name, const char* list) {
    text += fmt::format(
        "_collsim_{}() {{\n  local word\n  offer=\n  for word in {}; do\n"
        "    [[ $word == *.json && -r $word ]] || continue\n"
        "    offer=$(collsim run \"$word\" {})\n  done\n}}\n\n",
        name, line, list);
  };
  add_lister("paths", list_paths);
  add_lister("axes", list_axes);
  return text;
}

std::string_view function_of(Offer::OfLine of_line) {
  switch (of_line) {
    case Offer::OfLine::algorithms: return "_collsim_algorithms";
    case Offer::OfLine::paths: return "_collsim_paths";
    case Offer::OfLine::axes: return "_collsim_axes";
    case Offer::OfLine::nothing: break;
  }
  return "";
}

std::string bash_offer(const Offer& offer) {
  if (offer.of_line == Offer::OfLine::algorithms) return "_collsim_algorithms; words=$offer";
  if (offer.of_line != Offer::OfLine::nothing)
    return fmt::format("{}; words=$offer; compopt -o nospace 2>/dev/null",
                       function_of(offer.of_line));
  if (offer.files == Offer::Files::json) return "_collsim_files '!*.json'; return";
  if (offer.files == Offer::Files::any) return "_collsim_files ''; return";
  return offer.words.empty() ? "return" : "words=" + in_quotes(joined(offer.words));
}

std::string zsh_offer(const Offer& offer) {
  if (offer.of_line == Offer::OfLine::algorithms)
    return "_collsim_algorithms; compadd -- ${=offer}; return";
  if (offer.of_line != Offer::OfLine::nothing)
    return fmt::format("{}; compadd -S '' -- ${{=offer}}; return", function_of(offer.of_line));
  if (offer.files == Offer::Files::json) return "_files -g '*.json'; return";
  if (offer.files == Offer::Files::any) return "_files; return";
  return offer.words.empty() ? "return" : "compadd -- " + joined(offer.words) + "; return";
}

std::string zsh_described(const std::string& name, const std::string& description) {
  return in_quotes(replaced(name, ":", "\\:") + ":" + replaced(description, ":", "\\:"));
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Fish has its own language: the same as functions_of_line().
std::string fish_functions_of_line() {
  std::string text =
      "function __collsim_algorithms\n    for word in (commandline -opc)\n"
      "        set -l name (string replace -r '.*/' '' -- $word | string replace -r '_perf$' '' | "
      "string replace -a _ -)\n        switch \"$name\"\n";
  for (const std::string& operation : operation_words().allowed) {
    text += fmt::format("            case {}\n                printf '%s\\n'",
                        patterns_of(operation, " "));
    for (const std::string_view policy : algorithm_policies) text += fmt::format(" {}", policy);
    for (const Algorithm* const algorithm : algorithms(parse_operation(operation)))
      text +=
          fmt::format(" {}\\t{}", algorithm->name, fish_quoted(std::string(algorithm->summary)));
    text += "\n                return\n";
  }
  text += "        end\n    end\n    printf '%s\\n' " + joined(algorithm_names()) + "\nend\n\n";
  const auto add_lister = [&](const char* name, const char* list) {
    text += fmt::format(
        "function __collsim_{}\n    for word in (commandline -opc)\n"
        "        string match -q '*.json' -- $word; and test -r $word; or continue\n"
        "        collsim run $word {}\n    end\nend\n\n",
        name, list);
  };
  add_lister("paths", list_paths);
  add_lister("axes", list_axes);
  return text;
}

std::string fish_offer(const Offer& offer) {
  if (offer.of_line != Offer::OfLine::nothing)
    return fmt::format(" -a '(_{})'", function_of(offer.of_line));
  if (offer.files == Offer::Files::json) return " -k -a '(__fish_complete_suffix .json)'";
  if (offer.files == Offer::Files::any) return " -F";
  return offer.words.empty() ? "" : " -a " + fish_quoted(joined(offer.words));
}

std::string fish_option(const std::string& condition, const CompletedOption& option) {
  std::string line = "complete -c collsim" + condition;
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const std::string description = " -d " + fish_quoted(option.description) + "\n";
  if (!option.takes_value) return line + description;
  // Apart, because fish shows the description of a line beside each of its values.
  const std::string value = option.value.files == Offer::Files::none ? " -x" : " -r";
  const std::string offer = fish_offer(option.value);
  return line + value + description + (offer.empty() ? "" : line + value + offer + "\n");
}

}  // namespace

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

std::string bash_completion(const Commands& commands) {
  std::string text = R"(# Completion for bash, made by "collsim completion bash".

)" + functions_of_line("\"${COMP_WORDS[@]}\"") +
                     R"(_collsim_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X "$1" -- "$current" | sort -u)
}

_collsim() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command= words= offer= i
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${command:+$command }${COMP_WORDS[i]}" in
)";
  text += fmt::format("    {}) command=\"${{command:+$command }}${{COMP_WORDS[i]}}\" ;;\n",
                      all_paths(commands, "|"));
  text += "    esac\n  done\n  case \"$command:$previous\" in\n";
  text += value_cases(commands, bash_offer);
  text += "    *)\n    case \"$command:$current\" in\n";
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> options;
    for (const CompletedOption* option : options_behind(commands, command))
      options.insert(options.end(), option->names.begin(), option->names.end());
    text += fmt::format("      {}:-*) words={} ;;\n", in_quotes(command.path),
                        in_quotes(joined(options)));
    const std::vector<std::string> below = names_below(commands, command);
    text += fmt::format(
        "      {}:*) {} ;;\n", in_quotes(command.path),
        below.empty() ? bash_offer(command.argument) : "words=" + in_quotes(joined(below)));
  }
  return text + R"(    esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _collsim collsim
)";
}

std::string zsh_completion(const Commands& commands) {
  std::string text = R"(#compdef collsim
# Completion for zsh, made by "collsim completion zsh".

)" + functions_of_line("$words") +
                     R"(_collsim() {
  local command= previous=${words[CURRENT - 1]} offer= i
  local -a offered
  if [[ $PREFIX == --*=* ]]; then
    previous=${PREFIX%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    case "${command:+$command }${words[i]}" in
)";
  text += fmt::format("    {}) command=\"${{command:+$command }}${{words[i]}}\" ;;\n",
                      all_paths(commands, "|"));
  text += "    esac\n  done\n  case \"$command:$previous\" in\n";
  text += value_cases(commands, zsh_offer);
  text += "  esac\n  case \"$command:$PREFIX\" in\n";
  for (const CompletedCommand& command : commands) {
    std::string options;
    for (const CompletedOption* option : options_behind(commands, command))
      for (const std::string& name : option->names)
        options += " " + zsh_described(name, option->description);
    text += fmt::format("    {}:-*) offered=({} ); _describe -o option offered ;;\n",
                        in_quotes(command.path), options);
    std::string below;
    for (const CompletedCommand& other : commands)
      if (other.is_below(command.path))
        below += " " + zsh_described(other.name(), other.description);
    text += fmt::format("    {}:*) {} ;;\n", in_quotes(command.path),
                        below.empty() ? zsh_offer(command.argument)
                                      : "offered=(" + below + " ); _describe command offered");
  }
  return text + R"(  esac
}

if [[ ${funcstack[1]} == _collsim ]]; then
  _collsim "$@"
else
  compdef _collsim collsim
fi
)";
}

std::string fish_completion(const Commands& commands) {
  std::string text = R"(# Completion for fish, made by "collsim completion fish".

)" + fish_functions_of_line() +
                     R"(function __collsim_at
    set -l command ''
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim -- "$command $word")
        if contains -- $longer )";
  text += all_paths(commands, " ");
  text += R"(
            set command $longer
        end
    end
    test "$command" = "$argv[1]"
end

complete -c collsim -f
)";
  for (const CompletedCommand& command : commands) {
    const std::string at = " -n " + fish_quoted("__collsim_at " + fish_quoted(command.path));
    for (const CompletedOption& option : command.options)
      text += fish_option(command.path.empty() ? "" : at, option);
    for (const CompletedCommand& other : commands)
      if (other.is_below(command.path))
        text += fmt::format("complete -c collsim{} -a {} -d {}\n", at, other.name(),
                            fish_quoted(other.description));
    const std::string argument = fish_offer(command.argument);
    if (!argument.empty()) text += fmt::format("complete -c collsim{}{}\n", at, argument);
  }
  return text;
}

}  // namespace collsim
