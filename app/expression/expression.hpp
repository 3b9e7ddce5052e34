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

#include "app/expression/names.hpp"
#include "app/expression/scenario_facts.hpp"
#include "collectives/cost/formula_language.hpp"

namespace collsim {

struct CaseResult;

// The language of expectations: "(K-1) * (alpha + N/B)", "argmin(time, S)", "0.9 * 25GB/s".  It is
// that of formulas (collectives/cost/formula_language.hpp), so that a formula that "collsim
// explain" prints can stand in an expectation (unless it is a sentence: "sum over hops of ..."),
// and more:
//
// Numbers     1  2.5  1e3; 5% is 0.05; with the units of scenario files, and ps: 2.5ms  64MiB
//             25GB/s  "5 us"
// Symbols     K  ranks of the group             N      bytes: what nccl-tests calls size
//             S  chunks                         C      channels
//             k  collective.radix               A      collective.aggregation; infinite without
//             B  bandwidth, bytes/s             alpha  startup of a message, s
//             L  latency of a link, s           gamma  1 / model.reduce_bandwidth, s/byte, or 0
//             Also ranks, size, chunks, channels for K, N, S, C.  B, alpha and L exist when the
//             cluster has one "link", and are what it says before links_override; L is the latency
//             from rank to rank where that is the same for all, as at a switch (two links).
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
//             idle(rank)            s: of a training step, for how long this rank neither works nor
//                                   has a collective under way
//             An axis is a swept path, the symbol it sets (S for collective.chunks), or its last
//             name if only one swept path ends in it.  Paths that are zipped are one axis.
//
// Everything has a unit, which is checked before anything runs.
enum class SelectionKind : std::uint8_t { argmin, argmax, at, relative_error, idle };

// argmin, argmax or at: an inner expression in the rows along one axis; or relative_error of it; or
// idle of the rank that it is.
struct ExpressionSelection {
  SelectionKind kind = SelectionKind::argmin;
  std::size_t axis = 0;
  std::string path;               // as the sweep calls it
  std::size_t coordinate = 0;     // of at
  std::vector<double> values;     // of argmin: for each point of the axis; of words their number
  std::vector<Comparable> words;  // of argmin over words
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

  [[nodiscard]] const std::string& text() const { return tree_.text; }
  [[nodiscard]] const Units& units() const { return tree_.root.units; }
  [[nodiscard]] bool is_zero() const { return tree_.root.zero; }  // a bare 0, which fits all units
  [[nodiscard]] bool is_percentage() const { return tree_.root.percent; }  // just "5%"
  // The value when no row matters.
  [[nodiscard]] const std::optional<double>& value() const { return tree_.root.value; }
  [[nodiscard]] bool is_literal() const { return tree_.nodes.size() == 1 && value(); }

  // Not null: the value is a word (argmin over algorithms), and evaluate() gives its number among
  // the words there.
  [[nodiscard]] const ExpressionSelection* word() const;

  [[nodiscard]] bool mentions(Name name) const;
  [[nodiscard]] bool follows_of() const;  // mentions time, algbw or busbw
  [[nodiscard]] bool needs_measurement() const;
  // Axes that argmin or argmax collapses: all their rows have one value together.
  [[nodiscard]] std::vector<std::size_t> collapsed_axes() const;
  // The first part, if any, that has another value for each point of an axis.
  [[nodiscard]] std::optional<std::string_view> part_varying_along(std::size_t axis,
                                                                   const Scenario& scenario) const;

 private:
  // `steady`: definitions that were looked through already, and do not vary.
  [[nodiscard]] const FormulaNode* varying_along(std::uint32_t node, std::size_t axis,
                                                 const Scenario& scenario,
                                                 std::vector<char>& steady) const;
  friend class Evaluator;

  FormulaTree tree_;
  std::vector<ExpressionSelection> selections_;
};

struct ParsedExpression {
  std::optional<Expression> value;
  FormulaError error;  // when there is no value
};

// Evaluates one expression in rows of one study.  Total: every row gives a finite number or a
// reason.  Remembers what argmin found, so that all rows together take time in proportion to their
// number.
class Evaluator : private FormulaValues {
 public:
  enum class TimeMeans : std::uint8_t { simulated, analytic, measured };
  // rows[i] is point i of the grid; takes_part[i]: whether argmin looks at it.  All must outlive
  // this.
  Evaluator(const Expression& expression, const Grid& grid, std::span<const CaseResult> rows,
            const std::vector<char>& takes_part, TimeMeans meaning = TimeMeans::simulated);

  [[nodiscard]] Evaluated operator()(std::size_t row);

 private:
  [[nodiscard]] std::optional<double> name(std::uint32_t id,
                                           FormulaEvaluation& evaluation) override;
  [[nodiscard]] std::optional<double> call(const FormulaNode& node,
                                           FormulaEvaluation& evaluation) override;
  [[nodiscard]] std::optional<double> look_up(Name name, const CaseResult& row,
                                              FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> seconds_of(Name name, const CaseResult& row,
                                                 FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> measured_seconds(const CaseResult& row,
                                                       FormulaEvaluation& evaluation);
  std::optional<double> idle(const FormulaNode& node, FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> relative_error(const FormulaNode& node,
                                                     FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> in_row(std::size_t row, std::uint32_t node,
                                             FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> best_known(const FormulaNode& node,
                                                 FormulaEvaluation& evaluation);
  [[nodiscard]] std::optional<double> best(const FormulaNode& node, std::size_t start,
                                           FormulaEvaluation& evaluation);

  const Expression* expression_;
  const Grid* grid_;
  std::span<const CaseResult> rows_;
  const std::vector<char>* takes_part_;
  TimeMeans meaning_;
  std::size_t row_ = 0;
  bool unmeasured_ = false;
  std::vector<std::unordered_map<std::size_t, Evaluated>> found_;  // [selection][what was asked]
};

}  // namespace collsim
