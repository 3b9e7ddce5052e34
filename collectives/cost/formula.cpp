// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "topo/error.hpp"

namespace collsim {
namespace {

using Symbols = FormulaSymbols;
constexpr std::array<FormulaSymbol, 10> formula_symbol_table{{
    {"K", &Symbols::K, units_none, "ranks"},
    {"N", &Symbols::N, units_size, "the size"},
    {"S", &Symbols::S, units_none, "messages that a step's data is cut into"},
    {"C", &Symbols::C, units_none, "channels"},
    {"k", &Symbols::k, units_none, "the radix of the tree"},
    {"A", &Symbols::A, units_none, "most blocks in one message"},
    {"alpha", &Symbols::alpha, units_time, "startup of every message; occupies the link"},
    {"B", &Symbols::B, units_bandwidth, "bandwidth of a link"},
    {"L", &Symbols::L, units_time, "latency from rank to rank; occupies nothing"},
    {"gamma", &Symbols::gamma, units_cost_per_byte, "time a rank needs to add one byte"},
}};

constexpr std::array<FormulaDefinition, 4> formula_definition_table{{
    {"reduce_hop", "n", "tau(n/S) + L + (S-1)*max(tau(n/S), n/S*gamma) + n/S*gamma",
     "n bytes over one link, added up as they arrive"},
    {"hop", "n", "S*tau(n/S) + L", "n bytes over one link"},
    {"tau", "n", "alpha + n/B", "the time one n-byte message occupies a link"},
    {"q", "", "ceil(log2(K))", "log2(K), rounded up: the number of doublings from 1 to K"},
}};

std::string in_plain_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

const FormulaSymbol* find_symbol(std::string_view word) {
  const auto found = std::find_if(formula_symbol_table.begin(), formula_symbol_table.end(),
                                  [&](const FormulaSymbol& symbol) { return symbol.name == word; });
  return found == formula_symbol_table.end() ? nullptr : found;
}

class SymbolValues : public FormulaValues {
 public:
  explicit SymbolValues(const FormulaSymbols& symbols) : symbols_(&symbols) {}
  std::optional<double> name(std::uint32_t id, FormulaEvaluation& /*evaluation*/) override {
    return symbols_->*formula_symbol_table[id].value;
  }

 private:
  const FormulaSymbols* symbols_;
};

FormulaTree own_tree(std::string_view text) {
  FormulaLanguage language;
  FormulaParser parser(text, language);
  std::optional<FormulaTree> tree = parser.parse();
  COLLSIM_CHECK(tree, "the formula " + std::string(text) + ": " + parser.error().message);
  return *std::move(tree);
}

}  // namespace

std::span<const FormulaSymbol> formula_symbols() {
  return formula_symbol_table;
}

std::span<const FormulaDefinition> formula_definitions() {
  return formula_definition_table;
}

// --- the language of symbols --------------------------------------------------------------------

bool FormulaLanguage::knows(std::string_view word) const {
  return find_symbol(word) != nullptr;
}

FormulaName FormulaLanguage::name(FormulaParser& parser, const FormulaToken& token) {
  const FormulaSymbol* symbol = find_symbol(token.text);
  if (symbol != nullptr)
    return {static_cast<std::uint32_t>(symbol - formula_symbol_table.data()), symbol->units};
  parser.fail(token.begin, token.end, "unknown-name", "unknown name " + parser.quote(token.text));
  return {};
}

FormulaPart FormulaLanguage::call(FormulaParser& parser, const FormulaToken& name) {
  parser.fail(name.begin, name.end, "unknown-name", "unknown function " + parser.quote(name.text));
  return {};
}

void FormulaLanguage::number(FormulaParser& /*parser*/, FormulaToken& /*token*/) {}

FormulaQuote FormulaLanguage::quoted() const {
  return in_plain_quotes;
}

// --- formulas -----------------------------------------------------------------------------------

Formula::Formula(std::string_view text) : tree_(own_tree(text)) {}

double Formula::value(const FormulaSymbols& symbols) const {
  SymbolValues values(symbols);
  return FormulaEvaluation(tree_, values)().value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace collsim
