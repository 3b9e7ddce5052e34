// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/value.hpp"
#include "app/results/case_result.hpp"

namespace collsim {

// Something a user should know about the run, in plain words, with what to do about it.
struct Warning {
  std::string code;  // sweep-changes-nothing, small-chunks, ...
  std::string message;
  SourceRange place;
};

// How the rows were measured, and how far a prediction may be off (collsim validate).
struct Comparison {
  std::string backend;  // host, cuda, nccl; empty: from a file
  std::string file;
  Protocol protocol = Protocol::simple;
  bool paced = false;
  bool of_averages = false;  // Measured::is_average
  int iterations = 0;
  int warmup = 0;
  std::optional<double> max_error;  // 0.15 for 15%; nothing: it may be off by anything
};

// The outcome of an expectation.
struct ExpectationOutcome {
  std::string id;
  bool ok = false;
  std::size_t checked = 0;  // rows; with argmin or argmax groups of rows
  std::size_t failed = 0;   // of these
  // Not checked, because what it needs was not measured or too noisily, and the first such reason.
  // When that is all rows, the expectation is skipped.
  std::size_t left_out = 0;
  std::string why_left_out;
  // Largest relative distance from what was expected: of `equals` from the value, of the others by
  // how far the limit was missed; 0 when none was.  1 where 0 was expected (or another word), and
  // rows without a value do not count.
  double worst = 0;
  std::string why;      // as in the file
  std::string skipped;  // why it could not be checked at all; then ok is false
  // The worst failing row in words: "collective.chunks = 16: time is 3.801 ms, expected 3.9 ms
  // within 0.1% ((K-1)*(alpha+N/B))".
  std::string failure;
};

// The answer to a scenario.  Every output (table, JSON, CSV, report, plots) is made from this
// alone.
struct Results {
  std::string file, name, title;
  std::string description;        // "chain broadcast, 64 MiB, 8 ranks, ...": what all rows share
  JsonValue scenario;             // resolved
  std::vector<std::string> axes;  // paths of the sweep, zipped ones too
  bool complete = true;           // false: interrupted, some points are missing
  std::size_t points = 0;         // of the scenario; rows.size() when complete
  std::vector<CaseResult> rows;   // in the order of the sweep
  std::optional<Comparison> comparison;  // when rows were measured, or should have been
  std::vector<ExpectationOutcome> expect;
  std::vector<Warning> warnings;
};

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
  std::size_t elsewhere = 0;  // of noisy: not on the machine that was predicted
  // Of unmeasured: a run that was begun and did not end as it should, or must not begin.
  std::size_t broken = 0;
  // Of those beyond and good, without sign; nothing when there are none.  p95: 95% of the rows are
  // not further off.
  std::optional<double> median_error, p95_error, worst_error;

  [[nodiscard]] std::size_t measured() const { return rows - unmeasured; }
  [[nodiscard]] std::size_t judged() const { return beyond + good; }
};
[[nodiscard]] ComparisonCounts count_verdicts(const Results& results);
// Of fewer, the 95th percentile is the worst row, or next to it.
inline constexpr std::size_t least_rows_for_percentiles = 20;

// A value of a sweep as people read it: {"ddp": {"bucket": "25MB"}} as "ddp bucket 25MB".
[[nodiscard]] std::string param_text(std::string_view path, const JsonValue& value);

}  // namespace collsim
