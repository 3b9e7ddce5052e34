// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/program_expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// Buffers are numbered after all numbers that there can be.
constexpr std::uint32_t first_buffer = 1U << 16U;

class ProgramLanguage : public FormulaLanguage {
 public:
  explicit ProgramLanguage(const ProgramNames& names) : names_(&names) {}

  [[nodiscard]] bool knows(std::string_view word) const override { return find(word).has_value(); }
  [[nodiscard]] FormulaName name(FormulaParser& parser, const FormulaToken& token) override {
    if (const auto id = find(token.text)) return {*id, units_none};
    std::string known;
    for (const auto* list : {&names_->numbers, names_->buffers})
      if (list != nullptr)
        for (const std::string& one : *list) known += (known.empty() ? "" : ", ") + one;
    parser.fail(token.begin, token.end, "unknown-name", "unknown name " + parser.quote(token.text),
                {}, "there are " + known);
    return {};
  }
  [[nodiscard]] FormulaPart call(FormulaParser& parser, const FormulaToken& name) override {
    if (name.text != "exp") return FormulaLanguage::call(parser, name);
    parser.advance();
    FormulaPart part = parser.sum();
    if (!part.units.none())
      parser.fail(part.begin, part.end, "dimension", "exp takes a plain number");
    const FormulaPart argument = part;
    part = {.node = argument.node, .begin = name.begin, .end = parser.token().end};
    parser.close_call();
    return parser.add_special(0, part);
  }
  void number(FormulaParser& parser, FormulaToken& token) override {
    const std::string_view rest = parser.rest_from(token.end);
    const std::size_t blank = rest.starts_with(' ') ? 1 : 0;
    for (const std::string_view unit : {"ns", "us", "µs", "μs", "ms", "s", "min", "h"}) {
      if (!rest.substr(blank).starts_with(unit)) continue;
      parser.extend_number(token, token.end + blank + unit.size());
      const Parsed<Time> time = parse_time(token.text);
      if (!time.value) parser.fail(token.begin, token.end, time.error.code, time.error.message);
      token.value = time.value.value_or(Time{}).seconds();
      token.units = units_time;
      return;
    }
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view word) const {
    const auto in = [word](const std::vector<std::string>& list, std::uint32_t first) {
      const auto found = std::find(list.begin(), list.end(), word);
      return found == list.end()
                 ? std::optional<std::uint32_t>()
                 : std::optional(first + static_cast<std::uint32_t>(found - list.begin()));
    };
    if (const auto number = in(names_->numbers, 0)) return number;
    return names_->buffers == nullptr ? std::nullopt : in(*names_->buffers, first_buffer);
  }

  const ProgramNames* names_;
};

class ProgramValues : public FormulaValues {
 public:
  ProgramValues(std::span<const double> numbers, const ProgramExpression::Element* element)
      : numbers_(numbers), element_(element) {}

  [[nodiscard]] std::optional<double> name(std::uint32_t id,
                                           FormulaEvaluation& /*evaluation*/) override {
    return id < first_buffer ? numbers_[id] : (*element_)(id - first_buffer);
  }
  [[nodiscard]] std::optional<double> call(const FormulaNode& node,
                                           FormulaEvaluation& evaluation) override {
    const std::optional<double> argument = evaluation.value(node.left);
    return argument ? std::optional(std::exp(*argument)) : std::nullopt;
  }

 private:
  std::span<const double> numbers_;
  const ProgramExpression::Element* element_;
};

constexpr const char* time_hint = R"(write "3ms", or "(rank + 1) * 3ms")";

// "3 parsecs", "1MB": what is no expression, but looks like a quantity.
bool is_number_with_unit(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto unit = text.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string_view::npos) return false;
  std::string_view word = text.substr(unit);
  if (word.starts_with(' ')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), is_letter);
}

ProgramExpression::Value evaluated(const FormulaTree& tree, ProgramValues values) {
  FormulaEvaluation evaluation(tree, values);
  const std::optional<double> number = evaluation();
  if (number && !std::isfinite(*number)) return {std::nullopt, "the result is not finite"};
  return {number, evaluation.why_not()};
}

}  // namespace

bool is_program_name(std::string_view word) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), fits) &&
         std::isdigit(static_cast<unsigned char>(word.front())) == 0;
}

std::string ProgramNames::why_no_other(const std::string& name) const {
  if (!is_program_name(name))
    return "\"" + printable(name) + "\" is no name of a number: letters, digits and _ only";
  const auto found = std::find(numbers.begin(), numbers.end(), name);
  if (found == numbers.end()) return {};
  const bool given = name == "rank" || name == "K";
  return "there is already a number " + name +
         (name == "rank" ? ", that of the rank"
          : given        ? ", that of all ranks"
                         : ", that of a loop around this one");
}

ProgramExpression ProgramExpression::read(const JsonValue& written, std::string_view text,
                                          const std::string& pointer, const ProgramNames& names,
                                          bool is_time, Diagnostics& diagnostics) {
  ProgramLanguage language(names);
  FormulaParser parser(text, language);
  std::optional<FormulaTree> tree = parser.parse();
  FormulaError error = parser.error();
  if (!tree && is_time && is_number_with_unit(text))
    error = {.code = "no-unit",
             .message = quoted(std::string(text)) + " is no time",
             .suggestion = {},
             .hint = time_hint};
  const Units wanted = is_time ? units_time : units_none;
  if (tree && tree->root.units != wanted && !(is_time && tree->root.zero)) {
    error = {.code = is_time ? "no-unit" : "dimension",
             .message = "this is " + tree->root.units.description() + ", but " +
                        wanted.description() + " is needed",
             .suggestion = {},
             .hint = is_time ? time_hint : ""};
    tree.reset();
  }
  ProgramExpression read;
  if (tree) {
    read.constant_ = tree->root.value;
    read.tree_ = std::move(*tree);
  } else {
    diagnostics.add({.code = error.code,
                     .message = error.message,
                     .place = written.place,
                     .pointer = pointer,
                     .suggestion = error.suggestion,
                     .hint = error.hint});
  }
  return read;
}

ProgramExpression::Value ProgramExpression::operator()(std::span<const double> numbers) const {
  if (constant_) return {constant_, {}};
  return evaluated(tree_, {numbers, nullptr});
}

ProgramExpression::Value ProgramExpression::operator()(std::span<const double> numbers,
                                                       const Element& element) const {
  if (constant_) return {constant_, {}};
  return evaluated(tree_, {numbers, &element});
}

bool ProgramExpression::names(std::size_t number) const {
  return !constant_ &&
         std::any_of(tree_.nodes.begin(), tree_.nodes.end(), [number](const FormulaNode& node) {
           return node.kind == FormulaNode::Kind::name && node.id == number;
         });
}

std::vector<std::size_t> ProgramExpression::buffers() const {
  std::vector<std::size_t> all;
  for (const FormulaNode& node : tree_.nodes)
    if (node.kind == FormulaNode::Kind::name && node.id >= first_buffer)
      all.push_back(node.id - first_buffer);
  return all;
}

// --- conditions ----------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<=", ">=", "<", ">"};

bool holds(double left, std::string_view comparison, double right) {
  if (comparison == "==") return left == right;
  if (comparison == "!=") return left != right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">=") return left >= right;
  return comparison == "<" ? left < right : left > right;
}

}  // namespace

std::optional<ProgramCondition> ProgramCondition::read(const JsonValue& written,
                                                       const std::string& pointer,
                                                       Diagnostics& diagnostics) {
  const std::string_view text = written.string();
  for (const std::string_view comparison : comparisons) {
    const std::size_t at = text.find(comparison);
    if (at == std::string_view::npos) continue;
    const auto side = [&](std::string_view part) {
      return ProgramExpression::read(written, part, pointer, {}, false, diagnostics);
    };
    ProgramCondition condition;
    condition.left_ = side(text.substr(0, at));
    condition.right_ = side(text.substr(at + comparison.size()));
    condition.comparison_ = comparison;
    return condition;
  }
  return diagnostics.add({.code = "syntax",
                          .message = "this compares nothing",
                          .place = written.place,
                          .pointer = pointer,
                          .hint = R"(write "all", a rank, a list of ranks, or "rank % 2 == 1")"});
}

ProgramExpression::Value ProgramCondition::operator()(std::span<const double> numbers) const {
  ProgramExpression::Value left = left_(numbers);
  ProgramExpression::Value right = right_(numbers);
  if (!left.number) return left;
  if (!right.number) return right;
  return {holds(*left.number, comparison_, *right.number) ? 1.0 : 0.0, {}};
}

}  // namespace collsim
