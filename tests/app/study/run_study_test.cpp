// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/app/study/scenarios.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

TEST(RunStudy, ASinglePointIsARow) {
  const Studied studied = results_of(lecture());
  const Results& results = *studied.results;
  EXPECT_TRUE(results.complete);
  EXPECT_EQ(results.points, 1U);
  ASSERT_EQ(results.rows.size(), 1U);
  EXPECT_EQ(results.rows[0].algorithm, "chain");
  EXPECT_TRUE(results.rows[0].params.empty());
  EXPECT_EQ(results.name, "test");
  EXPECT_TRUE(results.axes.empty());
  EXPECT_EQ(studied.all_warnings(), "");
}

TEST(RunStudy, RowsAreInTheOrderOfTheSweepForAnyNumberOfThreads) {
  const std::string text = lecture(
      R"(, "sweep": {"cluster.ranks": [2, 3, 5], "collective.chunks": {"from": 1, "to": 200, "step": 1}})");
  const Studied one = results_of(text, {.jobs = 1});
  ASSERT_EQ(one.results->rows.size(), 600U);
  EXPECT_EQ(one.results->axes, (std::vector<std::string>{"cluster.ranks", "collective.chunks"}));
  for (std::size_t i = 0; i < 600; ++i) {
    const CaseResult& row = one.results->rows[i];
    EXPECT_EQ(row.chunks, static_cast<int>(i % 200) + 1);
    EXPECT_EQ(row.params, one.scenario->params(i));
  }
  for (const int jobs : {0, 2, 3, 16, 5000}) {
    const Studied several = results_of(text, {.jobs = jobs});
    ASSERT_EQ(several.results->rows.size(), 600U) << jobs;
    EXPECT_EQ(several.results->description, one.results->description);
    EXPECT_EQ(several.all_warnings(), one.all_warnings());
    for (std::size_t i = 0; i < 600; ++i) {
      EXPECT_EQ(several.results->rows[i].fingerprint, one.results->rows[i].fingerprint);
      EXPECT_EQ(several.results->rows[i].params, one.results->rows[i].params);
    }
  }
}

TEST(RunStudy, ProgressIsToldByOneThreadAtATimeAndEndsWithAll) {
  const std::string text =
      lecture(R"(, "sweep": {"collective.chunks": {"from": 1, "to": 300, "step": 1}})");
  std::atomic<int> inside = 0;
  std::size_t last = 0;
  std::size_t points = 0;
  StudyOptions options;
  options.jobs = 4;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(++inside, 1);
    EXPECT_LE(done, total);
    last = done;
    points = total;
    --inside;
  };
  (void)results_of(text, options);
  EXPECT_EQ(last, 300U);
  EXPECT_EQ(points, 300U);
}

TEST(RunStudy, StoppedBeforeItBeginsItHasNoRows) {
  const std::atomic<bool> stop = true;
  const Studied studied = results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2]},
                              "expect": [{"id": "a", "metric": "time", "at_least": "1s"}])"),
                                     {.jobs = 2, .progress = {}, .stop = &stop});
  EXPECT_FALSE(studied.results->complete);
  EXPECT_TRUE(studied.results->rows.empty());
  EXPECT_EQ(studied.results->points, 2U);
  EXPECT_TRUE(studied.results->expect.empty());
  expect_text(studied.warning("interrupted"),
              "interrupted: 0 of 2 points were simulated; the expectations were not checked");
}

TEST(RunStudy, StoppedOnTheWayItKeepsWhatIsDone) {
  std::atomic<bool> stop = false;
  StudyOptions options;
  options.jobs = 1;
  options.stop = &stop;
  options.progress = [&](std::size_t, std::size_t) { stop = true; };
  const Studied studied = results_of(
      lecture(R"(, "sweep": {"collective.chunks": {"from": 1, "to": 300, "step": 1}})"), options);
  EXPECT_FALSE(studied.results->complete);
  ASSERT_EQ(studied.results->rows.size(), 1U);
  EXPECT_EQ(studied.results->rows[0].chunks, 1);
}

TEST(RunStudy, AMistakeOfACombinationNamesTheFirstPointThatHasIt) {
  const Studied studied = study(
      R"({"scenario": 1, "cluster": {"shape": "switch", "link": {"bandwidth": "25GB/s"}},
          "collective": {"op": "all-gather"},
          "sweep": {"collective.algorithm": ["ring", "recursive-doubling"],
                    "cluster.ranks": [4, 6, 8], "collective.size": ["1MiB", "2MiB"]}})");
  EXPECT_FALSE(studied.results);
  const auto messages = studied.messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(
      messages[0].find("at collective.algorithm = recursive-doubling, cluster.ranks = 6, "
                       "collective.size = 1MiB: all-gather 'recursive-doubling' does not work "
                       "with 6 ranks"),
      0U)
      << messages[0];
}

TEST(RunStudy, MistakesAreTheSameForAnyNumberOfThreads) {
  const std::string text =
      R"({"scenario": 1, "cluster": {"shape": "ring", "link": {"bandwidth": "25GB/s"}},
          "collective": {"op": "all-reduce", "size": "1MiB"},
          "sweep": {"collective.algorithm": ["ring", "swing"],
                    "collective.chunks": {"from": 1, "to": 60, "step": 1},
                    "cluster.ranks": [4, 8, 6, 7]}})";
  const Studied one = study(text, {.jobs = 1});
  EXPECT_FALSE(one.results);
  ASSERT_EQ(one.messages().size(), 2U);
  for (const int ranks : {6, 7}) {
    const std::string begin =
        "at collective.algorithm = swing, collective.chunks = 1, cluster.ranks = " +
        std::to_string(ranks) + ": ";
    EXPECT_TRUE(one.messages()[0].starts_with(begin) || one.messages()[1].starts_with(begin));
  }
  for (const int jobs : {2, 7}) EXPECT_EQ(study(text, {.jobs = jobs}).messages(), one.messages());
}

TEST(RunStudy, WhatIsTooLargeIsRefusedBeforeItRuns) {
  const Studied studied = study(
      R"({"scenario": 1, "cluster": {"shape": "mesh", "dims": [64, 64], "link": {"bandwidth": "25GB/s"}},
          "collective": {"op": "all-gather", "algorithm": "ring", "size": "1GiB"},
          "sweep": {"collective.chunks": [1000000, 2000000]}})");
  EXPECT_FALSE(studied.results);
  const auto messages = studied.messages();
  ASSERT_EQ(messages.size(), 2U);
  expect_text(messages[0],
              "at collective.chunks = 1000000: too large to simulate: all-gather by ring with 4096 "
              "ranks, 1000000 chunks takes more than 67108864 instructions for one rank, the "
              "limit; use fewer chunks, ranks");
  EXPECT_EQ(messages[1].find("at collective.chunks = 2000000: too large"), 0U);
}

TEST(RunStudy, RanksThatCannotReachEachOtherAreAMistakeOfTheCluster) {
  const Studied studied = study(
      R"({"scenario": 1, "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 2},
                                                 {"id": "sw", "kind": "switch"}],
            "links": [{"from": "gpu0", "to": "sw", "bandwidth": "1GB/s"}]},
          "collective": {"op": "broadcast", "size": "1MiB"}})");
  EXPECT_FALSE(studied.results);
  ASSERT_EQ(studied.messages().size(), 1U);
  EXPECT_EQ(studied.diagnostics.sorted()[0].code, "no-route");
  EXPECT_EQ(studied.diagnostics.sorted()[0].pointer, "/cluster");
}

TEST(RunStudy, ChecksExpectations) {
  const Studied studied = results_of(lecture(R"json(, "sweep": {"collective.chunks": [1, 2, 4]},
      "expect": [{"id": "formula", "metric": "time", "equals": "(S+K-2)*(alpha+N/(S*B))",
                  "within": "0.01%"},
                 {"id": "wrong", "metric": "time", "at_most": "1us"}])json"));
  ASSERT_EQ(studied.results->expect.size(), 2U);
  EXPECT_TRUE(studied.results->expect[0].ok) << studied.results->expect[0].failure;
  EXPECT_EQ(studied.results->expect[0].checked, 3U);
  EXPECT_FALSE(studied.results->expect[1].ok);
}

TEST(RunStudy, MistakesOfExpectationsAreReportedWithThoseOfPoints) {
  const Studied studied = study(
      R"({"scenario": 1, "cluster": {"shape": "ring", "link": {"bandwidth": "25GB/s"}},
          "collective": {"op": "all-reduce", "algorithm": "swing", "size": "1MiB", "slots": 1},
          "sweep": {"collective.chunks": [1, 2], "cluster.ranks": [4, 8]},
          "expect": [{"id": "a", "metric": "tmie", "at_least": "1s"}]})");
  EXPECT_FALSE(studied.results);
  EXPECT_GE(studied.messages().size(), 1U);
}

TEST(RunStudy, ManyScenariosRunAtOnceInOneProcess) {
  const Studied alone = results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2, 4, 8]})"));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Studied again =
          results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2, 4, 8]})"), {.jobs = 2});
      for (std::size_t row = 0; row < 4; ++row)
        EXPECT_EQ(again.results->rows[row].fingerprint, alone.results->rows[row].fingerprint);
    });
}

// --- the description ----------------------------------------------------------------------------

std::string description(const std::string& text) {
  return results_of(text).results->description;
}

TEST(Description, SaysWhatAllRowsShare) {
  EXPECT_EQ(description(lecture()).find("chain broadcast of 64 MiB; "), 0U)
      << description(lecture());
  EXPECT_EQ(description(lecture("", R"(, "chunks": 16)"))
                .find("chain broadcast of 64 MiB in 16 chunks; "),
            0U);
}

TEST(Description, LeavesOutWhatIsSwept) {
  const std::string sizes =
      description(lecture(R"(, "sweep": {"collective.size": ["1MiB", "2MiB"]})"));
  EXPECT_EQ(sizes.find("chain broadcast; "), 0U) << sizes;
  const std::string bandwidths =
      description(lecture(R"(, "sweep": {"cluster.link.bandwidth": ["1GB/s", "25GB/s"]})"));
  expect_lacks(bandwidths, "GB/s");
  expect_contains(bandwidths, "8 ranks");
  const std::string ranks = description(lecture(R"(, "sweep": {"cluster.ranks": [3, 4]})"));
  EXPECT_EQ(ranks.find("chain broadcast of 64 MiB; chain, 25 GB/s"), 0U) << ranks;
}

TEST(Description, NamesThePresetWhoseNumbersAreSwept) {
  const auto sweeping = [](const std::string& axis) {
    return description(R"({"scenario": 1, "cluster": {"preset": "dgx-h100"},
          "collective": {"op": "all-reduce", "algorithm": "ring", "size": "64MiB"},
          "sweep": {)" +
                       axis + "}}");
  };
  expect_text(sweeping(R"("cluster.override.nvlink.bandwidth": ["370.8GB/s", "800Gb/s"])"),
              "ring all-reduce of 64 MiB; dgx-h100 (8 ranks)");
  expect_text(sweeping(R"("cluster.nodes": [1, 2])"), "ring all-reduce of 64 MiB; dgx-h100");
  expect_text(
      sweeping(R"("cluster.nodes": [2], "cluster.override.nic.bandwidth": ["400Gb/s", "1Tb/s"])"),
      "ring all-reduce of 64 MiB; dgx-h100 x 2 (16 ranks)");
}

TEST(Description, SaysWhoIsLateAndWhichLinkIsChanged) {
  const auto of = [](const std::string& cluster, const std::string& more = "") {
    const std::string text = description(
        R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 8,
        "link": {"bandwidth": "25GB/s"}, )" +
        cluster + R"(}, "collective": {"op": "all-reduce", "algorithm": "ring", "size": "1MiB"})" +
        more + "}");
    return text.substr(text.find("GB/s") + 4);
  };
  expect_text(of(R"("late": {"3": "500us", "5": "0"})"), ", rank 3 starts 500 us late");
  expect_text(of(R"("late": {"0": "1us", "1": "1us", "2": "1us", "3": "1us"})"),
              ", 4 ranks start late");
  expect_text(of(R"("late": {"3": "1ms"},
                  "links_override": [{"from": "gpu2", "to": "gpu3", "bandwidth": "6GB/s"}])"),
              ", link gpu2 -> gpu3 changed, rank 3 starts 1 ms late");
  EXPECT_EQ(of(R"("late": {"3": "1ms"})", R"(, "sweep": {"cluster.late.3": ["1ms", "2ms"]})"), "");
}

TEST(Description, NamesASubgroup) {
  expect_contains(description(lecture("", R"(, "ranks": [1, 3, 5])")), "among 3 of 8 ranks");
  const auto on_two_nodes = [](const std::string& ranks) {
    return description(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2},
                           "collective": {"op": "all-reduce", "algorithm": "ring", "size": "1MiB",
                                          "ranks": )" +
                       ranks + "}}");
  };
  expect_contains(on_two_nodes("[0, 8]"), "; 1 GPU on each of 2 nodes, a process for each");
  const std::string uneven = on_two_nodes("[0, 1, 8]");
  EXPECT_EQ(uneven.find("on each of"), std::string::npos) << uneven;
}

}  // namespace
}  // namespace collsim::testing
