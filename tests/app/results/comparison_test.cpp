// SPDX-License-Identifier: Apache-2.0
#include "app/results/results.hpp"

#include <gtest/gtest.h>

#include "tests/app/study/measuring.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

// Predicted 10 ms.
CaseResult row_of(std::optional<Measured> measured) {
  CaseResult row;
  row.time = milliseconds(10);
  row.ranks = 2;
  row.measured = std::move(measured);
  return row;
}

CaseResult none(NoMeasurement::Why why) {
  CaseResult row = row_of(std::nullopt);
  row.not_measured = NoMeasurement{why, "a reason"};
  return row;
}

TEST(Comparison, ARowIsJudgedByWhatCanBeHeldAgainstIt) {
  EXPECT_EQ(verdict_of(row_of(measured_with(0.01)), 0.05), RowVerdict::good);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.011)), 0.05), RowVerdict::beyond);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.009)), 0.05), RowVerdict::beyond);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.011)), std::nullopt), RowVerdict::good);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.011, 0.2)), 0.05), RowVerdict::noisy);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.01, 0.2, DataVerdict::wrong)), 0.05),
            RowVerdict::wrong_data);
  EXPECT_EQ(verdict_of(row_of(measured_with(0.01, 0.01, DataVerdict::unchecked)), 0.05),
            RowVerdict::good);
  EXPECT_EQ(verdict_of(none(NoMeasurement::Why::stuck), 0.05), RowVerdict::unmeasured);
  EXPECT_EQ(verdict_of(row_of(std::nullopt), 0.05), RowVerdict::unmeasured);
  EXPECT_EQ(verdict_of(row_of(measured_with(0)), 0.05), RowVerdict::beyond);
}

TEST(Comparison, TheErrorIsThePredictionsAgainstTheMeasurement) {
  EXPECT_DOUBLE_EQ(*row_of(measured_with(0.008)).error(), 0.25);
  EXPECT_DOUBLE_EQ(*row_of(measured_with(0.0125)).error(), -0.2);
  EXPECT_FALSE(row_of(measured_with(0)).error());
  EXPECT_FALSE(row_of(std::nullopt).error());
}

TEST(Comparison, NoiseBeginsBeyondFivePercent) {
  EXPECT_EQ(measured_with(0.01, 0.049).why_no_verdict(), "");
  expect_text(measured_with(0.01, 0.12).why_no_verdict(), "too noisy: spread 12%");
}

// However well the time agrees: a fault of the schedule would hide behind it as well.
TEST(Comparison, APacedRunThatLagsByMoreThanAPercentIsNotJudged) {
  Measured measured = measured_with(0.01);
  measured.lag_s = 0.0001;
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::good);
  measured.lag_s = 0.00031;
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::noisy);
  expect_text(measured.why_no_verdict(), "too noisy: lag 4%");
}

// Links that are never busy or have no latency make runs quick, not late.
TEST(Comparison, APunctualRunThatIsWrongIsJudged) {
  Measured measured = measured_with(0.005);
  measured.lag_s = 0.00004;
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::beyond);
}

TEST(Comparison, WhatTheBackendDoubtsIsNotJudged) {
  Measured measured = measured_with(0.01);
  measured.doubt = "the clocks drifted";
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::noisy);
  expect_text(measured.why_no_verdict(), "not judged: the clocks drifted");
}

TEST(Comparison, AnotherMachineThanPredictedIsNotJudged) {
  Measured measured = measured_with(0.01);
  measured.doubt = "threads, not GPUs";
  measured.is_elsewhere = true;
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::noisy);
  expect_text(measured.why_no_verdict(), "not judged: threads, not GPUs");
}

TEST(Comparison, OneOrTwoRunsGiveNoVerdict) {
  Measured measured = measured_with(0.011, 0);
  for (const int few : {0, 1, 2}) {
    measured.iterations = few;
    EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::too_few_runs);
    expect_text(measured.why_no_verdict(), "not judged: fewer than 3 runs");
  }
  measured.iterations = 3;
  EXPECT_EQ(verdict_of(row_of(measured), 0.05), RowVerdict::beyond);
}

TEST(Comparison, CountsAllRowsAndTakesErrorsOfThoseJudged) {
  Results results;
  results.comparison.emplace().max_error = 0.15;
  results.rows = {row_of(measured_with(0.01)),                           // 0
                  row_of(measured_with(0.0125)),                         // 20%
                  row_of(measured_with(0.0100 / 1.1)),                   // 10%
                  row_of(measured_with(0.5, 0.3)),                       // noisy, 98%
                  row_of(measured_with(0.5, 0.01, DataVerdict::wrong)),  // wrong
                  none(NoMeasurement::Why::unavailable),
                  none(NoMeasurement::Why::stuck)};
  const ComparisonCounts counts = count_verdicts(results);
  EXPECT_EQ(counts.rows, 7U);
  EXPECT_EQ(counts.good, 2U);
  EXPECT_EQ(counts.beyond, 1U);
  EXPECT_EQ(counts.judged(), 3U);
  EXPECT_EQ(counts.noisy, 1U);
  EXPECT_EQ(counts.wrong_data, 1U);
  EXPECT_EQ(counts.unmeasured, 2U);
  EXPECT_EQ(counts.measured(), 5U);
  EXPECT_EQ(counts.broken, 1U);
  EXPECT_NEAR(*counts.median_error, 0.1, 1e-9);
  EXPECT_NEAR(*counts.worst_error, 0.2, 1e-9);
}

TEST(Comparison, WithoutAVerdictThereAreNoErrors) {
  Results results;
  results.comparison.emplace();
  results.rows = {row_of(measured_with(0.01, 0.5)), none(NoMeasurement::Why::too_large)};
  const ComparisonCounts counts = count_verdicts(results);
  EXPECT_FALSE(counts.median_error);
  EXPECT_FALSE(counts.worst_error);
  EXPECT_EQ(counts.broken, 0U);
}

}  // namespace
}  // namespace collsim::testing
