// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "app/commands/command.hpp"
#include "app/explain/explanation.hpp"
#include "app/explain/step_explanation.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"

namespace collsim {
namespace {

struct ExplainOptions {
  OneCaseOptions one;
  std::string format = "text";
};

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t columns_of(const Terminal& terminal) {
  constexpr std::size_t least = 72;
  const std::size_t most = PageStyle{}.columns;
  return terminal.columns == 0 ? most : std::clamp(terminal.columns, least, most);
}

// By the locale that counts; where none is set, all are taken for what most are.
bool shows_only_ascii() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    std::erase(locale, '-');
    std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
    return locale.find("utf8") == std::string::npos;
  }
  return false;
}

template <class AnyExplanation>
void print(const AnyExplanation& explanation, const ExplainOptions& options, Terminal& terminal) {
  if (options.format == "json")
    terminal.out << to_json(to_value(explanation)) << '\n';
  else
    terminal.out << to_text(explanation,
                            {terminal.colour, columns_of(terminal), shows_only_ascii()});
}

int explain_case(const ExplainOptions& options, Terminal& terminal) {
  const std::optional<ChosenCase> chosen = load_one_case(options.one, terminal);
  if (!chosen) return exit_usage;
  if (chosen->chosen.step != nullptr) {
    print(explain_step(chosen->scenario, chosen->point, chosen->chosen), options, terminal);
  } else {
    Variations variations(chosen->scenario, chosen->point);
    print(explain(chosen->chosen, &variations), options, terminal);
  }
  return exit_fine;
}

}  // namespace

Action declare_explain(Options& command) {
  auto options = std::make_shared<ExplainOptions>();
  options->one.workloads = true;
  add_one_case_options(command, options->one);
  command.choice("--format", options->format, {"text", "json"}, "output format").shown_default =
      "text";
  return [options](Terminal& terminal) { return explain_case(*options, terminal); };
}

}  // namespace collsim
