// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "collectives/cost/formula.hpp"

namespace collsim {
namespace {

constexpr std::array<std::pair<std::string_view, FormulaNode::Kind>, 9> formula_function_names{
    {{"min", FormulaNode::Kind::minimum},
     {"max", FormulaNode::Kind::maximum},
     {"ceil", FormulaNode::Kind::ceil},
     {"floor", FormulaNode::Kind::floor},
     {"sqrt", FormulaNode::Kind::sqrt},
     {"log2", FormulaNode::Kind::log2},
     {"log", FormulaNode::Kind::logarithm},
     {"abs", FormulaNode::Kind::abs},
     {"sum", FormulaNode::Kind::sum}}};

// "N/gamma" with gamma in seconds per byte is off by gamma squared.
bool off_by_gamma_squared(const Units& from, const Units& to) {
  const auto once = from.times(units_cost_per_byte);
  const auto twice = once ? once->times(units_cost_per_byte) : std::nullopt;
  return twice && *twice == to;
}

}  // namespace

std::optional<FormulaNode::Kind> formula_function(std::string_view name) {
  for (const auto& [word, kind] : formula_function_names)
    if (word == name) return kind;
  return std::nullopt;
}

std::string_view formula_function_name(FormulaNode::Kind kind) {
  for (const auto& function : formula_function_names)
    if (function.second == kind) return function.first;
  return {};
}

std::vector<std::string_view> formula_functions() {
  std::vector<std::string_view> names;
  names.reserve(std::size(formula_function_names));
  for (const auto& function : formula_function_names) names.push_back(function.first);
  for (const FormulaDefinition& definition : formula_definitions())
    if (!definition.parameter.empty()) names.push_back(definition.name);
  return names;
}

std::string hint_about_gamma(std::string_view text, const Units& a, const Units& b) {
  const bool wrong_way_round = off_by_gamma_squared(a, b) || off_by_gamma_squared(b, a);
  if (!wrong_way_round || text.find("gamma") == std::string_view::npos) return {};
  return "gamma is the time to add one byte: write N*gamma, not N/gamma";
}

// --- calls --------------------------------------------------------------------------------------

FormulaPart FormulaParser::call(const FormulaToken& name) {
  const std::optional<Kind> kind = formula_function(name.text);
  if (kind == Kind::minimum || kind == Kind::maximum) return min_or_max(*kind, name);
  if (kind == Kind::logarithm) return logarithm(name);
  if (kind == Kind::sum) return sum_over(name);
  if (kind) return of_one(*kind, name);
  const auto built_ins = formula_definitions();
  for (std::size_t i = 0; i < built_ins.size(); ++i)
    if (built_ins[i].name == name.text && !built_ins[i].parameter.empty()) return built_in(i, name);
  if (is_defined(name.text) || language_->knows(name.text))
    fail(name.begin, name.end, "syntax", quote(name.text) + " is not a function",
         std::string(name.text) + "*");
  return language_->call(*this, name);
}

void FormulaParser::close_call() {
  if (!at_.token.is(")")) unexpected("\")\"");
  advance();
}

FormulaPart FormulaParser::min_or_max(Kind kind, const FormulaToken& name) {
  advance();
  FormulaPart all = sum();
  must_be_number(all);
  if (at_.token.is(")"))
    fail(name.begin, at_.token.end, "syntax", quote(name.text) + " takes at least two arguments");
  while (at_.token.is(",")) {
    advance();
    all = combined(kind, all, sum());
  }
  all.begin = name.begin;
  all.end = at_.token.end;
  if (!failed_) {
    tree_.nodes[all.node].begin = static_cast<std::uint32_t>(all.begin);
    tree_.nodes[all.node].end = static_cast<std::uint32_t>(all.end);
  }
  close_call();
  return all;
}

void FormulaParser::must_be_plain(std::string_view function, const FormulaPart& part) {
  must_be_number(part);
  if (part.units.none()) return;
  const bool is_time = part.units == units_time;
  fail(part.begin, part.end, "dimension",
       std::string(function) + " takes a plain number, but " + quote(part) + " is " +
           part.units.description(),
       {},
       "divide by a quantity first, as in " + std::string(function) +
           (is_time ? "(time/1us)" : "(N/1MiB)"));
}

FormulaPart FormulaParser::of_one(Kind kind, const FormulaToken& name) {
  advance();
  FormulaPart part = sum();
  must_be_number(part);
  if (at_.token.is(","))
    fail(at_.token.begin, at_.token.end, "syntax", quote(name.text) + " takes one argument");
  if (kind != Kind::sqrt && kind != Kind::abs) must_be_plain(name.text, part);
  if (kind == Kind::sqrt) {
    const auto root = part.units.power({1, 2});
    if (!root)
      fail(part.begin, part.end, "dimension",
           "the unit of sqrt(" + quote(part) + ") has too fine a power");
    part.units = root.value_or(Units{});
  }
  if (part.value) {
    const double value = applied(kind, *part.value);
    part.value = std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  if (kind == Kind::log2) part.zero = false;
  part.begin = name.begin;
  part.end = at_.token.end;
  close_call();
  return emit(kind, part, part.node);
}

FormulaPart FormulaParser::logarithm(const FormulaToken& name) {
  advance();
  const FormulaPart of = sum();
  must_be_plain(name.text, of);
  if (!at_.token.is(","))
    fail(name.begin, at_.token.end, "syntax", "\"log\" takes two arguments: log(x, base)", "log2");
  advance();
  const FormulaPart base = sum();
  must_be_plain(name.text, base);
  FormulaPart part = joined(Kind::logarithm, of, base, units_none);
  part.begin = name.begin;
  part.end = at_.token.end;
  close_call();
  return part;
}

FormulaPart FormulaParser::sum_over(const FormulaToken& name) {
  constexpr std::string_view form = ", as in sum(i = 1..3, N/2^i)";
  advance();
  const FormulaToken index = at_.token;
  if (index.kind != FormulaToken::Kind::name)
    unexpected("the name of an index" + std::string(form));
  must_be_free(index.text, index.begin);
  advance();
  if (!at_.token.is("=")) unexpected("\"=\" and the bounds" + std::string(form));
  advance();
  const FormulaPart first = sum();
  if (!at_.token.is("..")) unexpected("\"..\" and the last " + std::string(index.text));
  advance();
  const FormulaPart last = sum();
  for (const FormulaPart& bound : {first, last}) must_be_plain(name.text, bound);
  if (!at_.token.is(",")) unexpected("\",\" and a term" + std::string(form));
  advance();
  if (failed_) return {};
  const std::uint32_t id = id_of_bound(index.text);
  scope_.push_back({id, units_none});
  FormulaPart part = sum();
  scope_.pop_back();
  must_be_number(part);
  const std::uint32_t term = part.node;
  part.value.reset();
  part.begin = name.begin;
  part.end = at_.token.end;
  close_call();
  part = emit(Kind::sum, part, first.node, last.node, id);
  if (!failed_) tree_.nodes[part.node].term = term;
  return part;
}

// --- units, and the tree ------------------------------------------------------------------------

FormulaPart FormulaParser::combined(Kind kind, const FormulaPart& left, const FormulaPart& right) {
  must_be_number(left);
  must_be_number(right);
  if (left.units != right.units && !left.zero && !right.zero) {
    const std::string a = left.units.plural(), b = right.units.plural();
    std::string text(part_of_text(left.begin, right.end));
    std::string problem = "cannot compare " + a + " and " + b;
    if (kind == Kind::add) problem = "cannot add " + a + " and " + b;
    if (kind == Kind::subtract) problem = "cannot subtract " + b + " from " + a;
    const std::string hint = hint_about_gamma(text, left.units, right.units);
    if (kind == Kind::minimum) text = "min(" + text + ")";
    if (kind == Kind::maximum) text = "max(" + text + ")";
    fail(left.begin, right.end, "dimension", quote(text) + ": " + problem, {}, hint);
  }
  return joined(kind, left, right, left.zero ? right.units : left.units);
}

FormulaPart FormulaParser::joined(Kind kind, const FormulaPart& left, const FormulaPart& right,
                                  const Units& units) {
  FormulaPart part{.begin = left.begin, .end = right.end, .units = units};
  const bool keeps_zero = kind == Kind::add || kind == Kind::subtract || kind == Kind::multiply ||
                          kind == Kind::minimum || kind == Kind::maximum;
  part.zero = left.zero && right.zero && keeps_zero;
  if (left.value && right.value) {
    const double value = applied(kind, *left.value, *right.value);
    if (std::isfinite(value)) part.value = value;
  }
  return emit(kind, part, left.node, right.node);
}

FormulaPart FormulaParser::emit(Kind kind, FormulaPart part, std::uint32_t left,
                                std::uint32_t right, std::uint32_t id) {
  if (failed_) return {};
  part.percent = part.percent && kind == Kind::number;
  part.node = static_cast<std::uint32_t>(tree_.nodes.size());
  tree_.nodes.push_back({.kind = kind,
                         .number = part.value.value_or(0),
                         .id = id,
                         .left = left,
                         .right = right,
                         .units = part.units,
                         .source = at_.source,
                         .begin = static_cast<std::uint32_t>(part.begin),
                         .end = static_cast<std::uint32_t>(part.end)});
  return part;
}

FormulaPart FormulaParser::add_special(std::uint32_t id, FormulaPart part) {
  return emit(Kind::special, part, part.node, FormulaNode::none, id);
}

// --- mistakes -----------------------------------------------------------------------------------

void FormulaParser::must_be_number(const FormulaPart& part) {
  if (!part.word) return;
  fail(part.begin, part.end, "dimension", quote(part) + " is a word, not a number", {},
       "words can only be compared, with \"equals\" and the word");
}

std::string_view FormulaParser::part_of_text(std::size_t begin, std::size_t end) const {
  return at_.text.substr(begin, end - begin);
}

std::string FormulaParser::quote(const FormulaPart& part) const {
  return quote(part_of_text(part.begin, part.end));
}

std::string FormulaParser::quote(std::string_view text) const {
  return tree_.quoted(text);
}

void FormulaParser::fail(std::size_t begin, std::size_t end, std::string code, std::string message,
                         std::string suggestion, std::string hint) {
  if (failed_) return;
  failed_ = true;
  if (blamed_) {
    begin = blamed_->begin;
    end = blamed_->end;
  }
  error_ = {
      std::move(code), std::move(message), std::move(suggestion), std::move(hint), begin, end};
  at_.token = {.begin = at_.end, .end = at_.end, .text = {}};
}

void FormulaParser::unexpected(std::string_view wanted) {
  const FormulaToken& token = at_.token;
  if (token.kind == FormulaToken::Kind::end)
    fail(token.begin, token.end, "syntax", std::string(wanted) + " is missing at the end");
  else
    fail(token.begin, token.end, "syntax",
         "expected " + std::string(wanted) + ", not " + quote(token.text));
}

}  // namespace collsim
