// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "tests/app/expression/study_fixture.hpp"
#include "tests/golden.hpp"

namespace collsim::test {
namespace {

ExpectationOutcome outcome_of(std::string_view expectation) {
  const Study study(chain_scenario(expectation));
  EXPECT_TRUE(study.diagnostics.empty()) << study.mistakes();
  return study.outcome();
}

TEST(CheckingExpectations, HoldsForTheLecture) {
  const Study study(chain_scenario(R"j(
    {"id": "one-message", "when": {"collective.chunks": 1}, "metric": "time",
     "equals": "(K-1) * (alpha + N/B)", "within": "0.1%"},
    {"metric": "time", "equals": "(S + K - 2) * (alpha + N/(S*B))", "within": "0.1%"},
    {"id": "best-count", "metric": "argmin(time, S)", "between": [32, 128]},
    {"metric": "time", "at_least": "N/B"})j"));
  const auto outcomes = study.outcomes();
  ASSERT_EQ(outcomes.size(), 4U) << study.mistakes();
  for (const ExpectationOutcome& outcome : outcomes) EXPECT_TRUE(outcome.ok) << outcome.failure;
  EXPECT_EQ(outcomes[0].id, "one-message");
  EXPECT_EQ(outcomes[0].checked, 1U);
  EXPECT_EQ(outcomes[1].id, "expect-2");
  EXPECT_EQ(outcomes[1].checked, 6U);
  EXPECT_LT(outcomes[1].worst, 1e-9);
  EXPECT_EQ(outcomes[2].checked, 1U) << "argmin: all rows are one group";
  EXPECT_EQ(outcomes[3].worst, 0);
}

TEST(CheckingExpectations, ShowsTheWorstRow) {
  const auto outcome = outcome_of(
      R"({"metric": "time", "equals": "(K-1)*(alpha+N/B)/S", "within": "0.1%", "why": "Wrong."})");
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.checked, 6U);
  EXPECT_EQ(outcome.failed, 5U);
  EXPECT_EQ(outcome.why, "Wrong.");
  EXPECT_NEAR(outcome.worst, 5046.4, 0.1);
  expect_text(outcome.failure,
              "collective.chunks = 4096: time is 23.2 ms, expected 4.596 us within 0.1% "
              "((K-1)*(alpha+N/B)/S)");
}

TEST(CheckingExpectations, SaysWhatWasExpected) {
  const auto failure = [](const std::string& limit) {
    return outcome_of(R"({"when": {"collective.chunks": 16}, "metric": "time", )" + limit + "}")
        .failure;
  };
  const std::string start = "collective.chunks = 16: time is 3.801 ms, expected ";
  EXPECT_EQ(failure(R"("equals": "3.9ms")"), start + "3.9 ms");
  EXPECT_EQ(failure(R"("equals": "3.9ms", "within": "50us")"), start + "3.9 ms within 50us");
  EXPECT_EQ(failure(R"("at_least": "2*N/B")"), start + "at least 5.369 ms (2*N/B)");
  EXPECT_EQ(failure(R"("at_most": "N/B")"), start + "at most 2.684 ms (N/B)");
  EXPECT_EQ(failure(R"("between": ["N/B", "3ms"])"), start + "between 2.684 ms and 3 ms (N/B)");
  EXPECT_EQ(failure(R"("at_most": 0)"), start + "at most 0 s");
  expect_text(
      failure(R"("at_most": "time - 2ns")"),
      "collective.chunks = 16: time is 3.800988 ms, expected at most 3.800986 ms (time - 2ns)");
}

TEST(CheckingExpectations, ForgivesRoundingOnly) {
  EXPECT_TRUE(outcome_of(R"({"metric": "1", "equals": "1 + 0.0000000009"})").ok);
  EXPECT_FALSE(outcome_of(R"({"metric": "1", "equals": "1 + 0.000000002"})").ok);
  EXPECT_TRUE(outcome_of(R"({"metric": "1", "at_least": "1 + 0.0000000009"})").ok);
  EXPECT_FALSE(outcome_of(R"({"metric": "1", "at_most": "1 - 0.000000002"})").ok);
  EXPECT_FALSE(outcome_of(R"({"metric": "time", "equals": 0})").ok);
}

TEST(CheckingExpectations, TakesTolerancesAsPercentagesOrQuantities) {
  EXPECT_TRUE(outcome_of(R"({"metric": "10", "equals": 11, "within": "10%"})").ok);
  EXPECT_FALSE(outcome_of(R"({"metric": "10", "equals": 11, "within": "9%"})").ok);
  EXPECT_TRUE(outcome_of(R"({"metric": "10", "equals": 11, "within": 1})").ok);
  EXPECT_TRUE(outcome_of(R"({"metric": "time", "equals": "time + 1us", "within": "1.1us"})").ok);
  EXPECT_FALSE(outcome_of(R"({"metric": "time", "equals": "time + 1us", "within": "0.9us"})").ok);
  EXPECT_TRUE(outcome_of(R"({"metric": "time", "at_most": "time - 1us", "within": "1.1us"})").ok);
  EXPECT_TRUE(outcome_of(R"({"metric": "10", "between": [11, 12], "within": "10%"})").ok);
}

TEST(CheckingExpectations, MeasuresTheWorstDistance) {
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10", "equals": 8})").worst, 0.25);
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10", "at_least": 20})").worst, 0.5);
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10", "at_most": 8})").worst, 0.25);
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10", "between": [12.5, 20]})").worst, 0.2);
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10", "equals": 0})").worst, 1);
  EXPECT_DOUBLE_EQ(outcome_of(R"({"metric": "10^300", "equals": "10^-300"})").worst,
                   std::numeric_limits<double>::max());
  EXPECT_EQ(outcome_of(R"({"metric": "10", "at_most": 20})").worst, 0);
}

TEST(CheckingExpectations, FailsWithTheRowWhereThereIsNoValue) {
  const auto outcome =
      outcome_of(R"j({"metric": "time", "equals": "N/B/(S-16)", "within": "10000000%"})j");
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.checked, 6U);
  EXPECT_EQ(outcome.failed, 1U);
  expect_text(outcome.failure, "collective.chunks = 16: division by zero in \"N/B/(S-16)\"");
  EXPECT_TRUE(std::isfinite(outcome.worst));
}

TEST(CheckingExpectations, FailsWhenNothingMatches) {
  const auto failure = [](const std::string& when) {
    const auto outcome =
        outcome_of(R"({"when": {)" + when + R"(}, "metric": "time", "at_least": 0})");
    EXPECT_FALSE(outcome.ok);
    EXPECT_EQ(outcome.checked, 0U);
    return outcome.failure;
  };
  expect_text(failure(R"("collective.chunks": 3)"), "no row matches when collective.chunks = 3");
  expect_text(failure(R"("collective.chunks": [2, 8], "cluster.ranks": 8)"),
              "no row matches when collective.chunks = 2 or 8, cluster.ranks = 8");
  expect_text(failure(R"("chunks": 3)"), "no row matches when collective.chunks = 3");
  expect_text(failure(R"("cluster.ranks": 9)"), "no row matches when cluster.ranks = 9");
}

TEST(CheckingExpectations, FailsWithoutRows) {
  const Study study(chain_scenario(R"({"metric": "time", "at_least": 0})"));
  const auto outcomes = study.expectations.check({});
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_FALSE(outcomes[0].ok);
  expect_text(outcomes[0].failure, "there are no rows to check");
}

TEST(CheckingExpectations, MatchesValuesByWhatTheyMean) {
  const auto checked = [](const std::string& when) {
    return outcome_of(R"({"when": {)" + when + R"(}, "metric": "time", "at_least": 0})").checked;
  };
  EXPECT_EQ(checked(R"("collective.chunks": [1, 16.0, 5])"), 2U);
  EXPECT_EQ(checked(R"("collective.size": "65536KiB")"), 6U);
  EXPECT_EQ(checked(R"("cluster.link.overhead": "5000 ns")"), 6U);
  EXPECT_EQ(checked(R"("cluster.link.bandwidth": "200Gb/s")"), 6U);
  EXPECT_EQ(checked(R"("collective.op": "Bcast", "collective.chunks": 4)"), 1U);
  EXPECT_EQ(checked(R"("chunks": [1, 16])"), 2U);
  EXPECT_EQ(checked(R"("S": 4)"), 1U);
}

TEST(CheckingExpectations, SkipsWhatNeedsAMeasurement) {
  for (const char* expectation : {R"({"metric": "time", "of": "measured", "at_most": "1s"})",
                                  R"j({"metric": "relative_error(time)", "at_most": "20%"})j",
                                  R"j({"metric": "measured", "at_most": "20s"})j",
                                  R"j({"metric": "argmin(measured, S)", "equals": 4})j",
                                  R"j({"metric": "time", "at_most": "2*measured"})j",
                                  R"j({"metric": "at(measured, S, 4)", "at_most": "1s"})j",
                                  R"j({"metric": "1", "at_least": "relative_error(busbw)"})j"}) {
    const auto outcome = outcome_of(expectation);
    EXPECT_FALSE(outcome.ok);
    expect_text(outcome.skipped, "needs a measurement: collsim validate");
    EXPECT_EQ(outcome.checked, 0U);
    EXPECT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.failed, 0U);
  }
  expect_text(outcome_of(R"({"when": {"collective.chunks": 3}, "metric": "time", "of": "measured",
                           "at_most": "1s"})")
                  .failure,
              "no row matches when collective.chunks = 3");
}

TEST(CheckingExpectations, TakesTheClosedFormForTimeWhenAsked) {
  const Study study(
      chain_scenario(R"({"metric": "time", "of": "analytic", "at_most": "time"},
                                      {"metric": "busbw", "of": "analytic", "equals": "busbw"})"),
      [](CaseResult& row, std::size_t) { row.analytic->seconds = 2 * row.time.seconds(); });
  const auto outcomes = study.outcomes();
  EXPECT_EQ(outcomes[0].failed, 6U);
  expect_text(
      outcomes[0].failure,
      "collective.chunks = 1: time (analytic) is 37.65 ms, expected at most 18.83 ms (time)");
  EXPECT_DOUBLE_EQ(outcomes[1].worst, 0.5);
}

TEST(CheckingExpectations, FailsWhereNoClosedFormApplies) {
  const Study study(chain_scenario(R"({"metric": "time", "of": "analytic", "at_most": "1s"})"),
                    [](CaseResult& row, std::size_t point) {
                      if (point == 2) row.analytic.reset();
                    });
  expect_text(
      study.outcome().failure,
      "collective.chunks = 16: no closed form applies to this case, so it has no analytic time");
}

TEST(CheckingExpectations, NeedsNoSweep) {
  const Study study(
      R"({"cluster": {"shape": "chain", "link": {}}, "collective": {"op": "broadcast"},
                       "expect": [{"metric": "time", "at_most": "1us"}]})");
  expect_text(study.outcome().failure, "time is 18.83 ms, expected at most 1 us");
}

// Sizes, and chunks with ranks zipped: (1, 4), (8, 8), (64, 16).
std::string zipped_scenario(const std::string& expect) {
  return R"({"cluster": {"shape": "chain", "ranks": 8, "link": {"bandwidth": "25GB/s"}},
    "collective": {"op": "broadcast", "size": "1KiB"},
    "sweep": {"collective.size": ["1KiB", "1MiB", "1GiB"],
              "zip: collective.chunks, cluster.ranks": [[1, 4], [8, 8], [64, 16]]},
    "expect": [)" +
         expect + "]}";
}

TEST(CheckingExpectations, TakesZippedPathsForOneAxis) {
  const Study study(zipped_scenario(R"j(
    {"metric": "argmin(messages, S)", "equals": 1},
    {"metric": "argmax(messages, K)", "equals": 16},
    {"metric": "argmin(time, N)", "equals": "1024B"},
    {"metric": "at(K, S, 64)", "equals": 16},
    {"metric": "argmax(at(time, N, 1GiB), K)", "equals": 4},
    {"metric": "argmin(argmin(time, S), N)", "equals": "1KiB"})j"));
  ASSERT_TRUE(study.diagnostics.empty()) << study.mistakes();
  const auto outcomes = study.outcomes();
  for (const ExpectationOutcome& outcome : outcomes) EXPECT_TRUE(outcome.ok) << outcome.failure;
  EXPECT_EQ(outcomes[0].checked, 3U) << "once for each size";
  EXPECT_EQ(outcomes[2].checked, 3U) << "once for each pair of chunks and ranks";
  EXPECT_EQ(outcomes[3].checked, 9U);
  EXPECT_EQ(outcomes[5].checked, 3U) << "only the outer argmin makes groups";
}

TEST(CheckingExpectations, NamesTheGroupWithoutTheAxisOfArgmin) {
  const Study study(zipped_scenario(R"j({"metric": "argmin(time, S)", "equals": 8},
                                       {"metric": "argmin(time, N)", "equals": "1GiB"})j"));
  const auto outcomes = study.outcomes();
  expect_text(outcomes[0].failure, "collective.size = 1GiB: argmin(time, S) is 64, expected 8");
  expect_text(outcomes[1].failure,
              "collective.chunks = 1, cluster.ranks = 4: argmin(time, N) is 1 KiB, expected 1 GiB");
}

TEST(CheckingExpectations, LetsWhenDecideWhoTakesPart) {
  const auto outcome = outcome_of(
      R"j({"when": {"collective.chunks": [1, 4, 16]}, "metric": "argmin(time, S)", "equals": 16})j");
  EXPECT_TRUE(outcome.ok) << outcome.failure;
  EXPECT_EQ(outcome.checked, 1U);
  EXPECT_TRUE(outcome_of(R"j({"when": {"collective.chunks": 1}, "metric": "time",
                             "at_least": "5 * at(time, S, 64)"})j")
                  .ok)
      << "at() may look at what when leaves out";
  EXPECT_EQ(
      outcome_of(R"j({"when": {"collective.chunks": 1}, "metric": "at(argmin(time, S), S, 64)",
                           "equals": 1})j")
          .ok,
      true);
}

TEST(CheckingExpectations, SaysWhenNobodyTakesPartInArgmin) {
  const Study study(zipped_scenario(R"j({"when": {"collective.size": "1KiB"},
    "metric": "at(argmin(time, S), N, 1MiB)", "equals": 1})j"));
  expect_text(
      study.outcome().failure,
      "collective.size = 1KiB, collective.chunks = 1, cluster.ranks = 4: \"when\" leaves no "
      "row to compare along collective.chunks");
}

TEST(CheckingExpectations, ComparesWords) {
  const auto study = [](const std::string& expect) {
    return Study(R"({"cluster": {"shape": "ring", "ranks": 8},
      "collective": {"op": "all-reduce", "size": "1KiB"},
      "sweep": {"collective.size": ["1KiB", "1GiB"],
                "collective.algorithm": ["ring", "rabenseifner", "double-tree"]},
      "expect": [)" + expect +
                     "]}",
                 [](CaseResult& row, std::size_t point) {
                   const bool large = point >= 3;
                   row.time = microseconds(row.algorithm == "ring" ? (large ? 1 : 9) : 5);
                 });
  };
  const auto run = [&](const std::string& expect) { return study(expect).outcome(); };
  EXPECT_TRUE(run(R"j({"when": {"collective.size": "1GiB"}, "metric": "argmin(time, algorithm)",
                      "equals": "ring"})j")
                  .ok);
  EXPECT_TRUE(run(R"j({"when": {"collective.size": "1KiB"},
                      "metric": "argmin(time, collective.algorithm)",
                      "equals": "halving-doubling"})j")
                  .ok)
      << "rabenseifner is another name for it";
  const auto outcome = run(R"j({"metric": "argmin(time, algorithm)", "equals": "ring"})j");
  EXPECT_EQ(outcome.checked, 2U);
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_EQ(outcome.worst, 1);
  expect_text(outcome.failure,
              "collective.size = 1KiB: argmin(time, algorithm) is rabenseifner, expected ring");
  EXPECT_TRUE(run(R"j({"when": {"collective.algorithm": "Ring", "collective.size": "1GiB"},
                      "metric": "time / at(time, algorithm, double-tree)", "equals": "1/5"})j")
                  .ok);
}

TEST(CheckingExpectations, ComparesListsAndPartsOfObjects) {
  const Study study(R"({"cluster": {"shape": "chain"}, "collective": {"op": "reduce"},
    "sweep": {"collective.ranks": [[0, 1], [0, 2]],
              "cluster.link": [{"bandwidth": "1GB/s"}, {"bandwidth": "2GB/s", "overhead": "1us"}]},
    "expect": [{"when": {"collective.ranks": [[0, 2]]}, "metric": "K", "equals": 8},
               {"when": {"cluster.link.bandwidth": "2GB/s"}, "metric": "K", "equals": 8},
               {"when": {"cluster.link.overhead": "1us"}, "metric": "K", "equals": 8},
               {"when": {"collective.ranks": [0, 2]}, "metric": "K", "equals": 8}]})");
  const auto outcomes = study.outcomes();
  ASSERT_EQ(outcomes.size(), 3U);
  for (const ExpectationOutcome& outcome : outcomes) EXPECT_EQ(outcome.checked, 2U);
  const auto mistakes = study.diagnostics.sorted();
  ASSERT_EQ(mistakes.size(), 1U);
  expect_text(mistakes[0].message,
              "0 is a plain number, but collective.ranks has values such as [0,1]");
  expect_text(mistakes[0].hint,
              "a list here is a list of alternatives: write [[0, 1]], not [0, 1]");
}

TEST(CheckingExpectations, IsFastForManyRows) {
  const std::clock_t start = std::clock();
  std::string sizes, chunks;
  for (int i = 1; i <= 400; ++i) sizes += (i == 1 ? "\"" : ", \"") + std::to_string(i) + "KiB\"";
  for (int i = 1; i <= 250; ++i) chunks += (i == 1 ? "" : ", ") + std::to_string(i);
  const Study study(R"({"cluster": {"shape": "chain", "link": {}}, "collective": {"op": "reduce"},
    "sweep": {"collective.size": [)" +
                    sizes + R"(], "collective.chunks": [)" + chunks + R"j(]},
    "expect": [{"metric": "time", "equals": "(S+K-2)*(alpha+N/(S*B))", "within": "2ps * K * S"
  },
               {"metric": "argmin(time, S)", "at_least": 1},
               {"metric": "argmin(argmin(time, S), N)", "at_least": "1KiB"},
               {"metric": "time", "at_most": "at(time, S, 250) * 1000"}]
  })j");
  ASSERT_TRUE(study.diagnostics.empty()) << study.mistakes();
  ASSERT_EQ(study.rows.size(), 100'000U);
  const std::clock_t simulated = std::clock();
  const auto outcomes = study.outcomes();
  const std::clock_t judged = std::clock();
  for (const ExpectationOutcome& outcome : outcomes) EXPECT_TRUE(outcome.ok) << outcome.failure;
  EXPECT_EQ(outcomes[0].checked, 100'000U);
  EXPECT_EQ(outcomes[1].checked, 400U);
  EXPECT_LT(judged - simulated, simulated - start) << "of the rows themselves";
}

}  // namespace
}  // namespace collsim::test
