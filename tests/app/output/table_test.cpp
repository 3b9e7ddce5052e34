// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/output/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

TEST(Table, IsTheLecturesTable) {
  expect_text(
      written(lecture_results(), Format::table),
      "chain broadcast of 64 MiB; chain of 8 ranks, 25 GB/s, 5 us per message\n"
      "\n"
      "  chunks       time    formula  x bound        algbw\n"
      "       1  18.825 ms  18.825 ms     7.00   3.565 GB/s\n"
      "      16   3.801 ms   3.801 ms     1.41  17.656 GB/s\n"
      "      57   3.282 ms   3.282 ms     1.22  20.448 GB/s   <- best of these\n"
      "      64   3.286 ms   3.286 ms     1.22  20.423 GB/s\n"
      "    4096  23.198 ms  23.198 ms     8.63   2.893 GB/s   worse than not cutting at all\n"
      "\n"
      "best number of chunks by the formula: 56.8\n");
}

TEST(Table, QuietIsRowsOnly) {
  const std::string text = written(lecture_results({1, 2}), Format::table, {.quiet = true});
  expect_text(text,
              "  chunks      time   formula  x bound       algbw\n"
              "       1  18.83 ms  18.83 ms     7.00  3.565 GB/s\n"
              "       2  10.78 ms  10.78 ms     4.01  6.227 GB/s   <- best of these\n");
}

TEST(Table, ASinglePointNeedsNoParameters) {
  Results results = lecture_results({16});
  results.axes.clear();
  results.rows[0].params.clear();
  expect_text(written(results, Format::table, {.quiet = true}),
              "      time   formula  x bound       algbw\n"
              "  3.801 ms  3.801 ms     1.41  17.66 GB/s\n");
}

TEST(Table, WithoutAFormulaThereIsNoColumnForIt) {
  Results results = lecture_results({1, 2});
  for (CaseResult& row : results.rows) row.analytic.reset();
  const std::string text = written(results, Format::table);
  expect_lacks(text, "formula");
}

TEST(Table, SomeRowsMayHaveNoFormula) {
  Results results = lecture_results({1, 2});
  results.rows[1].analytic.reset();
  expect_text(written(results, Format::table, {.quiet = true}),
              "  chunks      time   formula  x bound       algbw\n"
              "       1  18.83 ms  18.83 ms     7.00  3.565 GB/s\n"
              "       2  10.78 ms         -     4.01  6.227 GB/s   <- best of these\n");
}

TEST(Table, TimesWithoutNcclsCostsAreNotComparedWithThoseThatHaveThem) {
  Results results = lecture_results({1, 2});
  results.rows[0].nccl = NcclAlgorithm::ring;
  const std::string text = written(results, Format::table);
  expect_lacks(text, "<- best");
  expect_contains(text, "without launch and protocol: not comparable");
}

TEST(Table, ExpectationsStandBelowTheRows) {
  Results results = lecture_results({1});
  results.expect = {{.id = "one", .ok = true, .checked = 1, .failed = 0, .worst = 0.00017},
                    {.id = "bound", .ok = true, .checked = 14},
                    {.id = "wrong",
                     .ok = false,
                     .checked = 14,
                     .failed = 2,
                     .worst = 0.2,
                     .why = "Store and forward.",
                     .skipped = "",
                     .failure = "collective.chunks = 1: too slow"},
                    {.id = "lonely",
                     .ok = false,
                     .checked = 0,
                     .failed = 0,
                     .worst = 0,
                     .why = "",
                     .skipped = "",
                     .failure = "matches no row"},
                    {.id = "real",
                     .ok = false,
                     .checked = 0,
                     .failed = 0,
                     .worst = 0,
                     .why = "",
                     .skipped = "no measurement",
                     .failure = ""}};
  const std::string text = written(results, Format::table);
  expect_text(text.substr(text.find("\nok")),
              "\nok    one (1 row, worst 0.02%)\n"
              "ok    bound (14 rows)\n"
              "FAIL  wrong (in 2 of 14 rows): collective.chunks = 1: too slow\n"
              "      why: Store and forward.\n"
              "FAIL  lonely: matches no row\n"
              "skip  real: no measurement\n"
              "2 of 5 expectations hold, 1 not checked\n");
}

TEST(Table, ColourMarksHeadingsAndVerdicts) {
  Results results = lecture_results({1});
  results.title = "The lecture";
  results.expect = {{.id = "one", .ok = true, .checked = 1},
                    {.id = "two", .ok = false, .checked = 1, .failed = 1, .failure = "no"}};
  const std::string text = written(results, Format::table, {.colour = true});
  expect_contains(text, "\x1b[1mThe lecture\x1b[0m\n");
  expect_contains(text, "\x1b[32mok\x1b[0m    one");
  expect_contains(text, "\x1b[1;31mFAIL\x1b[0m  two");
  expect_lacks(written(results, Format::table), "\x1b");
}

TEST(Table, WhatTheUserWroteCannotControlTheTerminal) {
  Results results = lecture_results({1});
  results.title = "a\x1b[2Jb\nc";
  results.description = "\x1b";
  results.expect = {{.id = "\x1b", .ok = true, .checked = 1}};
  expect_lacks(written(results, Format::table), "\x1b");
}

TEST(Table, SaysWhenRowsAreMissing) {
  Results results = lecture_results({1, 2});
  results.complete = false;
  results.points = 14;
  expect_contains(written(results, Format::table), "\nincomplete: 2 of 14 points\n");
  results.rows.clear();
  results.points = 1;
  expect_contains(written(results, Format::table), "\nincomplete: 0 of 1 point\n");
}

TEST(Table, WithoutRowsTheRestIsWritten) {
  Results results = lecture_results({});
  results.complete = false;
  results.points = 3;
  for (const Format format : {Format::table, Format::markdown})
    expect_contains(written(results, format), "incomplete: 0 of 3 points");
  const nlohmann::json whole = nlohmann::json::parse(written(results, Format::json));
  EXPECT_EQ(whole["rows"], nlohmann::json::array());
  EXPECT_EQ(whole["complete"], false);
  expect_text(written(results, Format::jsonl), "{\"complete\":false,\"rows\":0,\"points\":3}\n");
  expect_text(written(results, Format::csv), "# interrupted: 0 of 3 points\n");
  for (const std::string& line : lines_of(written(results, Format::nccl_tests)))
    EXPECT_TRUE(line.empty() || line.front() == '#') << line;
}

// Rows of made-up times, for what depends on parameters only.
Results made_up(const std::vector<std::string>& axes,
                const std::vector<std::pair<std::vector<JsonValue>, int>>& rows) {
  Results results;
  results.scenario = JsonValue::object();
  results.axes = axes;
  for (const auto& [values, us] : rows) {
    CaseResult row;
    row.operation = Operation::all_reduce;
    row.algorithm = "ring";
    row.ranks = 2;
    row.size = 1000;
    row.time = microseconds(us);
    row.bound = microseconds(1);
    for (std::size_t i = 0; i < axes.size(); ++i) row.params.emplace_back(axes[i], values[i]);
    results.rows.push_back(row);
  }
  results.points = rows.size();
  return results;
}

TEST(Table, MarksTheFastestChoiceForEachTask) {
  const Results results =
      made_up({"collective.size", "collective.algorithm"}, {{{"1KiB", "ring"}, 5},
                                                            {{"1KiB", "swing"}, 4},
                                                            {{"1MiB", "ring"}, 8},
                                                            {{"1MiB", "swing"}, 9}});
  Results named = results;
  for (CaseResult& row : named.rows) row.algorithm = row.params[1].second.string();
  expect_text(written(named, Format::table),
              "  size  algorithm      time  x bound       algbw       busbw\n"
              "  1KiB  ring       5.000 us     5.00  200.0 MB/s  200.0 MB/s\n"
              "  1KiB  swing      4.000 us     4.00  250.0 MB/s  250.0 MB/s   <- best\n"
              "  1MiB  ring       8.000 us     8.00  125.0 MB/s  125.0 MB/s   <- best\n"
              "  1MiB  swing      9.000 us     9.00  111.1 MB/s  111.1 MB/s\n");
}

TEST(Table, TheFastestOfDifferentTasksIsNotTheBest) {
  const std::string text =
      written(made_up({"collective.size"}, {{{"1KiB"}, 1}, {{"1MiB"}, 2}}), Format::table);
  expect_lacks(text, "best");
}

TEST(Table, NobodyIsTheBestOfEquals) {
  const std::string text =
      written(made_up({"collective.slots"}, {{{1}, 3}, {{2}, 3}}), Format::table);
  expect_lacks(text, "best");
}

TEST(Table, HeadingsAreAsShortAsTheyCanBe) {
  const std::string text = written(
      made_up({"cluster.intra.link.bandwidth", "cluster.inter.link.bandwidth", "cluster.ranks"},
              {{{"1GB/s", "2GB/s", 4}, 1}, {{"3GB/s", "4GB/s", 8}, 2}}),
      Format::table);
  expect_text(text.substr(0, text.find("time")),
              "  intra.link.bandwidth  inter.link.bandwidth  ranks      ");
}

TEST(Table, ANumberAloneIsNoHeading) {
  const std::string text =
      written(made_up({"cluster.late.3"}, {{{"0"}, 1}, {{"1ms"}, 2}}), Format::table);
  expect_text(text.substr(0, text.find('\n')),
              "  late.3      time  x bound       algbw       busbw");
}

TEST(Table, LeavesOutWhatDoesNotVary) {
  const std::string text =
      written(made_up({"collective.size", "cluster.ranks"}, {{{"1KiB", 2}, 1}, {{"1KiB", 4}, 2}}),
              Format::table);
  expect_lacks(text, "size");
}

TEST(Table, SaysWhatAutoChose) {
  Results results = made_up({"collective.size"}, {{{"1KiB"}, 1}, {{"1MiB"}, 2}});
  JsonValue collective = JsonValue::object();
  collective.set("algorithm", "auto");
  results.scenario.set("collective", collective);
  expect_text(written(results, Format::table),
              "  size  algorithm      time  x bound       algbw       busbw\n"
              "  1KiB  ring       1.000 us     1.00  1.000 GB/s  1.000 GB/s\n"
              "  1MiB  ring       2.000 us     2.00  0.500 GB/s  0.500 GB/s\n");
}

TEST(Table, ABarrierHasNoBandwidth) {
  Results results = made_up({}, {{{}, 3}});
  results.rows[0].operation = Operation::barrier;
  results.rows[0].size = 0;
  expect_text(written(results, Format::table),
              "      time  x bound\n"
              "  3.000 us     3.00\n");
}

}  // namespace
}  // namespace collsim::testing
