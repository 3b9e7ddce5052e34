// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/expression/arithmetic.hpp"
#include "app/expression/parser.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

namespace {

// The first few, so that a long axis does not fill the screen.
std::string list_of(const std::vector<std::string>& words) {
  constexpr std::size_t shown = 12;
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < shown; ++i)
    text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > shown) text += fmt::format(", ... ({} in all)", words.size());
  return text;
}

}  // namespace

void ExpressionParser::close_call() {
  if (!token_.is(')')) unexpected("\")\"");
  advance();
}

ExpressionParser::Part ExpressionParser::function(const Token& name) {
  if (name.text == "min" || name.text == "max") return min_or_max(name);
  if (name.text == "argmin" || name.text == "argmax" || name.text == "at") return selection(name);
  if (name.text == "relative_error") return relative_error(name);
  return of_one(name);
}

ExpressionParser::Part ExpressionParser::min_or_max(const Token& name) {
  const Code code = name.text == "min" ? Code::minimum : Code::maximum;
  advance();
  Part all = sum();
  must_be_number(all);
  if (token_.is(')'))
    fail(name.begin, token_.end, "syntax", in_quotes(name.text) + " takes at least two arguments");
  while (token_.is(',')) {
    advance();
    const Part next = sum();
    all = combined(code, all, next);
  }
  all.begin = name.begin;
  all.end = token_.end;
  close_call();
  return all;
}

ExpressionParser::Part ExpressionParser::of_one(const Token& name) {
  Code code = Code::number;
  if (name.text == "ceil") code = Code::ceil;
  if (name.text == "floor") code = Code::floor;
  if (name.text == "sqrt") code = Code::sqrt;
  if (name.text == "log2") code = Code::log2;
  if (name.text == "abs") code = Code::abs;
  if (code == Code::number) unknown_name(name, true);
  advance();
  Part part = sum();
  must_be_number(part);
  if (token_.is(','))
    fail(token_.begin, token_.end, "syntax", in_quotes(name.text) + " takes one argument");
  const bool any_unit = code == Code::sqrt || code == Code::abs;
  if (!any_unit && !part.units.none())
    fail(part.begin, part.end, "dimension",
         fmt::format("{} takes a plain number, but {} is {}", name.text, quote(part),
                     part.units.description()),
         {},
         "divide by a quantity first, as in " + std::string(name.text) +
             (part.units == units_time ? "(time/1us)" : "(N/1MiB)"));
  if (code == Code::sqrt) {
    const auto root = part.units.power({1, 2});
    if (!root)
      fail(part.begin, part.end, "dimension",
           "the unit of sqrt(" + std::string(quote(part)) + ") has too fine a power");
    part.units = *root;
  }
  if (part.value) {
    const double value = applied(code, *part.value);
    part.value = std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  if (code == Code::log2) part.zero = false;
  part.begin = name.begin;
  part.end = token_.end;
  close_call();
  emit(code, part);
  return part;
}

ExpressionParser::Part ExpressionParser::relative_error(const Token& name) {
  advance();
  ExpressionProgram metric;
  ExpressionProgram* const outer = std::exchange(program_, &metric);
  Part part = sum();
  program_ = outer;
  must_be_number(part);
  if (token_.is(','))
    fail(token_.begin, token_.end, "syntax", "\"relative_error\" takes one argument");
  bool measurable = false;
  for (const ExpressionStep& step : metric)
    measurable |= step.code == Code::name && entry_of(step.name).follows_of();
  if (!measurable)
    fail(part.begin, part.end, "syntax", "nothing in " + quote(part) + " is ever measured", {},
         "measured are time, algbw and busbw");
  part = {.begin = name.begin, .end = token_.end};
  close_call();
  result_.measurement_ = true;
  emit({.code = Code::measurement, .selection = result_.errors_.size()}, part);
  result_.errors_.push_back(std::move(metric));
  return part;
}

ExpressionParser::Part ExpressionParser::selection(const Token& name) {
  const bool is_at = name.text == "at";
  const bool is_outermost = program_ == &result_.program_;
  ExpressionSelection selection;
  if (name.text == "argmax") selection.kind = ExpressionSelection::Kind::argmax;
  if (is_at) selection.kind = ExpressionSelection::Kind::at;
  advance();
  ExpressionProgram* const outer = std::exchange(program_, &selection.metric);
  Part part = sum();
  program_ = outer;
  must_be_number(part);
  if (!token_.is(',')) {
    const std::string call =
        is_at ? "at(metric, axis, value)" : std::string(name.text) + "(metric, axis)";
    unexpected("\",\" and an axis, as in " + call);
  }
  const auto swept = axis(name, is_at ? "," : ")");
  selection.axis = swept.axis;
  selection.path = facts_->name(swept);
  if (is_at) {
    selection.coordinate = value_on(swept);
  } else {
    set_values(selection, part, swept);
    if (is_outermost) result_.collapsed_.push_back(swept.axis);
  }
  part.begin = name.begin;
  part.end = token_.end;
  part.zero = false;
  part.value.reset();
  close_call();
  emit({.code = Code::selection, .selection = result_.selections_.size()}, part);
  result_.selections_.push_back(std::move(selection));
  return part;
}

ScenarioFacts::SweptPath ExpressionParser::axis(const Token& function, std::string_view stops) {
  const Token name = lexer_.raw_until(",)");
  advance();
  const std::vector<std::string> swept = facts_->swept_paths();
  if (name.text.empty())
    fail(name.begin, token_.end, "syntax", in_quotes(function.text) + " needs the name of an axis",
         {}, swept.empty() ? "" : "swept: " + list_of(swept));
  if (swept.empty())
    fail(name.begin, name.end, "not-swept",
         in_quotes(function.text) + " needs a sweep, and this scenario has none");
  const auto found = facts_->find_swept(name.text);
  if (found.empty()) {
    const Vocabulary paths{.what = "path", .allowed = swept};
    fail(name.begin, name.end, "not-swept", in_quotes(name.text) + " is not swept",
         paths.nearest(name.text), "swept: " + list_of(swept));
  }
  if (found.size() > 1) {
    std::vector<std::string> candidates;
    candidates.reserve(found.size());
    for (const auto& one : found) candidates.push_back(facts_->name(one));
    fail(name.begin, name.end, "not-swept", in_quotes(name.text) + " could be several swept paths",
         {}, "write " + list_of(candidates));
  }
  if (token_.kind == Token::Kind::end) unexpected(stops == "," ? "\",\"" : "\")\"");
  if (!token_.is(stops[0]))
    fail(token_.begin, token_.end, "syntax",
         stops == ","
             ? "\"at\" needs a value: at(metric, axis, value)"
             : fmt::format("\"{}\" takes two arguments, a metric and an axis", function.text));
  return found.front();
}

std::size_t ExpressionParser::value_on(ScenarioFacts::SweptPath swept) {
  const Token token = lexer_.raw_until(")");
  advance();
  const std::string& path = facts_->name(swept);
  const auto values = facts_->values(swept);
  const Comparable wanted = comparable(token.text, path, facts_->operation());
  std::vector<std::string> written;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == wanted) return i;
    written.push_back(values[i].written);
  }
  const bool is_word = wanted.kind == Comparable::Kind::word;
  const Vocabulary words{.what = "value", .allowed = written};
  fail(token.begin, token.end, "not-swept",
       token.text.empty() ? "\"at\" needs a value: at(metric, axis, value)"
                          : fmt::format("the sweep of {} has no {}", path, in_quotes(token.text)),
       is_word ? words.nearest(token.text) : "", "its values: " + list_of(written));
}

void ExpressionParser::set_values(ExpressionSelection& selection, Part& part,
                                  ScenarioFacts::SweptPath swept) {
  auto values = facts_->values(swept);
  bool numbers = true;
  const Comparable* with_unit = &values.front();
  for (const Comparable& value : values) {
    numbers &= value.kind == Comparable::Kind::number && value.comparable_with(*with_unit);
    if (with_unit->units.none() && with_unit->number == 0) with_unit = &value;
  }
  selection.values.reserve(values.size());
  if (numbers) {
    for (const Comparable& value : values) selection.values.push_back(value.number);
    part.units = with_unit->units;
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    selection.values.push_back(static_cast<double>(i));
  part.units = units_none;
  part.words = std::move(values);
}

}  // namespace collsim
