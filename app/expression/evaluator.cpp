// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "app/expression/arithmetic.hpp"
#include "app/expression/expression.hpp"
#include "app/json/write_json.hpp"
#include "app/results/row.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

using Code = ExpressionStep::Code;

bool takes_two(Code code) {
  switch (code) {
    case Code::add:
    case Code::subtract:
    case Code::multiply:
    case Code::divide:
    case Code::power:
    case Code::minimum:
    case Code::maximum: return true;
    default: return false;
  }
}

const char* why_absent(Name name) {
  switch (name) {
    case Name::B:
      return "there is no B, because the cluster's links differ; use bottleneck_bandwidth, or a "
             "number with its unit";
    case Name::alpha:
      return "there is no alpha, because the cluster's links differ; use a number with its unit";
    case Name::L:
      return "there is no L, because the cluster's links differ; use a number with its unit";
    case Name::gamma: return "there is no gamma, because model.reduce_bandwidth is absent";
    case Name::bottleneck_bandwidth:
      return "there is no bottleneck_bandwidth, because no link carried data";
    default: return "no closed form applies to this case, so that there is no analytic time";
  }
}

}  // namespace

Evaluator::Evaluator(const Expression& expression, const Grid& grid, std::span<const Row> rows,
                     const std::vector<char>& takes_part, TimeMeans meaning)
    : expression_(&expression),
      grid_(&grid),
      rows_(rows),
      takes_part_(&takes_part),
      meaning_(meaning),
      found_(expression.selections_.size()) {
  COLLSIM_CHECK(rows.size() == grid.points() && takes_part.size() == rows.size(),
                "expressions need the rows of all points of the sweep, in order");
}

Evaluated Evaluator::operator()(std::size_t row) {
  if (expression_->value_) return {expression_->value_, {}};
  stack_.clear();
  why_not_.clear();
  unmeasured_ = false;
  const std::optional<double> value = run(expression_->program_, row);
  return {value, value ? std::string{} : why_not_, !value && unmeasured_};
}

std::optional<double> Evaluator::run(const ExpressionProgram& program, std::size_t row) {
  for (const ExpressionStep& step : program) {
    if (takes_two(step.code)) {
      const double right = stack_.back();
      stack_.pop_back();
      const double left = stack_.back();
      stack_.back() = applied(step.code, left, right);
      if (std::isfinite(stack_.back())) continue;
      explain_not_finite(step, left, right);
      return {};
    }
    const std::optional<double> value = one_step(step, row);
    if (!value) return {};
    stack_.push_back(*value);
  }
  const double result = stack_.back();
  stack_.pop_back();
  return result;
}

// A step that takes at most one number, and its result.
std::optional<double> Evaluator::one_step(const ExpressionStep& step, std::size_t row) {
  switch (step.code) {
    case Code::number: return step.number;
    case Code::selection: return select(step.selection, row);
    case Code::measurement: return relative_error(step.selection, row);
    case Code::name: {
      const std::optional<double> value = look_up(step.name, rows_[row]);
      if (!value || std::isfinite(*value)) return value;
      why_not_ = in_quotes(entry_of(step.name).word) + " is not a finite number";
      return {};
    }
    default: break;
  }
  const double operand = stack_.back();
  stack_.pop_back();
  const double result = applied(step.code, operand);
  if (std::isfinite(result)) return result;
  explain_not_finite(step, operand, 0);
  return {};
}

void Evaluator::explain_not_finite(const ExpressionStep& step, double left, double right) {
  const bool by_zero = (step.code == Code::divide && right == 0) ||
                       (step.code == Code::power && left == 0 && right < 0);
  if (by_zero)
    why_not_ = "division by zero";
  else if (step.code == Code::sqrt)
    why_not_ = "square root of a negative number";
  else if (step.code == Code::log2)
    why_not_ = left == 0 ? "logarithm of zero" : "logarithm of a negative number";
  else if (step.code == Code::power && left < 0 && right != std::floor(right))
    why_not_ = "power of a negative number with an exponent that is not whole";
  else
    why_not_ = "a number beyond 1.8e308";
  why_not_ +=
      " in " +
      in_quotes(std::string_view(expression_->text_).substr(step.begin, step.end - step.begin));
}

std::optional<double> Evaluator::look_up(Name name, const Row& row) {
  const auto present = [&](const std::optional<double>& value) {
    if (!value) why_not_ = why_absent(name);
    return value;
  };
  switch (name) {
    case Name::K: return row.ranks;
    case Name::N: return static_cast<double>(row.size);
    case Name::S: return row.chunks;
    case Name::C: return row.channels;
    case Name::B: return present(row.B);
    case Name::alpha: return present(row.alpha);
    case Name::L: return present(row.L);
    case Name::gamma: return present(row.gamma);
    case Name::bound: return row.bound.seconds();
    case Name::bandwidth_bound: return row.bounds.bandwidth.seconds();
    case Name::latency_bound: return row.bounds.latency.seconds();
    case Name::compute_bound: return row.bounds.compute.seconds();
    case Name::messages: return static_cast<double>(row.messages);
    case Name::wire_bytes: return static_cast<double>(row.wire_bytes);
    case Name::bottleneck_bandwidth: return present(row.bottleneck_bandwidth);
    case Name::time:
    case Name::analytic:
    case Name::algbw:
    case Name::busbw:
    case Name::measured: break;
  }
  const std::optional<double> seconds = seconds_of(name, row);
  if (!seconds || (name != Name::algbw && name != Name::busbw)) return seconds;
  const double algbw = *seconds == 0 ? 0 : static_cast<double>(row.size) / *seconds;
  return name == Name::algbw ? algbw : algbw * busbw_factor(row.operation, row.ranks);
}

// The time that is meant, or that a bandwidth is made of.
std::optional<double> Evaluator::seconds_of(Name name, const Row& row) {
  const bool follows = entry_of(name).follows_of();
  if (name == Name::measured || (follows && meaning_ == TimeMeans::measured))
    return measured_seconds(row);
  if (name == Name::analytic || (follows && meaning_ == TimeMeans::analytic)) {
    if (row.analytic) return row.analytic->seconds;
    why_not_ = why_absent(name);
    return {};
  }
  return row.time_s();
}

std::optional<double> Evaluator::measured_seconds(const Row& row) {
  why_not_ = row.why_no_verdict();
  if (why_not_.empty()) return row.measured->times.median_s;
  unmeasured_ = true;
  return {};
}

std::optional<double> Evaluator::relative_error(std::size_t number, std::size_t row) {
  const ExpressionProgram& metric = expression_->errors_[number];
  const TimeMeans meaning = meaning_;
  if (meaning == TimeMeans::measured) meaning_ = TimeMeans::simulated;
  const std::optional<double> predicted = run(metric, row);
  meaning_ = TimeMeans::measured;
  const std::optional<double> measured = predicted ? run(metric, row) : std::nullopt;
  meaning_ = meaning;
  if (!measured) return {};
  const double error = std::abs(*predicted - *measured) / std::abs(*measured);
  if (std::isfinite(error)) return error;
  why_not_ = "what was measured is 0, which errors are not relative to";
  return {};
}

std::optional<double> Evaluator::select(std::size_t number, std::size_t row) {
  const ExpressionSelection& selection = expression_->selections_[number];
  if (selection.kind == ExpressionSelection::Kind::at)
    return run(selection.metric, grid_->moved(row, selection.axis, selection.coordinate));
  const std::size_t start = grid_->moved(row, selection.axis, 0);
  // relative_error asks twice, with another meaning of time.
  const std::size_t asked = start + grid_->points() * static_cast<std::size_t>(meaning_);
  const auto known = found_[number].find(asked);
  if (known != found_[number].end()) {
    why_not_ = known->second.why_not;
    unmeasured_ = known->second.unmeasured;
    return known->second.value;
  }
  const std::optional<double> value = best(number, start);
  found_[number].emplace(asked,
                         Evaluated{value, value ? std::string{} : why_not_, !value && unmeasured_});
  return value;
}

std::optional<double> Evaluator::best(std::size_t number, std::size_t start) {
  const ExpressionSelection& selection = expression_->selections_[number];
  const bool smallest = selection.kind == ExpressionSelection::Kind::argmin;
  std::optional<double> best_metric;
  std::size_t best_at = 0;
  for (std::size_t i = 0; i < grid_->size(selection.axis); ++i) {
    const std::size_t row = grid_->moved(start, selection.axis, i);
    if ((*takes_part_)[row] == 0) continue;
    const std::optional<double> metric = run(selection.metric, row);
    if (!metric) {
      const bool nobody_asked = unmeasured_ && !rows_[row].measured && !rows_[row].not_measured;
      if (nobody_asked) return {};
      for (const auto& [path, value] : rows_[row].params)
        if (path == selection.path)
          why_not_ +=
              " at " + path + " = " + (value.is_string() ? value.string() : to_json(value, -1));
      return {};
    }
    if (best_metric && !(smallest ? *metric < *best_metric : *metric > *best_metric)) continue;
    best_metric = metric;
    best_at = i;
  }
  if (best_metric) return selection.values[best_at];
  why_not_ = "\"when\" leaves no row to compare along " + selection.path;
  return {};
}

}  // namespace collsim
