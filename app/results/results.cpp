// SPDX-License-Identifier: Apache-2.0
#include "app/results/results.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace collsim {
namespace {

bool is_broken(const NoMeasurement& none) {
  using Why = NoMeasurement::Why;
  return none.why == Why::bad_schedule || none.why == Why::stuck || none.why == Why::failed;
}

}  // namespace

RowVerdict verdict_of(const CaseResult& row, std::optional<double> max_error) {
  if (!row.measured) return RowVerdict::unmeasured;
  if (row.measured->data == DataVerdict::wrong) return RowVerdict::wrong_data;
  if (row.measured->has_too_few_runs()) return RowVerdict::too_few_runs;
  if (row.measured->is_noisy()) return RowVerdict::noisy;
  // A prediction of something for what took no time at all is off by any measure.
  const double error = row.error() ? std::abs(*row.error()) : (row.time > Time{} ? INFINITY : 0);
  return max_error && error > *max_error ? RowVerdict::beyond : RowVerdict::good;
}

ComparisonCounts count_verdicts(const Results& results) {
  ComparisonCounts counts;
  counts.rows = results.rows.size();
  std::vector<double> errors;
  for (const CaseResult& row : results.rows) {
    switch (verdict_of(row, results.comparison ? results.comparison->max_error : std::nullopt)) {
      case RowVerdict::unmeasured:
        ++counts.unmeasured;
        counts.broken += row.not_measured && is_broken(*row.not_measured) ? 1 : 0;
        continue;
      case RowVerdict::wrong_data: ++counts.wrong_data; continue;
      case RowVerdict::too_few_runs: ++counts.too_few_runs; continue;
      case RowVerdict::noisy:
        ++counts.noisy;
        counts.elsewhere += row.measured->is_elsewhere ? 1 : 0;
        continue;
      case RowVerdict::beyond: ++counts.beyond; break;
      case RowVerdict::good: ++counts.good; break;
    }
    if (row.error()) errors.push_back(std::abs(*row.error()));
  }
  if (errors.empty()) return counts;
  std::sort(errors.begin(), errors.end());
  counts.worst_error = errors.back();
  counts.p95_error = errors[(95 * errors.size() + 99) / 100 - 1];
  counts.median_error = summary_of(std::move(errors)).median_s;
  return counts;
}

std::string param_text(std::string_view path, const JsonValue& value) {
  if (path != "workload" || !value.is_object()) return plain_text(value);
  std::string text;
  for (const JsonValue::Member& member : value.members()) {
    text += (text.empty() ? "" : ", ") + member.key;
    if (!member.value.is_object()) continue;
    for (const JsonValue::Member& option : member.value.members())
      text += " " + option.key + " " + plain_text(option.value);
  }
  return text;
}

}  // namespace collsim
