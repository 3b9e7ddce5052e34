// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "tests/app/output/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

CaseResult step_row(double step_s, double exposed_s) {
  CaseResult row;
  row.ranks = 4;
  row.time = Time(static_cast<std::int64_t>(step_s * 1e12));
  row.messages = 12;
  row.step = StepResult{.scheme = "ddp", .compute_s = 0.2, .exposed_s = exposed_s, .buckets = 3};
  return row;
}

// All in one unit with as many decimals; what is nowhere has no column.
TEST(StepTable, ShowsWhatThereIs) {
  Results results;
  results.rows = {step_row(0.25, 0.05), step_row(0.2075, 0.0075)};
  expect_text(written(results, Format::table, {.quiet = true}),
              "        step     compute    exposed  buckets  messages\n"
              "  250.000 ms  200.000 ms  50.000 ms        3        12\n"
              "  207.500 ms  200.000 ms   7.500 ms        3        12\n");
  results.rows[0].step->bubble = 0.125;
  results.rows[0].step->activations = {2, 1};
  results.rows[1].step->activations = std::vector<int>(9, 5);
  expect_text(written(results, Format::table, {.quiet = true}),
              "        step     compute    exposed  bubble  buckets  activations  messages\n"
              "  250.000 ms  200.000 ms  50.000 ms   12.5%        3  2 1                12\n"
              "  207.500 ms  200.000 ms   7.500 ms    0.0%        3  5                  12\n");
}

// So nobody takes the first of several for the only one.
TEST(StepTable, AllThatAreFastestAreMarked) {
  Results results;
  results.axes = {"workload.ddp.bucket"};
  results.rows = {step_row(0.2, 0), step_row(0.2, 0), step_row(0.3, 0)};
  for (std::size_t i = 0; i < 3; ++i)
    results.rows[i].params = {{"workload.ddp.bucket", JsonValue(static_cast<std::int64_t>(i))}};
  const std::string text = written(results, Format::table, {.quiet = true});
  const auto first = text.find("<- best of these");
  ASSERT_NE(first, std::string::npos);
  const auto second = text.find("<- best of these", first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(text.find("<- best of these", second + 1), std::string::npos);
}

// Nobody can choose it.
TEST(StepTable, WhatDoesNotFitItsDevicesIsNotTheBest) {
  Results results;
  results.axes = {"workload.fsdp.zero"};
  results.rows = {step_row(0.2, 0), step_row(0.3, 0)};
  for (std::size_t i = 0; i < 2; ++i) {
    results.rows[i].params = {{"workload.fsdp.zero", JsonValue(static_cast<std::int64_t>(i + 1))}};
    results.rows[i].step->memory = StepResult::Memory{.bytes = {8e10}, .device = 1};
  }
  results.rows[0].step->memory->runs_out = "at forward of layer 7";
  const auto line = [&](std::size_t number) {
    const std::string text = written(results, Format::table, {.quiet = true});
    std::size_t begin = 0;
    for (; number > 0; --number) begin = text.find('\n', begin) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  expect_contains(line(1), "does not fit: out of memory");
  EXPECT_EQ(line(1).find("best"), std::string::npos);
  expect_contains(line(2), "<- best of these");
  results.rows[1].step->memory->runs_out = "whatever its layers keep";
  EXPECT_EQ(line(2).find("best"), std::string::npos);
}

// A step with fewer tokens is shorter, and no better for it.
TEST(StepTable, StepsOfDifferentTokensAreComparedByTokensPerSecond) {
  Results results;
  results.axes = {"workload.train.tp"};
  results.rows = {step_row(0.8, 0), step_row(0.2, 0), step_row(0.5, 0)};
  constexpr std::array<double, 3> tokens_per_s{3e5, 1e5, 4e5};
  for (std::size_t i = 0; i < 3; ++i) {
    results.rows[i].params = {{"workload.train.tp", JsonValue(std::int64_t{1} << i)}};
    results.rows[i].step->work = StepResult::Work{0.4, 0.4, tokens_per_s.at(i)};
  }
  std::string text = written(results, Format::table, {.quiet = true});
  expect_contains(text, "400000        12   <- best of these by tokens/s\n");
  results.rows[2].step->memory = StepResult::Memory{{8e10}, 1, "at forward of layer 7"};
  text = written(results, Format::table, {.quiet = true});
  expect_contains(text, "300000         -        12   <- best of these by tokens/s\n");
  results.rows.pop_back();
  results.rows[1].step->work->tokens_per_s = 12e5;  // as many tokens
  expect_contains(written(results, Format::table, {.quiet = true}), "<- best of these\n");
}

TEST(StepTable, ProtocolsThatDifferHaveAColumn) {
  Results results;
  results.rows = {step_row(0.25, 0), step_row(0.2, 0)};
  for (CaseResult& row : results.rows) row.protocol = LinkProtocol::simple;
  expect_lacks(written(results, Format::table, {.quiet = true}), "Simple");
  results.rows[1].protocol = LinkProtocol::ll128;
  const std::string text = written(results, Format::table, {.quiet = true});
  expect_contains(text, "Simple");
  expect_contains(text, "LL128");
}

// The mean of a job that hardly ever comes to a checkpoint.
TEST(StepTable, AJobThatNeverEndsHasNoDate) {
  Results results;
  results.rows = {step_row(0.25, 0), step_row(0.25, 0)};
  results.rows[0].step->job = StepResult::Job{.useful = 0, .time_s = 1e40};
  results.rows[1].step->job = StepResult::Job{.useful = 0.5, .time_s = 7200};
  const std::string text = written(results, Format::table, {.quiet = true});
  expect_contains(text, "  > 100 years    0.0%");
  expect_contains(text, "       7200 s   50.0%");
}

}  // namespace
}  // namespace collsim::testing
