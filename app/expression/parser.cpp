// SPDX-License-Identifier: Apache-2.0
#include "app/expression/parser.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "app/expression/arithmetic.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

namespace {

constexpr std::array<std::string_view, 11> functions{"min",    "max",  "ceil",          "floor",
                                                     "sqrt",   "log2", "abs",           "argmin",
                                                     "argmax", "at",   "relative_error"};

bool is_function(std::string_view word) {
  for (const std::string_view function : functions)
    if (function == word) return true;
  return false;
}

// With the words that people bring.
Vocabulary vocabulary(bool of_functions) {
  if (of_functions)
    return {.what = "function",
            .allowed = {functions.begin(), functions.end()},
            .aliases = {{"log", "log2"},
                        {"lg", "log2"},
                        {"minimum", "min"},
                        {"maximum", "max"},
                        {"root", "sqrt"},
                        {"fabs", "abs"}}};
  Vocabulary words{.what = "name",
                   .aliases = {{"p", "K"},
                               {"nranks", "K"},
                               {"bytes", "N"},
                               {"overhead", "alpha"},
                               {"startup", "alpha"},
                               {"latency", "L"},
                               {"bandwidth", "B"},
                               {"beta", "B"},
                               {"reduce_bandwidth", "gamma"},
                               {"simulated", "time"},
                               {"duration", "time"},
                               {"lower_bound", "bound"},
                               {"formula", "analytic"}}};
  for (const NameEntry& entry : name_entries()) words.allowed.emplace_back(entry.word);
  return words;
}

std::string known(const Vocabulary& words) {
  return fmt::format("known: {}", fmt::join(words.allowed, " "));
}

class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(&depth) { ++depth; }
  ~DepthGuard() { --*depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int* depth_;
};

}  // namespace

ExpressionParser::ExpressionParser(std::string_view text, const ScenarioFacts& facts)
    : lexer_(text), facts_(&facts), program_(&result_.program_) {
  result_.text_ = std::string(text);
}

Expression ExpressionParser::parse() {
  const std::size_t size = lexer_.text().size();
  if (size > max_expression_bytes)
    fail(0, size, "too-long",
         fmt::format("an expression has at most {} characters, this one has {}",
                     max_expression_bytes, size));
  advance();
  if (token_.kind == Token::Kind::end) fail(0, size, "syntax", "the expression is empty");
  const Token first = token_;
  const Part all = sum();
  if (token_.is(')')) fail(token_.begin, token_.end, "syntax", "there is no \"(\" for this \")\"");
  if (token_.kind != Token::Kind::end) unexpected("an operator");
  result_.units_ = all.units;
  result_.zero_ = all.zero;
  result_.value_ = all.value;
  result_.words_ = all.words;
  if (!all.words.empty()) result_.word_path_ = result_.selections_.back().path;
  result_.percentage_ = first.percent && result_.program_.size() == 1;
  return std::move(result_);
}

ExpressionParser::Part ExpressionParser::sum() {
  const DepthGuard guard(depth_);
  if (depth_ > max_expression_depth)
    fail(token_.begin, token_.end, "too-long",
         fmt::format("more than {} levels of nesting", max_expression_depth));
  Part left = product();
  while (token_.is('+') || token_.is('-')) {
    const Code code = token_.is('+') ? Code::add : Code::subtract;
    advance();
    const Part right = product();
    left = combined(code, left, right);
  }
  return left;
}

ExpressionParser::Part ExpressionParser::product() {
  Part left = signed_part();
  while (token_.is('*') || token_.is('/')) {
    const bool times = token_.is('*');
    advance();
    if (times && token_.is('*'))
      fail(token_.begin - 1, token_.end, "syntax", "a power is written ^", "^");
    const Part right = signed_part();
    must_be_number(left);
    must_be_number(right);
    const auto units = times ? left.units.times(right.units) : left.units.over(right.units);
    if (!units)
      fail(left.begin, right.end, "dimension",
           "the unit of " + in_quotes(lexer_.text().substr(left.begin, right.end - left.begin)) +
               " has too high a power");
    left = joined(times ? Code::multiply : Code::divide, left, right, *units);
  }
  return left;
}

ExpressionParser::Part ExpressionParser::signed_part() {
  if (!token_.is('-') && !token_.is('+')) return power();
  const DepthGuard guard(depth_);
  if (depth_ > max_expression_depth)
    fail(token_.begin, token_.end, "too-long",
         fmt::format("more than {} levels of nesting", max_expression_depth));
  const Token sign = token_;
  advance();
  Part part = signed_part();
  must_be_number(part);
  part.begin = sign.begin;
  if (sign.is('+')) return part;
  if (part.value) part.value = -*part.value;
  emit(Code::negate, part);
  return part;
}

ExpressionParser::Part ExpressionParser::power() {
  Part base = primary();
  if (!token_.is('^')) return base;
  const DepthGuard guard(depth_);
  if (depth_ > max_expression_depth)
    fail(token_.begin, token_.end, "too-long",
         fmt::format("more than {} levels of nesting", max_expression_depth));
  advance();
  const Part exponent = signed_part();
  return raised(base, exponent);
}

ExpressionParser::Part ExpressionParser::raised(const Part& base, const Part& exponent) {
  must_be_number(base);
  must_be_number(exponent);
  if (!exponent.units.none())
    fail(exponent.begin, exponent.end, "dimension",
         "the exponent " + quote(exponent) + " must be a plain number, but is " +
             exponent.units.description());
  Units units{};
  if (!base.units.none()) {
    if (!exponent.value)
      fail(exponent.begin, exponent.end, "dimension",
           "the exponent of " + quote(base) + ", which is " + base.units.description() +
               ", must be a constant",
           {}, "otherwise the unit of the power would differ from row to row");
    const auto fraction = Exponent::from(*exponent.value);
    const auto power = fraction ? base.units.power(*fraction) : std::nullopt;
    if (!power)
      fail(exponent.begin, exponent.end, "dimension",
           "the exponent of " + quote(base) + ", which is " + base.units.description() +
               ", must be a simple number such as 2, -1 or 1/2");
    units = *power;
  }
  return joined(Code::power, base, exponent, units);
}

ExpressionParser::Part ExpressionParser::primary() {
  switch (token_.kind) {
    case Token::Kind::number: return number();
    case Token::Kind::name: return name();
    case Token::Kind::symbol:
    case Token::Kind::end: break;
  }
  if (!token_.is('(')) unexpected("a number, a name or \"(\"");
  const Token open = token_;
  advance();
  Part inner = sum();
  if (token_.kind == Token::Kind::end)
    fail(open.begin, open.end, "syntax", "there is no \")\" for this \"(\"");
  if (!token_.is(')')) unexpected("an operator or \")\"");
  inner.begin = open.begin;
  inner.end = token_.end;
  advance();
  return inner;
}

ExpressionParser::Part ExpressionParser::number() {
  Part part{.begin = token_.begin,
            .end = token_.end,
            .units = token_.units,
            .zero = token_.value == 0 && token_.units.none(),
            .value = token_.value};
  emit({.code = Code::number, .number = token_.value}, part);
  advance();
  return part;
}

ExpressionParser::Part ExpressionParser::name() {
  const Token token = token_;
  advance();
  if (token_.is('(')) return function(token);
  const NameEntry* entry = find_name(token.text);
  if (entry == nullptr) unknown_name(token, false);
  must_be_available(*entry, token);
  if (entry->name == Name::measured) result_.measurement_ = true;
  Part part{.begin = token.begin, .end = token.end, .units = entry->units};
  emit({.code = Code::name, .name = entry->name}, part);
  return part;
}

void ExpressionParser::must_be_available(const NameEntry& entry, const Token& token) const {
  const bool of_link = entry.name == Name::B || entry.name == Name::alpha || entry.name == Name::L;
  if (of_link && !facts_->may_have_link())
    fail(token.begin, token.end, "unavailable",
         in_quotes(token.text) +
             " is a parameter of the cluster's link, and this cluster has links " +
             "of several kinds",
         {},
         entry.name == Name::B
             ? "use bottleneck_bandwidth, or a number with its unit, such as 25GB/s"
             : "use a number with its unit, such as 5us");
  if (entry.name == Name::gamma && !facts_->may_have_gamma())
    fail(token.begin, token.end, "unavailable",
         "\"gamma\" is model.reduce_bandwidth, which this scenario does not have", {},
         "without it reductions cost nothing; add \"reduce_bandwidth\" to \"model\", or leave "
         "gamma out");
}

ExpressionParser::Part ExpressionParser::combined(Code code, const Part& left, const Part& right) {
  must_be_number(left);
  must_be_number(right);
  if (left.units != right.units && !left.zero && !right.zero) {
    const std::string a = left.units.plural(), b = right.units.plural();
    std::string text(lexer_.text().substr(left.begin, right.end - left.begin));
    std::string problem = "cannot compare " + a + " and " + b;
    if (code == Code::add) problem = "cannot add " + a + " and " + b;
    if (code == Code::subtract) problem = "cannot subtract " + b + " from " + a;
    if (code == Code::minimum) text = "min(" + text + ")";
    if (code == Code::maximum) text = "max(" + text + ")";
    fail(left.begin, right.end, "dimension", in_quotes(text) + ": " + problem);
  }
  return joined(code, left, right, left.zero ? right.units : left.units);
}

ExpressionParser::Part ExpressionParser::joined(Code code, const Part& left, const Part& right,
                                                Units units) {
  Part part{.begin = left.begin, .end = right.end, .units = units};
  part.zero = left.zero && right.zero && code != Code::power && code != Code::divide;
  if (left.value && right.value) {
    const double value = applied(code, *left.value, *right.value);
    if (std::isfinite(value)) part.value = value;
  }
  emit(code, part);
  return part;
}

void ExpressionParser::must_be_number(const Part& part) const {
  if (part.words.empty()) return;
  fail(part.begin, part.end, "dimension", quote(part) + " is a word, not a number", {},
       "words can only be compared, with \"equals\" and the word");
}

void ExpressionParser::emit(ExpressionStep step, const Part& part) {
  step.begin = part.begin;
  step.end = part.end;
  program_->push_back(step);
}

std::string ExpressionParser::quote(const Part& part) const {
  return in_quotes(lexer_.text().substr(part.begin, part.end - part.begin));
}

void ExpressionParser::fail(std::size_t begin, std::size_t end, std::string code,
                            std::string message, std::string suggestion, std::string hint) const {
  throw ExpressionError{
      std::move(code), std::move(message), std::move(suggestion), std::move(hint), begin, end};
}

void ExpressionParser::unknown_name(const Token& token, bool called) const {
  if (called && find_name(token.text) != nullptr)
    fail(token.begin, token.end, "syntax", in_quotes(token.text) + " is not a function",
         std::string(token.text) + "*");
  if (!called && is_function(token.text))
    fail(token.begin, token.end, "syntax",
         in_quotes(token.text) + " is a function and needs its arguments in parentheses");
  const Vocabulary words = vocabulary(called);
  std::string nearest = words.canonical(token.text).value_or("");
  if (nearest.empty()) nearest = words.nearest(token.text);
  std::string hint = known(words);
  fail(token.begin, token.end, "unknown-name",
       fmt::format("unknown {} {}", words.what, in_quotes(token.text)), nearest, hint);
}

void ExpressionParser::unexpected(std::string_view wanted) const {
  if (token_.kind == Token::Kind::end)
    fail(token_.begin, token_.end, "syntax", std::string(wanted) + " is missing at the end");
  fail(token_.begin, token_.end, "syntax",
       "expected " + std::string(wanted) + ", not " + in_quotes(token_.text));
}

ParsedExpression Expression::parse(std::string_view text, const ScenarioFacts& facts) {
  try {
    return {ExpressionParser(text, facts).parse(), {}};
  } catch (const ExpressionError& error) {
    return {std::nullopt, error};
  }
}

Expression Expression::constant(double number, std::string text) {
  Expression result;
  result.text_ = std::move(text);
  result.program_.push_back({.code = ExpressionStep::Code::number, .number = number});
  result.value_ = number;
  result.zero_ = number == 0;
  return result;
}

}  // namespace collsim
