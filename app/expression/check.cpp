// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "app/expression/expectation.hpp"
#include "app/expression/expectation_internal.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/results/case_result.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// How one row (or group) stands to an expectation.
struct Judgement {
  std::size_t row = 0;
  bool ok = false;
  double metric = 0;
  std::vector<double> limits{};
  double distance = 0;      // relative
  std::string why_not{};    // there is no value, and why
  bool unmeasured = false;  // ... which is not a failure

  // Which failure is shown: what has no value comes before what is far off.
  [[nodiscard]] double rank() const {
    return why_not.empty() ? distance : std::numeric_limits<double>::infinity();
  }
};

// The point of the sweep, without what is the same for the whole group.
std::string point_text(const Expectation& expectation, const CaseResult& row) {
  const Grid& grid = *expectation.grid;
  std::string text;
  for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
    const auto& collapsed = expectation.collapsed;
    if (std::find(collapsed.begin(), collapsed.end(), axis) != collapsed.end()) continue;
    const std::size_t end = std::min(grid.first_path(axis) + grid.paths(axis), row.params.size());
    for (std::size_t i = grid.first_path(axis); i < end; ++i) {
      const auto& [path, value] = row.params[i];
      text += text.empty() ? "" : ", ";
      text += path + " = " + shortened(plain_text(value));
    }
  }
  return text.empty() ? text : text + ": ";
}

// The metric and its limits, written with enough digits to tell the metric from each limit.
std::vector<std::string> told_apart(const Expectation& expectation, const Judgement& judgement) {
  Units units = expectation.metric->units();
  for (const Expression& limit : expectation.limits)
    if (expectation.metric->is_zero()) units = limit.units();
  constexpr int fewest_digits = 4, all_digits = 17;
  std::vector<std::string> texts;
  for (int digits = fewest_digits; digits <= all_digits; ++digits) {
    texts = {value_text(judgement.metric, units, digits)};
    bool apart = true;
    for (const double limit : judgement.limits) {
      texts.push_back(value_text(limit, units, digits));
      apart &= texts.back() != texts.front() || limit == judgement.metric;
    }
    if (apart) break;
  }
  return texts;
}

// " (N/B)" after the value of an expression; nothing after what is written as it is shown.
std::string source_of(const Expectation& expectation) {
  std::string text;
  for (const Expression& limit : expectation.limits)
    if (!limit.is_literal()) text += (text.empty() ? "" : ", ") + limit.text();
  return text.empty() ? text : " (" + text + ")";
}

// "collective.chunks = 16: time is 3.801 ms, expected 3.9 ms within 0.1% ((K-1)*(alpha+N/B))"; with
// as many digits as it takes to see the difference.
std::string failure_text(const Expectation& expectation, const CaseResult& row,
                         const Judgement& judgement) {
  const std::string point = point_text(expectation, row);
  if (!judgement.why_not.empty()) return point + judgement.why_not;
  std::string text = point + expectation.metric->text();
  if (expectation.meaning == Evaluator::TimeMeans::analytic) text += " (analytic)";
  const bool says_so = expectation.metric->needs_measurement();
  if (expectation.meaning == Evaluator::TimeMeans::measured && !says_so) text += " (measured)";
  if (expectation.word) {
    const auto& words = expectation.metric->word()->words;
    return text + " is " + words[static_cast<std::size_t>(judgement.metric)].written +
           ", expected " + *expectation.word;
  }
  const std::vector<std::string> values = told_apart(expectation, judgement);
  text += " is " + values[0] + ", expected ";
  switch (expectation.kind) {
    case Expectation::Kind::equals: text += values[1]; break;
    case Expectation::Kind::at_least: text += "at least " + values[1]; break;
    case Expectation::Kind::at_most: text += "at most " + values[1]; break;
    case Expectation::Kind::between: text += "between " + values[1] + " and " + values[2]; break;
  }
  if (!expectation.within_text.empty()) text += " within " + expectation.within_text;
  return text + source_of(expectation);
}

// Largest relative distance of a value from what was expected that a results file can hold.
double relative(double distance, double expected) {
  if (distance == 0) return 0;
  if (expected == 0) return 1;
  return std::min(distance / std::abs(expected), std::numeric_limits<double>::max());
}

// Checks one expectation in the rows of a study.
class Check {
 public:
  Check(const Expectation& expectation, std::span<const CaseResult> rows)
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
  std::span<const CaseResult> rows_;
  std::vector<char> takes_part_;
  Evaluator metric_;
  std::vector<Evaluator> limits_;
  std::optional<Evaluator> within_;
};

}  // namespace

std::vector<ExpectationOutcome> Expectations::check(std::span<const CaseResult> rows) const {
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
