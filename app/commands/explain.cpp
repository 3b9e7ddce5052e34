// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/explain/explanation.hpp"
#include "app/explain/step_explanation.hpp"
#include "app/json/value.hpp"

namespace collsim {
namespace {

struct ExplainOptions {
  OneCaseOptions one;
  std::string format = "text";
};

template <class AnyExplanation>
void print(const AnyExplanation& explanation, const ExplainOptions& options, Terminal& terminal) {
  if (options.format == "json")
    terminal.out << to_json(to_value(explanation)) << '\n';
  else
    terminal.out << to_text(explanation, terminal.colour);
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
