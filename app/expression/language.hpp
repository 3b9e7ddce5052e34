// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/expression/expression.hpp"

namespace collsim {

// What expectations add to the language of formulas: metrics, numbers with units, and functions
// over the rows of a sweep.
class ExpressionLanguage : public FormulaLanguage {
 public:
  explicit ExpressionLanguage(const ScenarioFacts& facts) : facts_(&facts) {}

  [[nodiscard]] bool knows(std::string_view word) const override;
  [[nodiscard]] FormulaName name(FormulaParser& parser, const FormulaToken& token) override;
  [[nodiscard]] FormulaPart call(FormulaParser& parser, const FormulaToken& name) override;
  void number(FormulaParser& parser, FormulaToken& token) override;
  [[nodiscard]] FormulaQuote quoted() const override { return in_quotes; }

  // The mistake in this text with what helps against it.
  [[nodiscard]] static FormulaError with_hint(FormulaError error, std::string_view text);
  // argmin, argmax, at, relative_error and idle that were read; their numbers are the ids of their
  // nodes.
  [[nodiscard]] std::vector<ExpressionSelection>& selections() { return selections_; }

 private:
  [[nodiscard]] FormulaPart selection(FormulaParser& parser, SelectionKind kind,
                                      const FormulaToken& name);
  [[nodiscard]] FormulaPart relative_error(FormulaParser& parser, const FormulaToken& name);
  [[nodiscard]] FormulaPart idle(FormulaParser& parser, const FormulaToken& name);
  // The swept path named next, and the value named next.
  [[nodiscard]] std::optional<ScenarioFacts::SweptPath> axis(FormulaParser& parser,
                                                             const FormulaToken& function);
  [[nodiscard]] std::size_t value_on(FormulaParser& parser, ScenarioFacts::SweptPath swept);
  void set_values(ExpressionSelection& selection, FormulaPart& part,
                  ScenarioFacts::SweptPath swept);
  void must_be_available(FormulaParser& parser, const NameEntry& entry,
                         const FormulaToken& token) const;

  const ScenarioFacts* facts_;
  std::vector<ExpressionSelection> selections_;
};

}  // namespace collsim
