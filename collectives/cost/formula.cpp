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
  if (!tree)
    throw_error(ErrorCode::invalid_argument, "the formula ", text, ": ", parser.error().message);
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

// --- values --------------------------------------------------------------------------------------

namespace {

using Kind = FormulaNode::Kind;

// Exact where x is a whole power of the base.
double logarithm_of(double x, double base) {
  const double power = base == 2 ? std::log2(x) : std::log(x) / std::log(base);
  const double whole = std::round(power);
  return std::pow(base, whole) == x ? whole : power;
}

// Where a bound comes from a quotient.
constexpr double rounding_of_bounds = 1e-9;

std::string why_not_finite(Kind kind, double left, double right) {
  const bool by_zero = ((kind == Kind::divide || kind == Kind::remainder) && right == 0) ||
                       (kind == Kind::power && left == 0 && right < 0);
  if (by_zero) return "division by zero";
  if (kind == Kind::sqrt) return "square root of a negative number";
  if ((kind == Kind::log2 || kind == Kind::logarithm) && left <= 0)
    return left == 0 ? "logarithm of zero" : "logarithm of a negative number";
  if (kind == Kind::logarithm) return "logarithm to a base that is 1 or not positive";
  if (kind == Kind::power && left < 0 && right != std::floor(right))
    return "power of a negative number with an exponent that is not whole";
  return "a number beyond 1.8e308";
}

}  // namespace

double applied(Kind kind, double left, double right) {
  switch (kind) {
    case Kind::add: return left + right;
    case Kind::subtract: return left - right;
    case Kind::multiply: return left * right;
    case Kind::divide: return left / right;
    case Kind::remainder: return left - right * std::floor(left / right);
    case Kind::power: return std::pow(left, right);
    case Kind::minimum: return std::min(left, right);
    case Kind::maximum: return std::max(left, right);
    case Kind::logarithm: return logarithm_of(left, right);
    case Kind::negate: return -left;
    case Kind::ceil: return std::ceil(left);
    case Kind::floor: return std::floor(left);
    case Kind::sqrt: return std::sqrt(left);
    case Kind::log2: return logarithm_of(left, 2);
    case Kind::abs: return std::abs(left);
    default: return left;
  }
}

std::string_view FormulaTree::text_of(const FormulaNode& node) const {
  const std::string_view whole =
      node.source == 0 ? std::string_view(text) : formula_definitions()[node.source - 1].text;
  return whole.substr(node.begin, node.end - node.begin);
}

std::optional<double> FormulaEvaluation::operator()() {
  why_not_.clear();
  spent_ = 0;
  return value(tree_->root.node);
}

std::optional<double> FormulaEvaluation::value(std::uint32_t number) {
  const FormulaNode& node = tree_->nodes[number];
  switch (node.kind) {
    case Kind::number: return node.number;
    case Kind::name: return values_->name(node.id, *this);
    case Kind::special: return values_->call(node, *this);
    case Kind::defined: return defined(node);
    case Kind::sum: return sum(node);
    case Kind::bound: break;
    default: return of_operands(node);
  }
  const auto bound = std::find_if(bound_.rbegin(), bound_.rend(),
                                  [&](const auto& one) { return one.first == node.id; });
  COLLSIM_CHECK(bound != bound_.rend(), "an index has no value: " + tree_->text);
  return bound->second;
}

std::optional<double> FormulaEvaluation::of_operands(const FormulaNode& node) {
  const std::optional<double> left = value(node.left);
  if (!left) return std::nullopt;
  const std::optional<double> right =
      node.right == FormulaNode::none ? std::optional(0.0) : value(node.right);
  if (!right) return std::nullopt;
  const double result = applied(node.kind, *left, *right);
  if (std::isfinite(result)) return result;
  why_not_ =
      why_not_finite(node.kind, *left, *right) + " in " + tree_->quoted(tree_->text_of(node));
  return std::nullopt;
}

std::optional<double> FormulaEvaluation::defined(const FormulaNode& node) {
  if (!spend(1)) return std::nullopt;
  const FormulaTree::Definition& definition = tree_->definitions[node.id];
  if (node.left == FormulaNode::none) return value(definition.body.node);
  const std::optional<double> argument = value(node.left);
  if (!argument) return std::nullopt;
  bind(definition.parameter, *argument);
  const std::optional<double> result = value(definition.body.node);
  unbind();
  return result;
}

std::optional<std::pair<double, double>> FormulaEvaluation::bounds(const FormulaNode& sum) {
  const std::optional<double> first = value(sum.left);
  const std::optional<double> last = first ? value(sum.right) : std::nullopt;
  if (!last) return std::nullopt;
  const double from = std::round(*first), to = std::round(*last);
  if (std::abs(from - *first) <= rounding_of_bounds && std::abs(to - *last) <= rounding_of_bounds)
    return std::pair(from, to);
  why_not_ = "a bound that is not whole in " + tree_->quoted(tree_->text_of(sum));
  return std::nullopt;
}

std::optional<double> FormulaEvaluation::sum(const FormulaNode& node) {
  const auto range = bounds(node);
  if (!range) return std::nullopt;
  double total = 0;
  for (double index = range->first; index <= range->second; ++index) {
    if (!spend(1)) return std::nullopt;
    bind(node.id, index);
    const std::optional<double> term = value(node.term);
    unbind();
    if (!term) return std::nullopt;
    total += *term;
  }
  if (std::isfinite(total)) return total;
  why_not_ = "a number beyond 1.8e308 in " + tree_->quoted(tree_->text_of(node));
  return std::nullopt;
}

bool FormulaEvaluation::spend(std::size_t amount) {
  spent_ += amount;
  if (spent_ <= max_formula_work) return true;
  why_not_ = concat("more than ", max_formula_work, " terms of sums and definitions");
  return false;
}

std::optional<double> FormulaValues::call(const FormulaNode& /*node*/,
                                          FormulaEvaluation& evaluation) {
  evaluation.fail("there are no such functions");
  return std::nullopt;
}

// --- formulas -----------------------------------------------------------------------------------

Formula::Formula(std::string_view text) : tree_(own_tree(text)) {}

double Formula::value(const FormulaSymbols& symbols) const {
  SymbolValues values(symbols);
  return FormulaEvaluation(tree_, values)().value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace collsim
