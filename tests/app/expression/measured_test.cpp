// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/expression/study_fixture.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::test {
namespace {

Measured measured_at(double median_s, double spread = 0) {
  Measured measured;
  measured.iterations = 5;
  measured.backend = "host";
  measured.times = {median_s, median_s, median_s, spread};
  measured.data = DataVerdict::right;
  return measured;
}

// The chain at six chunk counts, measured to take `factor` times as long as predicted.
Study study_of(
    const std::string& expect, double factor,
    const std::function<void(CaseResult&, std::size_t)>& change = [](CaseResult&, std::size_t) {}) {
  return Study(chain_scenario(expect), [&](CaseResult& row, std::size_t point) {
    row.measured = measured_at(factor * row.time_s());
    change(row, point);
  });
}

ExpectationOutcome outcome_of(const std::string& expect, double factor) {
  return study_of(expect, factor).outcome();
}

TEST(MeasuredExpectations, RelativeErrorIsThatOfThePrediction) {
  const std::string at_most_20 =
      R"j({"metric": "relative_error(time)", "of": "measured", "at_most": "20%"})j";
  const ExpectationOutcome near = outcome_of(at_most_20, 1.25);
  EXPECT_TRUE(near.ok) << near.failure;
  EXPECT_EQ(near.checked, 6U);
  EXPECT_FALSE(outcome_of(at_most_20, 1.26).ok);
  EXPECT_TRUE(outcome_of(at_most_20, 1 / 1.19).ok);
  const ExpectationOutcome far = outcome_of(at_most_20, 0.5);
  EXPECT_EQ(far.failed, 6U);
  expect_contains(far.failure, "relative_error(time) is 1, expected at most 0.2");
}

TEST(MeasuredExpectations, RelativeErrorOfABandwidthIsThatOfTheBandwidth) {
  // Measured twice the time is half the bandwidth: predicted is off by 100%.
  EXPECT_TRUE(outcome_of(R"j({"metric": "relative_error(busbw)", "equals": 1})j", 2).ok);
  EXPECT_TRUE(outcome_of(R"j({"metric": "relative_error(time)", "equals": 0.5})j", 2).ok);
}

TEST(MeasuredExpectations, OfAnalyticTheErrorIsThatOfTheFormula) {
  const Study study =
      study_of(R"j({"metric": "relative_error(time)", "of": "analytic", "equals": 0.5})j", 2,
               [](CaseResult& row, std::size_t) { row.time = 3 * row.time; });
  EXPECT_TRUE(study.outcome().ok) << study.outcome().failure;
}

TEST(MeasuredExpectations, TheMetricsMayBeTheMeasuredOnes) {
  EXPECT_TRUE(outcome_of(R"j({"metric": "time", "of": "measured", "equals": "2*time"})j", 2).ok);
  EXPECT_TRUE(outcome_of(R"j({"metric": "measured", "equals": "2*time"})j", 2).ok);
  EXPECT_TRUE(outcome_of(R"j({"metric": "algbw", "of": "measured", "equals": "algbw/2"})j", 2).ok);
  EXPECT_TRUE(outcome_of(R"j({"metric": "N/measured", "equals": "algbw/4"})j", 4).ok);
  const ExpectationOutcome slow = outcome_of(
      R"j({"when": {"collective.chunks": 1}, "metric": "time", "of": "measured", "at_most": "1ms"})j",
      1);
  expect_text(slow.failure,
              "collective.chunks = 1: time (measured) is 18.83 ms, expected at most 1 ms");
}

TEST(MeasuredExpectations, TheBestOfWhatWasMeasuredIsFound) {
  const auto slow_where_predicted_fast = [](CaseResult& row, std::size_t point) {
    if (point == 3) row.measured = measured_at(10);
  };
  const Study study = study_of(R"j({"metric": "argmin(measured, S)", "equals": 16},
                                   {"metric": "argmin(time, S)", "of": "measured", "equals": 16},
                                   {"metric": "argmin(time, S)", "equals": 64})j",
                               1, slow_where_predicted_fast);
  for (const ExpectationOutcome& outcome : study.outcomes())
    EXPECT_TRUE(outcome.ok) << outcome.failure;
}

TEST(MeasuredExpectations, RelativeErrorMayStandInAnotherExpression) {
  EXPECT_TRUE(
      outcome_of(R"j({"metric": "at(relative_error(time), S, 4) * 2", "equals": 1})j", 2).ok);
  EXPECT_TRUE(outcome_of(R"j({"metric": "argmax(relative_error(time), S)", "equals": 1})j", 1).ok);
  expect_contains(
      mistake_of(R"j({"metric": "argmin(time, S) * relative_error(time)", "at_most": 1})j"),
      "has a different value for each collective.chunks");
}

// Time means one thing in the numerator and another in the denominator, also further in.
TEST(MeasuredExpectations, WhatArgminFindsDependsOnWhatTimeMeans) {
  const auto change = [](CaseResult& row, std::size_t point) {
    row.measured = measured_at(point == 0 ? 1e-6 : 1);
  };
  const Study study = study_of(
      R"j({"metric": "relative_error(time / time * argmin(time, S))", "equals": 63})j", 1, change);
  ASSERT_TRUE(study.diagnostics.empty()) << study.mistakes();
  EXPECT_TRUE(study.outcome().ok) << study.outcome().failure;
}

TEST(MeasuredExpectations, WhatCannotBeJudgedIsLeftOut) {
  const auto change = [](CaseResult& row, std::size_t point) {
    if (point == 1) row.measured = measured_at(99, 0.12);
    if (point == 2) {
      row.measured.reset();
      row.not_measured = NoMeasurement{NoMeasurement::Why::stuck, "rank 3 waited"};
    }
    if (point == 3) row.measured->data = DataVerdict::wrong;
  };
  const Study study = study_of(R"j({"metric": "relative_error(time)", "at_most": "1%"},
                   {"metric": "argmin(measured, S)", "equals": 64},
                   {"when": {"collective.chunks": 4}, "metric": "measured", "at_most": "1s"})j",
                               1, change);
  const auto outcomes = study.outcomes();
  EXPECT_TRUE(outcomes[0].ok) << outcomes[0].failure;
  EXPECT_EQ(outcomes[0].checked, 3U);
  EXPECT_EQ(outcomes[0].left_out, 3U);
  expect_text(outcomes[0].why_left_out, "too noisy: spread 12%");
  expect_text(outcomes[1].skipped, "too noisy: spread 12% at collective.chunks = 4");
  expect_text(outcomes[2].skipped, "too noisy: spread 12%");
  EXPECT_FALSE(outcomes[1].ok || outcomes[2].ok);
}

TEST(MeasuredExpectations, AMissingClosedFormIsStillAFailure) {
  const Study study =
      study_of(R"j({"metric": "relative_error(time)", "of": "analytic", "at_most": 9})j", 1,
               [](CaseResult& row, std::size_t) { row.analytic.reset(); });
  EXPECT_EQ(study.outcome().failed, 6U);
  EXPECT_EQ(study.outcome().skipped, "");
}

}  // namespace
}  // namespace collsim::test
