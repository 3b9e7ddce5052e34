// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "collectives/cost/formula.hpp"
#include "topo/error.hpp"

namespace collsim {
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
  const bool by_zero =
      (kind == Kind::divide && right == 0) || (kind == Kind::power && left == 0 && right < 0);
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
  why_not_ = "more than " + std::to_string(max_formula_work) + " terms of sums and definitions";
  return false;
}

std::optional<double> FormulaValues::call(const FormulaNode& /*node*/,
                                          FormulaEvaluation& evaluation) {
  evaluation.fail("there are no such functions");
  return std::nullopt;
}

}  // namespace collsim
