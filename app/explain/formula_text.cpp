// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the text of a closed form, so that it can be shown with its values put in.  What comes
// out is shown only when it agrees with the closed form's own number.
//
//   formula  = sum of products, or "sum over i=1..<expression> of" one; then ", name = expression"
//              and remarks
//   atoms    = numbers, K N S q k alpha B L gamma, names defined behind the formula,
//              tau pass step max min log2 log_k floor ceil

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "app/explain/explanation_internal.hpp"
#include "app/explain/numbers.hpp"

namespace collsim {
namespace {

// A value, and how it is written with numbers in the place of symbols.
struct Shown {
  double value = 0;
  std::string text;
};

struct Definition {
  std::string name;
  double value = 0;
};

class FormulaParser {
 public:
  FormulaParser(std::string_view text, const FormulaValues& values,
                const std::vector<Definition>& definitions, std::vector<FormulaTerm>& calls)
      : text_(text), values_(values), definitions_(definitions), calls_(calls) {}

  // The whole text is one expression; its summands go to `terms`.
  std::optional<double> parse(std::vector<FormulaTerm>& terms) {
    double sum = 0;
    for (double sign = 1;;) {
      skip_blanks();
      const std::size_t begin = at_;
      const Shown term = product();
      if (failed_) return std::nullopt;
      sum += sign * term.value;
      std::string written(text_.substr(begin, at_ - begin));
      while (!written.empty() && written.back() == ' ') written.pop_back();
      terms.push_back({written, term.text, sign * term.value});
      if (accept('+'))
        sign = 1;
      else if (accept('-'))
        sign = -1;
      else
        break;
    }
    if (at_ != text_.size() || !std::isfinite(sum)) return std::nullopt;
    return sum;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Shown fail() {
    failed_ = true;
    return {};
  }

  Shown sum() {
    Shown result = product();
    while (!failed_) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) break;
      const Shown next = product();
      result.value += plus ? next.value : -next.value;
      result.text += (plus ? "+" : "-") + next.text;
    }
    return result;
  }
  Shown product() {
    Shown result = power();
    while (!failed_) {
      const bool times = accept('*');
      if (!times && !accept('/')) break;
      const Shown next = power();
      result.value = times ? result.value * next.value : result.value / next.value;
      result.text += (times ? "*" : "/") + next.text;
    }
    return result;
  }
  Shown power() {
    Shown result = atom();
    if (!failed_ && accept('^')) {
      const Shown exponent = power();
      result = {std::pow(result.value, exponent.value), result.text + "^" + exponent.text};
    }
    return result;
  }
  Shown atom() {
    skip_blanks();
    if (failed_ || at_ >= text_.size()) return fail();
    if (accept('(')) {
      const Shown inner = sum();
      return accept(')') ? Shown{inner.value, "(" + inner.text + ")"} : fail();
    }
    const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_of_name(text_[at_]) || text_[at_] == '_')) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (name.empty()) return fail();
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return number(name);
    // No formula has a product without its sign: a bracket behind a name is a call.
    if (at_ < text_.size() && text_[at_] == '(') return call(name);
    return symbol(name);
  }
  Shown number(const std::string& digits) {
    if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
        digits.size() > 6)
      return fail();
    return {static_cast<double>(std::stoi(digits)), digits};
  }
  Shown symbol(const std::string& name) {
    const FormulaValues& v = values_;
    if (name == "K") return {v.K, fmt::format("{}", v.K)};
    if (name == "S") return {v.S, fmt::format("{}", v.S)};
    if (name == "k") return {v.radix, fmt::format("{}", v.radix)};
    if (name == "q") return plain(std::ceil(std::log2(v.K)));
    if (name == "N") return {v.N, bytes_text(v.N)};
    if (name == "B") return {v.B, fmt::format("({})", rate_text(v.B))};
    if (name == "alpha") return {v.alpha, seconds_text(v.alpha)};
    if (name == "L") return {v.L, seconds_text(v.L)};
    if (name == "gamma")
      return {v.gamma, std::isinf(v.gamma) ? "infinite" : fmt::format("({})", rate_text(v.gamma))};
    for (const Definition& definition : definitions_)
      if (definition.name == name)
        return {definition.value, name == "t" || name == "g"
                                      ? seconds_text(definition.value)
                                      : fmt::format("{:.4g}", definition.value)};
    return fail();
  }
  static Shown plain(double value) { return {value, fmt::format("{:.4g}", value)}; }
  Shown call(const std::string& name) {
    accept('(');
    std::vector<Shown> arguments{sum()};
    while (!failed_ && accept(',')) arguments.push_back(sum());
    if (failed_ || !accept(')')) return fail();
    const double x = arguments.front().value;
    if (name == "tau") return message(name, x, tau(x));
    if (name == "pass") return message(name, x, values_.S * tau(x / values_.S) + values_.L);
    if (name == "step") return message(name, x, step(x));
    if (name == "log2") return plain(std::log2(x));
    if (name == "log_k") return plain(std::round(std::log(x) / std::log(values_.radix)));
    if (name == "floor") return plain(std::floor(x));
    if (name == "ceil") return plain(std::ceil(x));
    if ((name == "max" || name == "min") && arguments.size() == 2) {
      const double y = arguments.back().value;
      return {name == "max" ? std::max(x, y) : std::min(x, y),
              fmt::format("{}({}, {})", name, arguments.front().text, arguments.back().text)};
    }
    return fail();
  }
  [[nodiscard]] double tau(double n) const { return values_.alpha + n / values_.B; }
  [[nodiscard]] double step(double n) const {
    const double piece = n / values_.S;
    const double adding = piece / values_.gamma;
    return tau(piece) + values_.L + (values_.S - 1) * std::max(tau(piece), adding) + adding;
  }
  // A function of a message's size: its value goes into the term, how it came about to the calls.
  Shown message(const std::string& name, double bytes, double seconds) {
    const std::string text = fmt::format("{}({})", name, bytes_text(bytes));
    const bool known = std::any_of(calls_.begin(), calls_.end(),
                                   [&](const FormulaTerm& term) { return term.text == text; });
    if (!known) {
      if (name != "tau") message("tau", bytes / values_.S, tau(bytes / values_.S));
      calls_.push_back({text, with_values(name, bytes), seconds});
    }
    return {seconds, seconds_text(seconds)};
  }
  // By the definitions of explanation_formula.cpp.
  [[nodiscard]] std::string with_values(const std::string& name, double bytes) const {
    const FormulaValues& v = values_;
    if (name == "tau")
      return fmt::format("{} + {}", seconds_text(v.alpha), seconds_text(bytes / v.B));
    const double piece = bytes / v.S;
    const std::string one = seconds_text(tau(piece)), latency = seconds_text(v.L);
    const std::string adding = seconds_text(piece / v.gamma);
    if (name == "pass" || std::isinf(v.gamma))
      return v.S == 1 ? fmt::format("{} + {}", one, latency)
                      : fmt::format("{}*{} + {}", v.S, one, latency);
    if (v.S == 1) return fmt::format("{} + {} + {}", one, latency, adding);
    return fmt::format("{} + {} + {}*max({}, {}) + {}", one, latency, v.S - 1, one, adding, adding);
  }

  std::string_view text_;
  const FormulaValues& values_;
  const std::vector<Definition>& definitions_;
  std::vector<FormulaTerm>& calls_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// At commas outside of brackets.
std::vector<std::string> clauses_of(const std::string& text) {
  std::vector<std::string> clauses{""};
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
    if (c == ',' && depth == 0)
      clauses.emplace_back();
    else if (c != ' ' || !clauses.back().empty())
      clauses.back() += c;
  }
  return clauses;
}

std::optional<double> evaluate_sum_over(const std::string& clause, const FormulaValues& values,
                                        std::vector<Definition> definitions,
                                        EvaluatedFormula& result) {
  constexpr std::string_view opening = "sum over i=1..";
  const std::size_t of = clause.find(" of ");
  if (of == std::string::npos) return std::nullopt;
  std::vector<FormulaTerm> ignored;
  const std::optional<double> last =
      FormulaParser(std::string_view(clause).substr(opening.size(), of - opening.size()), values,
                    definitions, ignored)
          .parse(ignored);
  if (!last || *last > 64) return std::nullopt;
  double total = 0;
  definitions.push_back({"i", 0});
  for (int i = 1; i <= static_cast<int>(std::lround(*last)); ++i) {
    definitions.back().value = i;
    std::vector<FormulaTerm> summands;
    const std::optional<double> value =
        FormulaParser(std::string_view(clause).substr(of + 4), values, definitions, result.calls)
            .parse(summands);
    if (!value) return std::nullopt;
    FormulaTerm term{fmt::format("i = {}", i), "", *value};
    for (const FormulaTerm& summand : summands)
      term.with_values += (term.with_values.empty() ? "" : " + ") + summand.with_values;
    result.terms.push_back(term);
    total += *value;
  }
  return total;
}

}  // namespace

std::optional<EvaluatedFormula> evaluate_formula(const std::string& text,
                                                 const FormulaValues& values) {
  EvaluatedFormula result;
  std::vector<Definition> definitions;
  const std::vector<std::string> clauses = clauses_of(text);
  for (std::size_t i = 1; i < clauses.size(); ++i) {
    const std::size_t equals = clauses[i].find(" = ");
    if (equals == std::string::npos) continue;
    std::vector<FormulaTerm> summands;
    const std::optional<double> value =
        FormulaParser(std::string_view(clauses[i]).substr(equals + 3), values, definitions,
                      result.calls)
            .parse(summands);
    if (!value) return std::nullopt;
    const std::string name = clauses[i].substr(0, equals);
    definitions.push_back({name, *value});
    if (name == "t" || name == "g") {
      std::string with_values = clauses[i].substr(equals + 3);
      if (summands.size() == 1 && summands.front().with_values != seconds_text(*value))
        with_values += " = " + summands.front().with_values;
      result.calls.push_back({name, with_values, *value});
    }
  }
  if (clauses.front().rfind("sum over i=1..", 0) == 0) {
    const std::optional<double> total =
        evaluate_sum_over(clauses.front(), values, definitions, result);
    if (!total) return std::nullopt;
    result.seconds = *total;
    return result;
  }
  const std::optional<double> total =
      FormulaParser(clauses.front(), values, definitions, result.calls).parse(result.terms);
  if (!total) return std::nullopt;
  result.seconds = *total;
  return result;
}

}  // namespace collsim
