// SPDX-License-Identifier: Apache-2.0
#include "app/expression/language.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {

namespace {

constexpr std::array<std::pair<std::string_view, SelectionKind>, 5> functions{
    {{"argmin", SelectionKind::argmin},
     {"argmax", SelectionKind::argmax},
     {"at", SelectionKind::at},
     {"relative_error", SelectionKind::relative_error},
     {"idle", SelectionKind::idle}}};

std::optional<SelectionKind> function_kind(std::string_view word) {
  for (const auto& [name, kind] : functions)
    if (name == word) return kind;
  return std::nullopt;
}

// With common synonyms.
Vocabulary vocabulary_of_functions() {
  Vocabulary words{.what = "function",
                   .aliases = {{"lg", "log2"},
                               {"minimum", "min"},
                               {"maximum", "max"},
                               {"root", "sqrt"},
                               {"fabs", "abs"},
                               {"pass", "hop"},
                               {"step", "reduce_hop"}}};
  for (const std::string_view function : formula_functions()) words.allowed.emplace_back(function);
  for (const auto& function : functions) words.allowed.emplace_back(function.first);
  return words;
}

// What the scenario has.
Vocabulary vocabulary_of_names(bool is_step) {
  Vocabulary words{.what = "name",
                   .aliases = {{"p", "K"},
                               {"nranks", "K"},
                               {"bytes", "N"},
                               {"overhead", "alpha"},
                               {"startup", "alpha"},
                               {"latency", "L"},
                               {"bandwidth", "B"},
                               {"beta", "1/B"},
                               {"radix", "k"},
                               {"aggregation", "A"},
                               {"reduce_bandwidth", "1/gamma"},
                               {"simulated", "time"},
                               {"duration", "time"},
                               {"lower_bound", "bound"},
                               {"formula", "analytic"}}};
  for (const NameEntry& entry : name_entries())
    if (!(is_step ? entry.is_of_collectives() : entry.is_of_steps()))
      words.allowed.emplace_back(entry.word);
  return words;
}

void fail_unknown(FormulaParser& parser, const Vocabulary& words, const FormulaToken& token) {
  std::string nearest = words.canonical(token.text).value_or("");
  if (nearest.empty()) nearest = words.nearest(token.text);
  parser.fail(token.begin, token.end, "unknown-name",
              fmt::format("unknown {} {}", words.what, in_quotes(token.text)), nearest,
              fmt::format("known: {}", fmt::join(words.allowed, " ")));
}

// The first few, so that a long axis does not fill the screen.
std::string list_of(const std::vector<std::string>& words) {
  constexpr std::size_t shown = 12;
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < shown; ++i)
    text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > shown) text += fmt::format(", ... ({} in all)", words.size());
  return text;
}

// The two letters that look like a mu: the micro sign and the Greek one.
std::size_t mu_at(std::string_view text) {
  return text.starts_with("\u00b5") || text.starts_with("\u03bc") ? 2 : 0;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::size_t unit_length(std::string_view text) {
  std::size_t length = mu_at(text);
  if (length == 0 && (text.empty() || !is_letter(text[0]))) return 0;
  while (length < text.size() &&
         (is_letter(text[length]) || (text[length] >= '0' && text[length] <= '9')))
    ++length;
  return length;
}

bool is_time_unit(std::string_view unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns" || unit == "\u00b5s" ||
         unit == "\u03bcs" || unit == "min" || unit == "h";
}

template <class T, class Convert>
void take(FormulaParser& parser, FormulaToken& token, const Parsed<T>& parsed, Units units,
          Convert convert) {
  if (!parsed.value) {
    parser.fail(token.begin, token.end, parsed.error.code, parsed.error.message,
                parsed.error.suggestion, parsed.error.hint);
    return;
  }
  token.value = convert(*parsed.value);
  token.units = units;
}

// Whether it goes on as in "sum over hops of tau(N)" or "max tau(N)", which "collsim explain"
// prints where links or levels differ.
bool is_in_words(std::string_view function, std::string_view after) {
  return (function == "sum" || function == "max") &&
         (after.starts_with(" over ") || after.starts_with(" tau("));
}

}  // namespace

// --- names and numbers --------------------------------------------------------------------------

bool ExpressionLanguage::knows(std::string_view word) const {
  return find_name(word) != nullptr;
}

FormulaName ExpressionLanguage::name(FormulaParser& parser, const FormulaToken& token) {
  const NameEntry* entry = find_name(token.text);
  if (entry == nullptr) {
    if (function_kind(token.text))
      parser.fail(token.begin, token.end, "syntax",
                  in_quotes(token.text) + " is a function and needs its arguments in parentheses");
    fail_unknown(parser, vocabulary_of_names(facts_->scenario().is_step()), token);
    return {};
  }
  must_be_available(parser, *entry, token);
  return {static_cast<std::uint32_t>(entry->name), entry->units};
}

void ExpressionLanguage::must_be_available(FormulaParser& parser, const NameEntry& entry,
                                           const FormulaToken& token) const {
  const bool is_step = facts_->scenario().is_step();
  if (is_step ? entry.is_of_collectives() : entry.is_of_steps()) {
    parser.fail(
        token.begin, token.end, "unavailable",
        in_quotes(token.text) + (is_step ? " is of a collective, and this is a training step"
                                         : " is of a training step, and this is a collective"),
        {},
        is_step
            ? "a workload has step, compute, exposed, hidden, bubble, bound, memory, least_timeout "
              "and gives_up, with failures useful, best_interval and job; that of a transformer "
              "mfu and hfu"
            : "a collective has time");
    return;
  }
  const bool of_link = entry.name == Name::B || entry.name == Name::alpha || entry.name == Name::L;
  if (!of_link || facts_->may_have_link()) return;
  parser.fail(token.begin, token.end, "unavailable",
              in_quotes(token.text) +
                  " is a parameter of the cluster's link, and this cluster has links of several "
                  "kinds",
              {},
              entry.name == Name::B
                  ? "use bottleneck_bandwidth, or a number with its unit, such as 25GB/s"
                  : "use a number with its unit, such as 5us");
}

void ExpressionLanguage::number(FormulaParser& parser, FormulaToken& token) {
  const std::string digits(token.text);
  const std::string_view rest = parser.rest_from(token.end);
  const std::size_t blank = rest.starts_with(' ') ? 1 : 0;
  if (rest.substr(blank).starts_with('%')) {
    token.percent = true;
    token.value /= 100;
    parser.extend_number(token, token.end + blank + 1);
    return;
  }
  const std::string_view unit = rest.substr(blank, unit_length(rest.substr(blank)));
  if (unit.empty()) return;
  const std::size_t unit_end = token.end + blank + unit.size();
  if (find_name(unit) != nullptr && unit != "B") {
    parser.fail(token.begin, unit_end, "syntax",
                "an operator is missing between " + in_quotes(digits) + " and " + in_quotes(unit),
                digits + "*" + std::string(unit));
    return;
  }
  const std::string_view behind = rest.substr(blank + unit.size());
  const bool per_second =
      !is_time_unit(unit) && behind.starts_with("/s") && unit_length(behind.substr(1)) == 1;
  parser.extend_number(token, unit_end + (per_second ? 2 : 0));
  if (digits.find_first_of("eE") != std::string::npos) {
    parser.fail(token.begin, token.end, "not-a-quantity",
                in_quotes(token.text) + " has an exponent and a unit", {},
                "write the digits out, as in \"1000us\"");
  } else if (unit == "ps") {  // finer than the format's units: for the rounding of simulated times
    token.value /= 1e12;
    token.units = units_time;
  } else if (is_time_unit(unit)) {
    take(parser, token, parse_time(token.text), units_time,
         [](Time time) { return time.seconds(); });
  } else if (per_second || unit.ends_with("ps")) {
    take(parser, token, parse_bandwidth(token.text), units_bandwidth,
         [](Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second()); });
  } else {
    take(parser, token, parse_size(token.text), units_size,
         [](Bytes bytes) { return static_cast<double>(bytes); });
  }
}

FormulaError ExpressionLanguage::with_hint(FormulaError error, std::string_view text) {
  const std::string_view wrong = text.substr(error.begin, error.end - error.begin);
  const std::string_view before = text.substr(0, error.begin), after = text.substr(error.end);
  if (after.find(" where ") != std::string_view::npos)
    error.hint = "names are defined after a comma, as in \"2*t, t = tau(N/S)\"";
  if (error.code != "syntax") return error;
  if (is_in_words(wrong, after)) {
    error.message = "this formula is a sentence, not an expression";
    error.hint = "\"analytic\" is its value";
  }
  if (wrong == "," && !before.empty() && is_digit(before.back()) && !after.empty() &&
      is_digit(after.front()))
    error.hint = "numbers are written without commas";
  else if (wrong == ",")
    error.hint = "a comma outside of functions defines a name, as in \"2*t, t = tau(N/S)\"";
  if (wrong == "." && before.ends_with("..")) {
    error.message = "two dots stand between the bounds of a sum";
    error.hint = "as in sum(i = 1..3, N/2^i)";
  }
  if (wrong == "%") error.hint = "a percentage is a number and %, as in 5%";
  if (wrong == "<" || wrong == ">" || wrong == "=" || wrong == "!")
    error.hint =
        "write the comparison as a key beside \"metric\": equals, at_least, at_most or between";
  return error;
}

// --- functions over rows ------------------------------------------------------------------------

FormulaPart ExpressionLanguage::call(FormulaParser& parser, const FormulaToken& name) {
  const std::optional<SelectionKind> kind = function_kind(name.text);
  if (kind == SelectionKind::relative_error) return relative_error(parser, name);
  if (kind == SelectionKind::idle) return idle(parser, name);
  if (kind) return selection(parser, *kind, name);
  fail_unknown(parser, vocabulary_of_functions(), name);
  return {};
}

FormulaPart ExpressionLanguage::relative_error(FormulaParser& parser, const FormulaToken& name) {
  parser.advance();
  FormulaPart part = parser.sum();
  parser.must_be_number(part);
  if (parser.token().is(","))
    parser.fail(parser.token().begin, parser.token().end, "syntax",
                "\"relative_error\" takes one argument");
  if (parser.failed()) return {};
  bool measurable = false;
  parser.tree().visit(part.node, [&](const FormulaNode& node) {
    measurable |= node.kind == FormulaNode::Kind::name && entry_of(Name{node.id}).follows_of();
    return !measurable;
  });
  if (!measurable)
    parser.fail(part.begin, part.end, "syntax",
                "nothing in " + parser.quote(part) + " is ever measured", {},
                "only time, algbw and busbw are measured");
  const std::uint32_t metric = part.node;
  part = {.node = metric, .begin = name.begin, .end = parser.token().end};
  parser.close_call();
  selections_.push_back({.kind = SelectionKind::relative_error});
  return parser.add_special(static_cast<std::uint32_t>(selections_.size() - 1), part);
}

FormulaPart ExpressionLanguage::idle(FormulaParser& parser, const FormulaToken& name) {
  if (!facts_->scenario().is_step())
    parser.fail(name.begin, name.end, "unavailable",
                "\"idle\" is of a training step, and this is a collective");
  parser.advance();
  FormulaPart part = parser.sum();
  parser.must_be_number(part);
  if (part.units != units_none)
    parser.fail(part.begin, part.end, "units", parser.quote(part) + " is no rank", {},
                "write its number, as in idle(3)");
  if (parser.failed()) return {};
  const std::uint32_t rank = part.node;
  part = {.node = rank, .begin = name.begin, .end = parser.token().end, .units = units_time};
  parser.close_call();
  selections_.push_back({.kind = SelectionKind::idle});
  return parser.add_special(static_cast<std::uint32_t>(selections_.size() - 1), part);
}

FormulaPart ExpressionLanguage::selection(FormulaParser& parser, SelectionKind kind,
                                          const FormulaToken& name) {
  parser.advance();
  FormulaPart part = parser.sum();
  parser.must_be_number(part);
  if (!parser.token().is(",")) {
    const std::string call = kind == SelectionKind::at ? "at(metric, axis, value)"
                                                       : std::string(name.text) + "(metric, axis)";
    parser.unexpected("\",\" and an axis, as in " + call);
  }
  const auto swept = axis(parser, name);
  if (!swept) return {};
  ExpressionSelection selection{.kind = kind, .axis = swept->axis, .path = facts_->name(*swept)};
  if (kind == SelectionKind::at)
    selection.coordinate = value_on(parser, *swept);
  else
    set_values(selection, part, *swept);
  part.begin = name.begin;
  part.end = parser.token().end;
  part.zero = false;
  part.value.reset();
  parser.close_call();
  selections_.push_back(std::move(selection));
  return parser.add_special(static_cast<std::uint32_t>(selections_.size() - 1), part);
}

std::optional<ScenarioFacts::SweptPath> ExpressionLanguage::axis(FormulaParser& parser,
                                                                 const FormulaToken& function) {
  if (parser.failed()) return std::nullopt;
  const FormulaToken name = parser.raw_until(",)");
  const FormulaToken next = parser.token();
  const std::vector<std::string> swept = facts_->swept_paths();
  if (name.text.empty())
    parser.fail(name.begin, next.end, "syntax",
                in_quotes(function.text) + " needs the name of an axis", {},
                swept.empty() ? "" : "swept: " + list_of(swept));
  if (swept.empty())
    parser.fail(name.begin, name.end, "not-swept",
                in_quotes(function.text) + " needs a sweep, and this scenario has none");
  const auto found = facts_->find_swept(name.text);
  if (found.empty()) {
    const Vocabulary paths{.what = "path", .allowed = swept};
    parser.fail(name.begin, name.end, "not-swept", in_quotes(name.text) + " is not swept",
                paths.nearest(name.text), "swept: " + list_of(swept));
  }
  if (found.size() > 1) {
    std::vector<std::string> candidates;
    candidates.reserve(found.size());
    for (const auto& one : found) candidates.push_back(facts_->name(one));
    parser.fail(name.begin, name.end, "not-swept",
                in_quotes(name.text) + " could be several swept paths", {},
                "write " + list_of(candidates));
  }
  const bool is_at = function.text == "at";
  if (next.kind == FormulaToken::Kind::end) parser.unexpected(is_at ? "\",\"" : "\")\"");
  if (!next.is(is_at ? "," : ")"))
    parser.fail(next.begin, next.end, "syntax",
                is_at ? "\"at\" needs a value: at(metric, axis, value)"
                      : fmt::format("{} takes two arguments, a metric and an axis",
                                    in_quotes(function.text)));
  return parser.failed() ? std::nullopt : std::optional(found.front());
}

std::size_t ExpressionLanguage::value_on(FormulaParser& parser, ScenarioFacts::SweptPath swept) {
  const FormulaToken token = parser.raw_until(")");
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
  parser.fail(token.begin, token.end, "not-swept",
              token.text.empty()
                  ? "\"at\" needs a value: at(metric, axis, value)"
                  : fmt::format("the sweep of {} has no {}", path, in_quotes(token.text)),
              is_word ? words.nearest(token.text) : "", "its values: " + list_of(written));
  return 0;
}

void ExpressionLanguage::set_values(ExpressionSelection& selection, FormulaPart& part,
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
  part.word = true;
  selection.words = std::move(values);
}

}  // namespace collsim
