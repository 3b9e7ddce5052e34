// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/expression/expectation.hpp"
#include "app/expression/expectation_parts.hpp"
#include "app/expression/failure_text.hpp"
#include "app/results/row.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

// Largest relative distance of a value from what was expected that a results file can hold.
double relative(double distance, double expected) {
  if (distance == 0) return 0;
  if (expected == 0) return 1;
  return std::min(distance / std::abs(expected), std::numeric_limits<double>::max());
}

// Checks one expectation in the rows of a study.
class Check {
 public:
  Check(const Expectation& expectation, std::span<const Row> rows)
      : expectation_(&expectation),
        rows_(rows),
        takes_part_(expectation.condition.matches(*expectation.grid)),
        metric_(evaluator(*expectation.metric, expectation.meaning)) {
    for (const Expression& limit : expectation.limits)
      limits_.push_back(evaluator(limit, Evaluator::TimeMeans::simulated));
    if (expectation.within)
      within_ = evaluator(*expectation.within, Evaluator::TimeMeans::simulated);
  }

  ExpectationOutcome run() {
    ExpectationOutcome outcome;
    outcome.id = expectation_->id;
    outcome.why = expectation_->why;
    if (std::find(takes_part_.begin(), takes_part_.end(), 1) == takes_part_.end()) {
      outcome.failure = "no row matches when " + expectation_->condition.text;
      return outcome;
    }
    const bool grouped = !expectation_->collapsed.empty();
    std::vector<char> group_seen(grouped ? rows_.size() : 0);
    std::optional<Judgement> worst;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (takes_part_[row] == 0) continue;
      if (grouped && std::exchange(group_seen[first_of_group(row)], 1) != 0) continue;
      Judgement judgement = judge(row);
      if (judgement.unmeasured) {
        if (outcome.left_out++ == 0) outcome.why_left_out = judgement.why_not;
        continue;
      }
      ++outcome.checked;
      outcome.worst = std::max(outcome.worst, judgement.distance);
      if (judgement.ok) continue;
      ++outcome.failed;
      if (!worst || judgement.rank() > worst->rank()) worst = std::move(judgement);
    }
    if (outcome.checked == 0) {
      outcome.skipped = outcome.why_left_out;
      return outcome;
    }
    outcome.ok = outcome.failed == 0;
    if (worst) outcome.failure = failure_text(*expectation_, rows_[worst->row], *worst);
    return outcome;
  }

 private:
  Evaluator evaluator(const Expression& expression, Evaluator::TimeMeans meaning) {
    return {expression, *expectation_->grid, rows_, takes_part_, meaning};
  }

  [[nodiscard]] std::size_t first_of_group(std::size_t row) const {
    for (const std::size_t axis : expectation_->collapsed)
      row = expectation_->grid->moved(row, axis, 0);
    return row;
  }

  Judgement judge(std::size_t row) {
    Judgement judgement{.row = row};
    const auto value_of = [&](Evaluator& evaluate) {
      Evaluated result = evaluate(row);
      if (!result.value && judgement.why_not.empty()) {
        judgement.why_not = result.why_not;
        judgement.unmeasured = result.unmeasured;
      }
      return result.value.value_or(0);
    };
    judgement.metric = value_of(metric_);
    for (Evaluator& limit : limits_) judgement.limits.push_back(value_of(limit));
    const std::optional<double> within = within_ ? std::optional(value_of(*within_)) : std::nullopt;
    if (!judgement.why_not.empty()) return judgement;
    if (expectation_->word) {
      judgement.ok = expectation_->word_fits[static_cast<std::size_t>(judgement.metric)] != 0;
      judgement.distance = judgement.ok ? 0 : 1;
      return judgement;
    }
    compare(judgement, within);
    return judgement;
  }

  void compare(Judgement& judgement, std::optional<double> within) const {
    using Kind = Expectation::Kind;
    const double metric = judgement.metric;
    const auto allowed = [&](double limit) {
      return within ? *within : expectation_->tolerance * std::abs(limit);
    };
    const double first = judgement.limits.front(), last = judgement.limits.back();
    if (expectation_->kind == Kind::equals) {
      judgement.ok = std::abs(metric - first) <= allowed(first);
      judgement.distance = relative(std::abs(metric - first), first);
      return;
    }
    const bool below = expectation_->kind != Kind::at_most && first - metric > allowed(first);
    const bool above = expectation_->kind != Kind::at_least && metric - last > allowed(last);
    judgement.ok = !below && !above;
    if (below) judgement.distance = relative(first - metric, first);
    if (above) judgement.distance = relative(metric - last, last);
  }

  const Expectation* expectation_;
  std::span<const Row> rows_;
  std::vector<char> takes_part_;
  Evaluator metric_;
  std::vector<Evaluator> limits_;
  std::optional<Evaluator> within_;
};

}  // namespace

std::vector<ExpectationOutcome> Expectations::check(std::span<const Row> rows) const {
  std::vector<ExpectationOutcome> outcomes;
  if (!all_) return outcomes;
  for (const Expectation& expectation : *all_) {
    if (rows.empty()) {
      outcomes.push_back({.id = expectation.id,
                          .why = expectation.why,
                          .skipped = {},
                          .failure = "there are no rows to check"});
      continue;
    }
    outcomes.push_back(Check(expectation, rows).run());
  }
  return outcomes;
}

}  // namespace collsim
