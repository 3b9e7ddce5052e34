// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using nlohmann::json;

TEST(Run, TheWorstOfSeveralFilesDecides) {
  const Folder folder;
  const std::string good = folder.write("good.json", chain_scenario());
  const std::string failing = folder.write(
      "failing.json", chain_scenario(R"(, "expect": [{"metric": "time", "at_most": "1us"}])"));
  const std::string bad = folder.write("bad.json", "{");
  EXPECT_EQ(run_collsim({"run", good, good}).code, exit_fine);
  EXPECT_EQ(run_collsim({"run", good, failing}).code, exit_failed);
  EXPECT_EQ(run_collsim({"run", failing, bad, good}).code, exit_usage);
}

// By the cause, not by the route that is missing.
TEST(Run, GroupsThatFillNodesUnevenlyAreRefusedForThat) {
  const Folder folder;
  for (const char* algorithm : {"nvls", "collnet-direct", "collnet-chain", "nvls-sharp"}) {
    const std::string file = folder.write("a.json", std::string(R"({ "scenario": 1,
      "cluster": { "preset": "dgx-h100", "nodes": 2, "sharp": true },
      "collective": { "op": "all-reduce", "size": "1MiB", "ranks": [0, 1, 2, 8, 9],
                      "algorithm": ")") + algorithm + "\" } }");
    const Ran ran = run_collsim({"run", file});
    EXPECT_EQ(ran.code, exit_usage) << algorithm;
    expect_contains(ran.err, "needs as many ranks of the group on every node");
  }
}

TEST(Run, SeveralFilesInJsonAreAnArrayWithTheMistakesInTheirPlace) {
  const Folder folder;
  const std::string good = folder.write("good.json", chain_scenario());
  const std::string bad = folder.write("bad.json", "{");
  const json all = json::parse(run_collsim({"run", bad, good, "--format", "json"}).out);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].contains("errors"));
  EXPECT_EQ(all[1]["name"], "good");
}

TEST(Run, InterruptedResultsAreWrittenAsIncomplete) {
  const Folder folder;
  const std::string file =
      folder.write("a.json", chain_scenario(R"(, "sweep": {"collective.chunks": [1, 2, 4]})"));
  const Ran ran = run_collsim({"run", file, "--format", "json"}, true);
  EXPECT_EQ(ran.code, exit_interrupted);
  EXPECT_EQ(json::parse(ran.out)["complete"], false);
}

TEST(Run, AFailureIsSaidOnStandardErrorWhereTheOutputDoesNotSayIt) {
  const Folder folder;
  const std::string file = folder.write(
      "a.json",
      chain_scenario(R"(, "expect": [{"id": "quick", "metric": "time", "at_most": "1us"}])"));
  EXPECT_EQ(run_collsim({"run", file}).err, "");
  EXPECT_EQ(
      run_collsim({"run", file, "--format", "csv"}).err.rfind("expectation quick failed: ", 0), 0U);
}

TEST(Run, MoreThanAHundredThousandPointsNeedAYes) {
  const Folder folder;
  const std::string file = folder.write(
      "a.json",
      chain_scenario(R"(, "sweep": {"collective.chunks": {"from": 1, "to": 100001, "step": 1}})"));
  const Ran refused = run_collsim({"run", file});
  EXPECT_EQ(refused.code, exit_usage);
  expect_contains(refused.err, "--yes");
  EXPECT_EQ(run_collsim({"run", file, "--yes"}, true).code, exit_interrupted);
}

TEST(Run, OutputFilesTakeTheirFormatFromTheSuffixOrFromFormat) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  EXPECT_EQ(run_collsim({"run", "-q", file, "-o", folder.path("b.json")}).out, "");
  EXPECT_EQ(json::parse(folder.read("b.json"))["complete"], true);
  EXPECT_EQ(run_collsim({"run", file, "-o", folder.path("b")}).code, exit_usage);
  EXPECT_EQ(run_collsim({"run", file, "-o", folder.path("b"), "--format", "json"}).code, exit_fine);
  EXPECT_EQ(json::parse(folder.read("b"))["complete"], true);
}

TEST(Run, MarkdownIsAlsoCalledAsItsFilesAre) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const Ran full = run_collsim({"run", file, "--format", "markdown"});
  EXPECT_EQ(full.code, exit_fine) << full.err;
  EXPECT_EQ(run_collsim({"run", file, "--format", "md"}).out, full.out);
}

TEST(Run, TheScenarioIsNeverOverwritten) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  EXPECT_EQ(run_collsim({"run", file, "-o", file}).code, exit_usage);
  EXPECT_EQ(folder.read("a.json"), chain_scenario());
}

TEST(Run, ResolvedShowsEachValueWithItsOrigin) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const Ran ran = run_collsim(
      {"run", file, "--print-resolved", "--format", "json", "--set", "collective.chunks=2"});
  const json document = json::parse(ran.out);
  EXPECT_EQ(document["scenario"]["collective"]["chunks"], 2);
  EXPECT_EQ(document["origins"]["/cluster/ranks"], file + ":2:43");
  EXPECT_EQ(document["origins"]["/collective/channels"], "default");
}

}  // namespace
}  // namespace collsim
