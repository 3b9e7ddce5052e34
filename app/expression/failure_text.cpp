// SPDX-License-Identifier: Apache-2.0
#include "app/expression/failure_text.hpp"

#include <algorithm>

#include "app/json/screen_text.hpp"
#include "app/json/write_json.hpp"
#include "app/results/row.hpp"

namespace collsim {

namespace {

// The point of the sweep, without what is the same for the whole group.
std::string point_text(const Expectation& expectation, const Row& row) {
  const Grid& grid = *expectation.grid;
  std::string text;
  for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
    const auto& collapsed = expectation.collapsed;
    if (std::find(collapsed.begin(), collapsed.end(), axis) != collapsed.end()) continue;
    const std::size_t end = std::min(grid.first_path(axis) + grid.paths(axis), row.params.size());
    for (std::size_t i = grid.first_path(axis); i < end; ++i) {
      const auto& [path, value] = row.params[i];
      text += text.empty() ? "" : ", ";
      text += path + " = " + shortened(value.is_string() ? value.string() : to_json(value, -1));
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

}  // namespace

std::string failure_text(const Expectation& expectation, const Row& row,
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

}  // namespace collsim
