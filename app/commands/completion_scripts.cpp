// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands/completion_model.hpp"

namespace collsim {
namespace {

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

std::string bash_offer(const Offer& offer) {
  if (offer.files == Offer::Files::json) return "_collsim_files '!*.json'; return";
  if (offer.files == Offer::Files::any) return "_collsim_files ''; return";
  return offer.words.empty() ? "return" : "words=" + in_quotes(joined(offer.words));
}

std::string zsh_offer(const Offer& offer) {
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

std::string fish_offer(const Offer& offer) {
  if (offer.files == Offer::Files::json) return " -k -a '(__fish_complete_suffix .json)'";
  if (offer.files == Offer::Files::any) return " -F";
  return offer.words.empty() ? "" : " -a " + fish_quoted(joined(offer.words));
}

std::string fish_option(const std::string& condition, const CompletedOption& option) {
  std::string line = "complete -c collsim" + condition;
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value)
    line += (option.value.files == Offer::Files::none ? " -x" : " -r") + fish_offer(option.value);
  return line + " -d " + fish_quoted(option.description) + "\n";
}

}  // namespace

std::string bash_completion(const Commands& commands) {
  std::string text = R"(# Completion for bash, made by "collsim completion bash".

_collsim_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X "$1" -- "$current" | sort -u)
}

_collsim() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command= words= i
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

_collsim() {
  local command= previous=${words[CURRENT - 1]} i
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

function __collsim_at
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
