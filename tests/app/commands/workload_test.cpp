// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using nlohmann::json;

const char* const pipelines = R"({ "scenario": 1,
  "cluster": { "shape": "chain", "ranks": 4, "link": { "bandwidth": "25GB/s" } },
  "workload": { "pipeline": { "microbatches": 8 },
    "model": { "layers": [ { "times": 4, "forward": "10ms", "backward": "20ms" } ] } },
  "sweep": { "workload.pipeline.schedule": ["gpipe", "1f1b", "interleaved", "zb-h1"] } })";

const char* const ddp = R"({ "scenario": 1,
  "cluster": { "shape": "switch", "ranks": 8, "link": { "bandwidth": "100Gb/s", "overhead": "10us" } },
  "workload": { "ddp": {}, "model": { "forward": "70ms", "optimizer": "4ms",
      "layers": [ { "times": 24, "backward": "6ms", "gradients": "48MiB" } ] } } })";

TEST(WorkloadCommands, RunShowsWhereTheTimeGoes) {
  const Folder folder;
  const Ran ran = run_collsim({"run", folder.write("a.json", pipelines)});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(ran.err, "");
  expect_text(ran.out,
              "pipeline, one training step; chain of 4 ranks, 25 GB/s\n"
              "\n"
              "  schedule         step   formula   compute  bubble  "
              "microbatches  activations  messages\n"
              "  gpipe        330.0 ms  330.0 ms  240.0 ms   27.3%  "
              "           8  8 8 8 8            48\n"
              "  1f1b         330.0 ms  330.0 ms  240.0 ms   27.3%  "
              "           8  4 3 2 1            48\n"
              "  interleaved  285.0 ms  285.0 ms  240.0 ms   15.8%  "
              "           8  11 9 7 5          112\n"
              "  zb-h1        270.0 ms  270.0 ms  240.0 ms   11.1%  "
              "           8  4 4 4 4            48   <- best of these\n");
}

TEST(WorkloadCommands, JsonHasEveryRankAndCommunicator) {
  const Folder folder;
  const Ran ran = run_collsim({"run", folder.write("a.json", ddp), "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json results = json::parse(ran.out);
  EXPECT_EQ(results["scenario"]["workload"]["ddp"]["bucket"], "25MiB");
  EXPECT_FALSE(results["scenario"].contains("collective"));
  const json row = results["rows"][0];
  EXPECT_EQ(row["workload"], "ddp");
  EXPECT_DOUBLE_EQ(row["step_s"], 0.25247433728);
  EXPECT_DOUBLE_EQ(row["compute_s"], 0.218);
  EXPECT_EQ(row["buckets"], 24);
  EXPECT_TRUE(row["microbatches"].is_null());
  EXPECT_EQ(row["by_rank"].size(), 8U);
  EXPECT_NEAR(row["by_communicator"]["world"]["exposed_s"], 0.03447433728, 1e-12);
}

TEST(WorkloadCommands, CsvHasColumnsOnly) {
  const Folder folder;
  const Ran ran = run_collsim({"run", folder.write("a.json", pipelines), "--format", "csv"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("workload.pipeline.schedule,workload,ranks,step_s,analytic_s,"))
      << ran.out;
  expect_lacks(ran.out, "by_");
  expect_contains(ran.out, "gpipe,pipeline,4,0.33,0.33,(m+p-1)*(f+b),");
}

TEST(WorkloadCommands, OthersRefuseInOneSentence) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"explain", file},
                                             {"check", file},
                                             {"show", file},
                                             {"trace", file, "-o", folder.path("t.json")},
                                             {"validate", file},
                                             {"export", "msccl", file}}) {
    SCOPED_TRACE(command.front());
    const Ran ran = run_collsim(command);
    EXPECT_EQ(ran.code, exit_usage);
    EXPECT_EQ(ran.out, "");
    expect_contains(ran.err, ":3:15: ");
    expect_contains(ran.err, "takes a collective, not a training step");
  }
}

TEST(WorkloadCommands, WhatShowsCollectivesOnlyIsRefused) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  for (const std::vector<std::string>& output : std::vector<std::vector<std::string>>{
           {"--format", "nccl-tests"}, {"-o", folder.path("page.html")}}) {
    const Ran ran = run_collsim({"run", file, output[0], output[1]});
    EXPECT_EQ(ran.code, exit_usage) << output[1];
    expect_contains(ran.err, "a workload has no collective of its own to show");
  }
  ASSERT_EQ(run_collsim({"run", file, "-o", folder.path("r.json"), "--quiet"}).code, exit_fine);
  const Ran report = run_collsim({"report", folder.path("r.json"), "-o", folder.path("r.html")});
  EXPECT_EQ(report.code, exit_usage);
  expect_contains(report.err, "these are results of a training step");
}

TEST(WorkloadCommands, ResolvedValuesSayWhereTheyComeFrom) {
  const Folder folder;
  const Ran ran = run_collsim({"run", folder.write("a.json", ddp), "--print-resolved", "--set",
                               "workload.ddp.overlap=false"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "workload.ddp.overlap");
  expect_contains(ran.out, "--set workload.ddp.overlap=false");
  expect_contains(ran.out, "workload.ddp.first_bucket");
}

}  // namespace
}  // namespace collsim
