// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/app/trace_rules.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using nlohmann::json;
using testing::TraceRules;

TEST(Trace, WritesAFileAndSaysWhatToDoWithIt) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const std::string to = folder.path("trace.json");
  const Ran ran = run_collsim({"trace", file, "-o", to});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(ran.out, "");
  expect_contains(ran.err, " events to " + to + "; open it at https://ui.perfetto.dev\n");
  EXPECT_EQ(TraceRules::broken_by(folder.read("trace.json")), std::vector<std::string>{});
}

TEST(Trace, OnAPipeIsNothingButTheTrace) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const Ran ran = run_collsim({"trace", file});
  EXPECT_EQ(ran.code, exit_fine);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(TraceRules::broken_by(ran.out), std::vector<std::string>{});
  EXPECT_EQ(ran.out, run_collsim({"trace", file, "-o", "-"}).out);
}

TEST(Trace, IsNotForATerminal) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  std::ostringstream out, err;
  const std::atomic<bool> interrupted{false};
  Terminal terminal{out, err, true, false, false, false, false, interrupted};
  EXPECT_EQ(run_command_line({"trace", file}, terminal), exit_usage);
  EXPECT_EQ(out.str(), "");
  expect_contains(err.str(), "use -o trace.json");
}

TEST(Trace, TakesThePointThatIsAskedFor) {
  const Folder folder;
  const std::string file =
      folder.write("a.json", chain_scenario(R"(, "sweep": { "collective.chunks": [1, 5] })"));
  const json one = json::parse(run_collsim({"trace", file, "--flows", "all"}).out);
  const json five =
      json::parse(run_collsim({"trace", file, "--flows", "all", "--at", "chunks=5"}).out);
  const auto arrows = [](const json& trace) {
    std::size_t count = 0;
    for (const json& event : trace["traceEvents"]) count += event["ph"] == "s" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(arrows(one), 3U);
  EXPECT_EQ(arrows(five), 15U);
}

TEST(Trace, SaysWhatTheLimitLeftOut) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const Ran ran = run_collsim({"trace", file, "--set", "collective.chunks=64", "--limit", "100"});
  EXPECT_EQ(ran.code, exit_fine);
  expect_contains(ran.err, "more were omitted (--limit ");
  EXPECT_EQ(TraceRules::broken_by(ran.out), std::vector<std::string>{});
}

TEST(Trace, RefusesALimitThatLeavesNothing) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const std::string to = folder.path("trace.json");
  const Ran ran = run_collsim({"trace", file, "--limit", "5", "-o", to});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_FALSE(std::filesystem::exists(to));
  const std::string begin = "collsim trace: --limit 5 is too small: use at least --limit ";
  ASSERT_EQ(ran.err.rfind(begin, 0), 0U) << ran.err;
  const std::string enough =
      ran.err.substr(begin.size(), ran.err.find('\n', begin.size()) - begin.size());
  const Ran again = run_collsim({"trace", file, "--limit", enough});
  EXPECT_EQ(again.code, exit_fine) << again.err;
  EXPECT_EQ(again.err.rfind("the trace has the " + enough + " events", 0), 0U) << again.err;
}

TEST(Trace, WhatIsTooLargeIsRefusedInWordsBeforeItIsSimulated) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
  "cluster": { "shape": "ring", "ranks": 16384, "link": { "bandwidth": "25GB/s" } },
  "collective": { "op": "all-reduce", "algorithm": "ring", "size": "1GiB" } })");
  const Ran ran = run_collsim({"trace", file, "-o", folder.path("trace.json")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err,
                  "too large for a trace: 16384 ranks take about 5.4e+08 steps (limit: "
                  "5000000); fewer ranks, chunks or channels show the same pattern");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.json"});
}

TEST(Trace, DoesNotOverwriteTheScenario) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  std::filesystem::create_symlink(file, folder.path("link.json"));
  for (const std::string& to : {file, folder.path("./a.json"), folder.path("link.json")}) {
    const Ran ran = run_collsim({"trace", file, "-o", to});
    EXPECT_EQ(ran.code, exit_usage) << to;
    expect_contains(ran.err, "writing " + to + " would overwrite ");
  }
  EXPECT_EQ(folder.read("a.json"), chain_scenario());
}

TEST(Trace, LateRanksBeginLate) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  const json trace =
      json::parse(run_collsim({"trace", file, "--set", R"(cluster.late={"2": "5ms"})"}).out);
  bool found = false;
  for (const json& event : trace["traceEvents"])
    if (event.value("cat", "") == "kernel" && event["args"]["Rank"] == 2) {
      EXPECT_EQ(event["ts"], 5000);
      found = true;
    }
  EXPECT_TRUE(found);
}

TEST(Trace, WrongOptionsAreMistakesOfUsage) {
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  EXPECT_EQ(run_collsim({"trace", file, "--flows", "some"}).code, exit_usage);
  EXPECT_EQ(run_collsim({"trace", file, "--limit", "0"}).code, exit_usage);
  EXPECT_EQ(run_collsim({"trace", file, "-o", folder.path("no/trace.json")}).code, exit_usage);
}

}  // namespace
}  // namespace collsim
