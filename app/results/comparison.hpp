// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "app/results/results.hpp"

namespace collsim {

// What a row that was to be measured says about its prediction.
//   unmeasured   nothing, and CaseResult::not_measured says why
//   wrong_data   nothing: the run gave wrong results
//   too_few_runs nothing: it takes three to see how far they scatter
//   noisy        nothing: the runs scatter too much
//   beyond       it is off by more than is allowed
//   good         it is not
enum class RowVerdict : std::uint8_t { unmeasured, wrong_data, too_few_runs, noisy, beyond, good };
[[nodiscard]] RowVerdict verdict_of(const CaseResult& row, std::optional<double> max_error);

// All rows together.
struct ComparisonCounts {
  std::size_t rows = 0;
  std::size_t unmeasured = 0, wrong_data = 0, too_few_runs = 0, noisy = 0, beyond = 0, good = 0;
  // Of unmeasured: a run that was begun and did not end as it should, or must not begin.
  std::size_t broken = 0;
  // Of those beyond and good, without sign; nothing when there are none.
  std::optional<double> median_error, worst_error;

  [[nodiscard]] std::size_t measured() const { return rows - unmeasured; }
  [[nodiscard]] std::size_t judged() const { return beyond + good; }
};
[[nodiscard]] ComparisonCounts count_verdicts(const Results& results);

}  // namespace collsim
