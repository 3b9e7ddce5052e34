// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/expression/lexer.hpp"
#include "app/expression/names.hpp"
#include "app/expression/scenario_facts.hpp"

namespace collsim {

struct Row;

// The language of expectations: "(K-1) * (alpha + N/B)", "argmin(time, S)", "0.9 * 25GB/s".
//
// Numbers     1  2.5  1e3; 5% is 0.05; with the units of scenario files, and ps: 2.5ms  64MiB
//             25GB/s  "5 us"
// Operators   ^ (from the right: 2^3^2 = 2^9), then unary -, then * /, then + -; -2^2 = -4;
//             parentheses
// Functions   min max (two or more arguments), ceil floor log2 (of plain numbers), sqrt abs
// Symbols     K  ranks of the group             N      bytes: what nccl-tests calls size
//             S  chunks                         C      channels
//             B  bandwidth, bytes/s             alpha  start-up of a message, s
//             L  latency of a link, s           gamma  model.reduce_bandwidth, bytes/s
//             Also ranks, size, chunks, channels for K, N, S, C.  B, alpha and L exist when the
//             cluster has one "link", and are what it says before links_override; gamma when
//             model.reduce_bandwidth is there.
// Metrics     time                  s: simulated, or what "of" says
//             algbw busbw           bytes/s: size / time, and that times nccl-tests' factor; follow
//                                   "of" like time
//             analytic              s: the closed form; where there is none the expectation fails
//             bound                 s: what no schedule can beat, the largest of
//                                   bandwidth_bound, latency_bound, compute_bound
//             messages              how many were sent
//             wire_bytes            their bytes, counted once for each message
//             bottleneck_bandwidth  bytes/s: of the slowest link that carried data
//             measured              s: the median of real runs (collsim validate)
// Over rows   argmin(metric, axis)  a swept path's value where the metric is smallest among the
//             argmax(metric, axis)  points that differ in that axis only; the first of equals.  A
//                                   word when the values are words.  Of rows that "when" leaves
//                                   out none takes part.
//             at(metric, axis, v)   the metric at the point that differs in that axis only and has
//                                   the value v there: 16, 64MiB, ring.  "when" does not matter.
//             relative_error(m)     |m - measured m| / measured m, m being made of time, algbw and
//                                   busbw: what "of" says against what was measured
//             An axis is a swept path, the symbol it sets (S for collective.chunks), or its last
//             name if only one swept path ends in it.  Paths that are zipped are one axis.
//
// Every expression has a unit, which is checked before anything runs: + - min max need the same
// unit on both sides (a bare 0 fits all), an exponent is a plain number, and a constant when the
// base has a unit.
//
// Stated limits: 4,096 bytes, nesting of 100.
inline constexpr std::size_t max_expression_bytes = 4096;
inline constexpr int max_expression_depth = 100;

// One step of a compiled expression, which is a program for a stack of numbers.
struct ExpressionStep {
  enum class Code : std::uint8_t {
    number,
    name,
    add,
    subtract,
    multiply,
    divide,
    power,
    negate,
    minimum,
    maximum,
    ceil,
    floor,
    sqrt,
    log2,
    abs,
    selection,   // argmin, argmax, at
    measurement  // relative_error
  } code = Code::number;
  double number = 0;
  Name name = Name::K;
  std::size_t selection = 0;       // which; of relative_error too
  std::size_t begin = 0, end = 0;  // the part of the text
};
using ExpressionProgram = std::vector<ExpressionStep>;

// argmin, argmax or at: an inner expression in the rows along one axis.
struct ExpressionSelection {
  enum class Kind : std::uint8_t { argmin, argmax, at } kind = Kind::argmin;
  ExpressionProgram metric;
  std::size_t axis = 0;
  std::string path;            // as the sweep calls it
  std::size_t coordinate = 0;  // of at
  std::vector<double> values;  // of argmin: for each point of the axis; of words their number
};

// What went wrong for a row, in words: `division by zero in "N/(S-1)"`.
struct Evaluated {
  std::optional<double> value;
  std::string why_not;
  bool unmeasured = false;  // nothing is wrong: what it needs was not measured, or too noisily
};

struct ParsedExpression;

class Expression {
 public:
  // Any bytes at all.
  [[nodiscard]] static ParsedExpression parse(std::string_view text, const ScenarioFacts& facts);
  [[nodiscard]] static Expression constant(double number, std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Units& units() const { return units_; }
  [[nodiscard]] bool is_zero() const { return zero_; }  // a bare 0, which fits all units
  [[nodiscard]] bool is_percentage() const { return percentage_; }  // just "5%"
  // The value when no row matters.
  [[nodiscard]] const std::optional<double>& value() const { return value_; }
  [[nodiscard]] bool is_literal() const { return program_.size() == 1 && value_; }

  // Not empty: the value is a word (argmin over algorithms), and evaluate() gives its number in
  // this list.
  [[nodiscard]] const std::vector<Comparable>& words() const { return words_; }
  [[nodiscard]] const std::string& word_path() const { return word_path_; }  // where they stand

  [[nodiscard]] bool mentions(Name name) const;
  [[nodiscard]] bool follows_of() const;  // mentions time, algbw or busbw
  [[nodiscard]] bool needs_measurement() const { return measurement_; }
  // Axes that argmin or argmax collapses: all their rows have one value together.
  [[nodiscard]] const std::vector<std::size_t>& collapsed_axes() const { return collapsed_; }
  // The first part, if any, that has another value for each point of an axis.
  [[nodiscard]] std::optional<std::string_view> part_varying_along(std::size_t axis,
                                                                   const Scenario& scenario) const;

 private:
  [[nodiscard]] const ExpressionStep* step_varying_along(const ExpressionProgram& program,
                                                         std::size_t axis,
                                                         const Scenario& scenario) const;
  friend class ExpressionParser;
  friend class Evaluator;

  std::string text_;
  ExpressionProgram program_;
  std::vector<ExpressionSelection> selections_;
  std::vector<ExpressionProgram> errors_;  // what relative_error is taken of
  std::vector<Comparable> words_;
  std::string word_path_;
  std::vector<std::size_t> collapsed_;
  Units units_{};
  std::optional<double> value_;
  bool zero_ = false, percentage_ = false, measurement_ = false;
};

struct ParsedExpression {
  std::optional<Expression> value;
  ExpressionError error;  // when there is no value
};

// Evaluates one expression in rows of one study.  Total: every row gives a finite number or a
// reason.  Remembers what argmin found, so that all rows together take time in proportion to their
// number.
class Evaluator {
 public:
  enum class TimeMeans : std::uint8_t { simulated, analytic, measured };
  // rows[i] is point i of the grid; takes_part[i]: whether argmin looks at it.  All must outlive
  // this.
  Evaluator(const Expression& expression, const Grid& grid, std::span<const Row> rows,
            const std::vector<char>& takes_part, TimeMeans meaning = TimeMeans::simulated);

  [[nodiscard]] Evaluated operator()(std::size_t row);

 private:
  [[nodiscard]] std::optional<double> run(const ExpressionProgram& program, std::size_t row);
  [[nodiscard]] std::optional<double> look_up(Name name, const Row& row);
  [[nodiscard]] std::optional<double> seconds_of(Name name, const Row& row);
  [[nodiscard]] std::optional<double> measured_seconds(const Row& row);
  [[nodiscard]] std::optional<double> relative_error(std::size_t number, std::size_t row);
  [[nodiscard]] std::optional<double> select(std::size_t selection, std::size_t row);
  [[nodiscard]] std::optional<double> best(std::size_t selection, std::size_t row);
  [[nodiscard]] std::optional<double> one_step(const ExpressionStep& step, std::size_t row);
  void explain_not_finite(const ExpressionStep& step, double left, double right);

  const Expression* expression_;
  const Grid* grid_;
  std::span<const Row> rows_;
  const std::vector<char>* takes_part_;
  TimeMeans meaning_;
  std::vector<double> stack_;
  std::string why_not_;
  bool unmeasured_ = false;
  std::vector<std::unordered_map<std::size_t, Evaluated>> found_;  // [selection][what was asked]
};

}  // namespace collsim
