// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/expression/expression.hpp"
#include "app/json/value.hpp"
#include "app/results/case_result.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

const char* why_absent(Name name) {
  switch (name) {
    case Name::B:
      return "there is no B, because the cluster's links differ or have segments; use "
             "bottleneck_bandwidth, or a number with its unit";
    case Name::alpha:
      return "there is no alpha, because the cluster's links differ or have segments; use a number "
             "with its unit";
    case Name::L:
      return "there is no L, because the cluster's links differ or have segments; use a number "
             "with its unit";
    case Name::bottleneck_bandwidth:
      return "there is no bottleneck_bandwidth, because no link carried data";
    case Name::gives_up: return "no rank gives up";
    case Name::useful: return "the workload has no \"failures\"";
    case Name::best_interval: return "the workload has no failures with an \"mtbf\"";
    case Name::job: return "the workload has no failures with \"steps\"";
    case Name::mfu:
    case Name::hfu: return "only a step whose model is a \"transformer\" has MFU and HFU";
    case Name::memory: return "what memory this scheme needs is not known";
    default: return "no closed form applies to this case, so it has no analytic time";
  }
}

std::optional<double> of_job(Name name, const std::optional<StepResult::Job>& job) {
  if (!job) return {};
  if (name == Name::job) return job->time_s;
  return name == Name::useful ? std::optional(job->useful) : job->best_interval_s;
}

}  // namespace

Evaluator::Evaluator(const Expression& expression, const Grid& grid,
                     std::span<const CaseResult> rows, const std::vector<char>& takes_part,
                     TimeMeans meaning)
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
  if (expression_->value()) return {expression_->value(), {}};
  row_ = row;
  unmeasured_ = false;
  FormulaEvaluation evaluation(expression_->tree_, *this);
  std::optional<double> value = evaluation();
  if (value && !std::isfinite(*value)) {
    evaluation.fail(in_quotes(expression_->text()) + " is infinite: \"aggregation\" is not set");
    value.reset();
  }
  return {value, value ? std::string{} : evaluation.why_not(), !value && unmeasured_};
}

std::optional<double> Evaluator::in_row(std::size_t row, std::uint32_t node,
                                        FormulaEvaluation& evaluation) {
  if (!evaluation.spend(1)) return {};
  const std::size_t before = std::exchange(row_, row);
  const std::optional<double> value = evaluation.value(node);
  row_ = before;
  return value;
}

std::optional<double> Evaluator::name(std::uint32_t id, FormulaEvaluation& evaluation) {
  const Name name{id};
  const std::optional<double> value = look_up(name, rows_[row_], evaluation);
  if (!value || std::isfinite(*value) || name == Name::A) return value;
  evaluation.fail(in_quotes(entry_of(name).word) + " is not a finite number");
  return {};
}

std::optional<double> Evaluator::look_up(Name name, const CaseResult& row,
                                         FormulaEvaluation& evaluation) {
  const auto present = [&](const std::optional<double>& value) {
    if (!value) evaluation.fail(why_absent(name));
    return value;
  };
  switch (name) {
    case Name::K: return row.ranks;
    case Name::N: return static_cast<double>(row.size);
    case Name::S: return row.chunks;
    case Name::C: return row.channels;
    case Name::k: return row.radix;
    case Name::A: return row.aggregation ? *row.aggregation : HUGE_VAL;
    case Name::B: return present(row.B);
    case Name::alpha: return present(row.alpha);
    case Name::L: return present(row.L);
    case Name::gamma: return row.gamma;
    case Name::bound: return row.bound.seconds();
    case Name::bandwidth_bound: return row.bounds.bandwidth.seconds();
    case Name::latency_bound: return row.bounds.latency.seconds();
    case Name::compute_bound: return row.bounds.compute.seconds();
    case Name::messages: return static_cast<double>(row.messages);
    case Name::wire_bytes: return static_cast<double>(row.wire_bytes);
    case Name::bottleneck_bandwidth: return present(row.bottleneck_bandwidth);
    case Name::step: return row.time_s();
    case Name::compute: return row.step->compute_s;
    case Name::exposed: return row.step->exposed_s;
    case Name::hidden: return row.step->hidden_s;
    case Name::bubble: return row.step->bubble;
    case Name::least_timeout: return row.step->least_timeout_s();
    case Name::useful:
    case Name::best_interval:
    case Name::job: return present(of_job(name, row.step->job));
    case Name::gives_up: {
      const std::optional<std::size_t> first = row.step->first_to_give_up();
      return present(first ? row.step->ranks[*first].gives_up_s : std::nullopt);
    }
    case Name::mfu:
      return present(row.step->work ? std::optional(row.step->work->mfu) : std::nullopt);
    case Name::hfu:
      return present(row.step->work ? std::optional(row.step->work->hfu) : std::nullopt);
    case Name::memory:
      return present(row.step->memory ? std::optional(row.step->memory->most()) : std::nullopt);
    case Name::time:
    case Name::analytic:
    case Name::algbw:
    case Name::busbw:
    case Name::measured: break;
  }
  const std::optional<double> seconds = seconds_of(name, row, evaluation);
  if (!seconds || (name != Name::algbw && name != Name::busbw)) return seconds;
  const double algbw = *seconds == 0 ? 0 : static_cast<double>(row.size) / *seconds;
  return name == Name::algbw ? algbw : algbw * busbw_factor(row.operation, row.ranks);
}

// The time that is meant, or that a bandwidth is made of.
std::optional<double> Evaluator::seconds_of(Name name, const CaseResult& row,
                                            FormulaEvaluation& evaluation) {
  const bool follows = entry_of(name).follows_of();
  if (name == Name::measured || (follows && meaning_ == TimeMeans::measured))
    return measured_seconds(row, evaluation);
  if (name == Name::analytic || (follows && meaning_ == TimeMeans::analytic)) {
    if (row.analytic) return row.analytic->seconds;
    evaluation.fail(why_absent(name));
    return {};
  }
  return row.time_s();
}

std::optional<double> Evaluator::measured_seconds(const CaseResult& row,
                                                  FormulaEvaluation& evaluation) {
  const std::string why_not = row.why_no_verdict();
  if (why_not.empty()) return row.measured->times.median_s;
  evaluation.fail(why_not);
  unmeasured_ = true;
  return {};
}

std::optional<double> Evaluator::call(const FormulaNode& node, FormulaEvaluation& evaluation) {
  const ExpressionSelection& selection = expression_->selections_[node.id];
  if (selection.kind == SelectionKind::relative_error) return relative_error(node, evaluation);
  if (selection.kind == SelectionKind::idle) return idle(node, evaluation);
  if (selection.kind != SelectionKind::at) return best_known(node, evaluation);
  return in_row(grid_->moved(row_, selection.axis, selection.coordinate), node.left, evaluation);
}

std::optional<double> Evaluator::idle(const FormulaNode& node, FormulaEvaluation& evaluation) {
  const std::optional<double> rank = evaluation.value(node.left);
  if (!rank) return {};
  const auto& ranks = rows_[row_].step->ranks;
  if (*rank == std::floor(*rank) && *rank >= 0 && *rank < static_cast<double>(ranks.size()))
    return ranks[static_cast<std::size_t>(*rank)].idle_s;
  evaluation.fail(fmt::format("there is no rank {:g} of {}", *rank, ranks.size()));
  return {};
}

std::optional<double> Evaluator::relative_error(const FormulaNode& node,
                                                FormulaEvaluation& evaluation) {
  const TimeMeans meaning = meaning_;
  if (meaning == TimeMeans::measured) meaning_ = TimeMeans::simulated;
  const std::optional<double> predicted = evaluation.value(node.left);
  meaning_ = TimeMeans::measured;
  const std::optional<double> measured = predicted ? evaluation.value(node.left) : std::nullopt;
  meaning_ = meaning;
  if (!measured) return {};
  const double error = std::abs(*predicted - *measured) / std::abs(*measured);
  if (std::isfinite(error)) return error;
  evaluation.fail("the measured value is 0, so no relative error exists");
  return {};
}

std::optional<double> Evaluator::best_known(const FormulaNode& node,
                                            FormulaEvaluation& evaluation) {
  const std::size_t start = grid_->moved(row_, expression_->selections_[node.id].axis, 0);
  if (evaluation.in_sum()) return best(node, start, evaluation);
  // relative_error asks twice, with another meaning of time.
  const std::size_t asked = start + grid_->points() * static_cast<std::size_t>(meaning_);
  const auto known = found_[node.id].find(asked);
  if (known != found_[node.id].end()) {
    evaluation.fail(known->second.why_not);
    unmeasured_ = known->second.unmeasured;
    return known->second.value;
  }
  const std::optional<double> value = best(node, start, evaluation);
  const std::string why_not = value ? std::string{} : evaluation.why_not();
  found_[node.id].emplace(asked, Evaluated{value, why_not, !value && unmeasured_});
  return value;
}

std::optional<double> Evaluator::best(const FormulaNode& node, std::size_t start,
                                      FormulaEvaluation& evaluation) {
  const ExpressionSelection& selection = expression_->selections_[node.id];
  const bool smallest = selection.kind == SelectionKind::argmin;
  std::optional<double> best_metric;
  std::size_t best_at = 0;
  for (std::size_t i = 0; i < grid_->size(selection.axis); ++i) {
    const std::size_t row = grid_->moved(start, selection.axis, i);
    if ((*takes_part_)[row] == 0) continue;
    const std::optional<double> metric = in_row(row, node.left, evaluation);
    if (!metric) {
      const bool not_asked_for = unmeasured_ && !rows_[row].measured && !rows_[row].not_measured;
      if (not_asked_for) return {};
      for (const auto& [path, value] : rows_[row].params)
        if (path == selection.path)
          evaluation.fail(evaluation.why_not() + " at " + path + " = " + (plain_text(value)));
      return {};
    }
    if (best_metric && !(smallest ? *metric < *best_metric : *metric > *best_metric)) continue;
    best_metric = metric;
    best_at = i;
  }
  if (best_metric) return selection.values[best_at];
  evaluation.fail("\"when\" leaves no row to compare along " + selection.path);
  return {};
}

}  // namespace collsim
