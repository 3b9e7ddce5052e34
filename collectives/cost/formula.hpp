// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/cost/formula_language.hpp"

namespace collsim {

// What the symbols of a formula are in one case.
struct FormulaSymbols {
  double K = 1;                                        // ranks
  double N = 0;                                        // bytes
  double S = 1;                                        // chunks of every step's message
  double C = 1;                                        // channels
  double k = 4;                                        // radix of a tree
  double A = std::numeric_limits<double>::infinity();  // most blocks that one message aggregates
  double alpha = 0;                                    // startup of a message, s; occupies the link
  double B = 1;                                        // bandwidth, bytes/s
  double L = 0;                                        // latency from rank to rank, s
  double gamma = 0;                                    // s to add a byte; 0: adding is free
};

struct FormulaSymbol {
  std::string_view name;
  double FormulaSymbols::*value;
  Units units;
  std::string_view meaning;
};
[[nodiscard]] std::span<const FormulaSymbol> formula_symbols();

// A function of a message of n bytes, or a name, that every formula may use:
//
//   tau(n)         the time one n-byte message occupies a link
//   hop(n)         n bytes over one link, in S messages
//   reduce_hop(n)  the same, and added up as they arrive
//   q              log2(K), rounded up
//
// Their text is written once, in formula.cpp.
struct FormulaDefinition {
  std::string_view name;
  std::string_view parameter;  // "n", in bytes; empty: a name
  std::string_view text;       // "alpha + n/B"
  std::string_view meaning;
};
[[nodiscard]] std::span<const FormulaDefinition> formula_definitions();

// A summand, or something that occurs in one: "(K-1)*L", "(8-1)*2 us", 14e-6.
struct FormulaTerm {
  std::string text, with_values;
  double value = 0;
};

// What an algorithm costs, or a number that goes with it (the best number of chunks), written in
// the language of formula_language.hpp: "(K-1)*max(S*t, t+L) + S*t + L, t = tau(N/(K*S))".
class Formula {
 public:
  // Error{invalid_argument} where the text is malformed or units do not fit.
  explicit Formula(std::string_view text);

  [[nodiscard]] const std::string& text() const { return tree_.text; }
  [[nodiscard]] const Units& units() const { return tree_.root.units; }
  // NaN where there is none: log2(0), 1/0, a sum up to 2.5.
  [[nodiscard]] double value(const FormulaSymbols& symbols) const;

  // The formula with numbers in the place of symbols: "(8-1)*2 us".
  [[nodiscard]] std::string with_values(const FormulaSymbols& symbols) const;
  // Its summands, which add up to the value.  Of a single sum(i = a..b, ...) a line for every i.
  [[nodiscard]] std::vector<FormulaTerm> terms(const FormulaSymbols& symbols) const;
  // How the times in with_values() and terms() came about: "t", "tau(8 MiB)", "hop(1 MiB)".
  [[nodiscard]] std::vector<FormulaTerm> calls(const FormulaSymbols& symbols) const;

 private:
  FormulaTree tree_;
};

// The legend of a formula, or of a sentence about one.
struct FormulaLegend {
  // The functions that it uses, without what vanishes: "hop(n) = tau(n) + L: ..." where S = 1.
  std::vector<std::string> functions;
  std::vector<std::string> names;  // all that stand in it and in the functions

  [[nodiscard]] bool has(std::string_view name) const;
};
[[nodiscard]] FormulaLegend legend_of(std::string_view text, const FormulaSymbols& symbols);

}  // namespace collsim
