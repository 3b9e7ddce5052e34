// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/app/commands/report_page.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/app/trace_rules.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

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
              "  schedule         step   formula   compute  bubble  x bound  "
              "microbatches  activations  messages\n"
              "  gpipe        330.0 ms  330.0 ms  240.0 ms   27.3%     1.38  "
              "           8  8 8 8 8            48\n"
              "  1f1b         330.0 ms  330.0 ms  240.0 ms   27.3%     1.38  "
              "           8  4 3 2 1            48\n"
              "  interleaved  285.0 ms  285.0 ms  240.0 ms   15.8%     1.19  "
              "           8  11 9 7 5          112\n"
              "  zb-h1        270.0 ms  270.0 ms  240.0 ms   11.1%     1.13  "
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

TEST(WorkloadCommands, CheckProvesASchemeAndShowWantsAProgram) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran proved = run_collsim({"check", file});
  EXPECT_EQ(proved.code, exit_fine);
  expect_contains(proved.out, "ddp on 8 ranks proved, 24 collectives");
  const Ran shown = run_collsim({"show", file});
  EXPECT_EQ(shown.code, exit_usage);
  expect_contains(
      shown.err, "only a workload with a \"program\" has numbers to show, not a scheme; --expand ");
}

TEST(WorkloadCommands, CheckSaysWhatItProvesOfTheData) {
  const std::string mean = ", the optimizer reads the mean of all gradients, each counted once";
  const std::string each = ", the optimizer reads all gradients, each counted once";
  const std::string same = ", and replicas are the same afterwards";
  const std::pair<std::string, std::string> known[] = {
      {R"("fsdp": {"hybrid": 2, "microbatches": 2})", mean + same},
      {R"("ddp": {"devices_per_replica": 2})", mean + same},
      {R"("data-parallel": {"inputs": "1MB", "outputs": "1kB"})", each + same},
      {R"("experts": {})", each}};
  const Folder folder;
  for (const auto& [scheme, proved] : known) {
    const std::string file = folder.write("a.json", R"({ "scenario": 1,
      "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
      "workload": { )" + scheme + R"(, "model": { "layers": [
        { "times": 4, "forward": "1ms", "backward": "2ms", "gradients": "1MB", "activations": "1kB" } ] } } })");
    const Ran ran = run_collsim({"check", file});
    EXPECT_EQ(ran.code, exit_fine) << scheme << ran.err;
    expect_contains(ran.out,
                    "no stream touches data that another one may still use" + proved + "\n");
  }
}

TEST(WorkloadCommands, CheckNamesTheLinesOfARaceAndRunStillTellsTheTime) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 2, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
    "workload": { "data": { "x": "8B" }, "program": [
      { "on": 0, "do": [
        { "async": { "send": "x", "to": 1 } },
        { "set": { "x": "2" } } ] },
      { "on": 1, "do": [ { "receive": "x", "from": 0 } ] } ] } })");
  const Ran ran = run_collsim({"check", file});
  EXPECT_EQ(ran.code, exit_failed);
  expect_contains(ran.out, file + ":5:9: rank 0: send to rank 1 reads x,\n" + file +
                               ":6:9: rank 0: set writes x, perhaps before that has ended\n");
  const json proof = json::parse(run_collsim({"check", "--format", "json", file}).out);
  EXPECT_EQ(proof["proofs"][0]["fault"]["kind"], "race");
  EXPECT_EQ(run_collsim({"run", file}).code, exit_fine);
}

std::string three_meet(const std::string& timeout, const std::string& last) {
  return R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 3, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
    "workload": { "timeout": ")" +
         timeout + R"(", "program": [
      { "on": "all", "do": [ { "work": "rank * 1s" }, { "barrier": true } ] }, { "on": )" +
         last + R"(, "do": [ { "barrier": true } ] } ] } })";
}

TEST(WorkloadCommands, CheckSaysWhoGivesUpWhen) {
  const Folder folder;
  const auto checked = [&](const std::string& text) {
    return run_collsim({"check", folder.write("a.json", text)});
  };
  const Ran late = checked(three_meet("1.5s", "\"all\""));
  EXPECT_EQ(late.code, exit_fine);
  expect_contains(late.out,
                  "with its time-out of 1.5s:\n  rank 0 gives up at 1.5 s\n"
                  "  a time-out of 2.00001s would pass\n");
  expect_contains(checked(three_meet("2.1s", "\"all\"")).out,
                  "with its time-out of 2.1s nobody gives up\n");
  const Ran gone = checked(three_meet("600s", "[0, 2]"));
  EXPECT_EQ(gone.code, exit_failed);
  expect_contains(gone.out, "call 2 of world (barrier) has 2 of 3 members");
  expect_contains(gone.out, "with its time-out of 600s:\n  ranks 0 and 2 give up at 602 s\n");
  const json proof = json::parse(run_collsim({"check", "--format", "json",
                                              folder.write("b.json", three_meet("600s", "[0, 2]"))})
                                     .out)["proofs"][0];
  EXPECT_TRUE(proof["timeout"]["least_timeout_s"].is_null());
  EXPECT_EQ(proof["timeout"]["gives_up"].size(), 2U);
  EXPECT_EQ(proof["timeout"]["gives_up"][1]["rank"], 2);
}

TEST(WorkloadCommands, OthersRefuseInOneSentence) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran = run_collsim({"export", "msccl", file});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  expect_contains(ran.err, ":3:15: ");
  expect_contains(ran.err, "takes a collective, not a training step");
}

TEST(WorkloadCommands, WhatShowsCollectivesOnlyIsRefused) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran = run_collsim({"run", file, "--format", "nccl-tests"});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "a workload has no collective of its own to show");
}

TEST(WorkloadCommands, AReportHasOneRankOfEveryStage) {
  const Folder folder;
  const std::string file = folder.write("a.json", pipelines);
  ASSERT_EQ(run_collsim({"run", file, "-o", folder.path("r.json"), "--quiet"}).code, exit_fine);
  const Ran ran = run_collsim({"report", folder.path("r.json"), "-o", folder.path("r.html")});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json data = data_of(folder.read("r.html"))[0];
  EXPECT_EQ(data["steps"]["step_s"].size(), 4U);
  ASSERT_EQ(data["pictures"].size(), 2U);  // the first and the fastest
  EXPECT_EQ(data["pictures"][1]["row"], 3);
  EXPECT_EQ(data["pictures"][1]["kinds"], 4);
  const json stage = data["pictures"][0]["streams"][0];
  EXPECT_EQ(stage["name"], "rank 0 compute");
  EXPECT_EQ(stage["boxes"].size(), 16U);  // 8 microbatches forward and backward
  EXPECT_EQ(stage["boxes"][8]["text"], "microbatch 1: backward of layer 1");
  EXPECT_NEAR(stage["boxes"][8]["begin_s"].get<double>(), 0.17, 1e-12);
}

TEST(WorkloadCommands, AReportHasOneRankForAllThatDoTheSame) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  ASSERT_EQ(run_collsim({"run", file, "-o", folder.path("page.html"), "--quiet"}).code, exit_fine);
  const json data = data_of(folder.read("page.html"))[0];
  const json streams = data["pictures"][0]["streams"];
  ASSERT_EQ(streams.size(), 2U);  // compute and communication
  EXPECT_EQ(streams[1]["name"], "rank 0 communication");
  EXPECT_EQ(streams[1]["ranks"], 8);
  EXPECT_EQ(streams[1]["boxes"].size(), 24U);
  EXPECT_NEAR(data["steps"]["exposed_s"][0].get<double>(), 0.03447433728, 1e-12);
}

TEST(WorkloadCommands, AReportTellsLatenessAndLaunchesFromWork) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 2, "link": { "bandwidth": "100Gb/s" } },
    "workload": { "ddp": {}, "slow": { "0": "3ms" },
      "device": { "flops": "100TFLOP/s", "launch": "1ms" },
      "model": { "transformer": { "layers": 2, "hidden": 512, "heads": 8, "seq": 512 } } } })");
  ASSERT_EQ(run_collsim({"run", file, "-o", folder.path("page.html"), "--quiet"}).code, exit_fine);
  std::map<std::string, std::string> first_kinds;  // by stream
  const json data = data_of(folder.read("page.html"))[0];
  for (const json& stream : data["pictures"][0]["streams"])
    first_kinds[stream["name"]] = stream["boxes"][0]["kind"];
  EXPECT_EQ(first_kinds["rank 0 compute"], "late");
  EXPECT_EQ(first_kinds["rank 0 host"], "launch");
  EXPECT_EQ(first_kinds["rank 1 compute"], "forward");
}

TEST(WorkloadCommands, ResolvedValuesSayWhereTheyComeFrom) {
  const Folder folder;
  const Ran ran = run_collsim({"run", folder.write("a.json", ddp), "--print-resolved", "--set",
                               "workload.ddp.overlap=true"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "workload.ddp.overlap");
  expect_contains(ran.out, "--set workload.ddp.overlap=true");
  expect_contains(ran.out, "workload.ddp.first_bucket");
}

TEST(WorkloadCommands, TraceHasATrackForEveryStreamAndCommunicator) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran = run_collsim({"trace", file});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(testing::TraceRules::broken_by(ran.out), std::vector<std::string>{});
  std::map<std::string, int> slices;
  std::set<std::string> tracks;
  const json trace = json::parse(ran.out);
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++slices[event["name"]];
    if (event["name"] == "thread_name") tracks.insert(event["args"]["name"]);
  }
  EXPECT_TRUE(tracks.contains("rank 3 compute"));
  EXPECT_TRUE(tracks.contains("rank 3 communication"));
  EXPECT_TRUE(tracks.contains("rank 3 world"));
  EXPECT_EQ(slices["backward of layer 24"], 8 + 1);     // on every rank, and on the critical path
  EXPECT_EQ(slices["all-reduce of bucket 24"], 8 * 2);  // on the stream and on the communicator
  EXPECT_GT(slices["receive_reduce_send"], 0);
}

TEST(WorkloadCommands, ATraceWithTooManyMessagesKeepsTheActions) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran = run_collsim({"trace", file, "--limit", "5000"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(testing::TraceRules::broken_by(ran.out), std::vector<std::string>{});
  expect_contains(ran.err, "omits the messages inside of collectives");
  const json trace = json::parse(ran.out);
  EXPECT_EQ(trace["otherData"]["events_left_out"], 0);
  expect_contains(ran.out, "all-reduce of bucket 24");
  EXPECT_EQ(ran.out.find("receive_reduce_send"), std::string::npos);
}

TEST(WorkloadCommands, ATraceOfAPipelineNamesMicrobatches) {
  const Folder folder;
  const std::string file = folder.write("a.json", pipelines);
  const Ran ran = run_collsim({"trace", file, "--flows", "all", "--at", "schedule=zb-h1"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(testing::TraceRules::broken_by(ran.out), std::vector<std::string>{});
  expect_contains(ran.out, "microbatch 8: weight gradients of layer 4");
  int arrows = 0;
  const json trace = json::parse(ran.out);
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "s") ++arrows;
  EXPECT_EQ(arrows, 48);  // one for every message
}

TEST(WorkloadCommands, ExplainTellsTheCriticalPathInWords) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran = run_collsim({"explain", file});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "forward on rank ");
  expect_contains(ran.out, "backward of layer 24 on rank ");
  expect_contains(ran.out, "all-reduce of buckets 1 to 24: wire ");
  expect_contains(ran.out,
                  "backward of layers 24 to 1: 1 of 24 none, the others 1.186 ms to 27.29 ms");
  expect_contains(ran.out, "24 calls, 172.5 ms altogether; computing hides 138 ms, 34.47 ms");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  double sum = 0;
  for (const auto& [name, seconds] : explained["shares"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, 0.25247433728, 1e-12);
  // Of the path, computing is what comes before the first bucket and after the last.
  EXPECT_NEAR(explained["shares"]["computing_s"].get<double>(), 0.080, 1e-12);
  EXPECT_NEAR(explained["exposed"][0]["exposed_s"].get<double>(), 0.03447433728, 1e-12);
}

// Forward and backward pass gather the parameters of the layers up and down.
TEST(WorkloadCommands, ExplainNamesAllLayersOfCalls) {
  const Folder folder;
  const Ran ran = run_collsim({"explain", folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
    "workload": { "fsdp": {}, "model": { "layers": [
      { "times": 6, "forward": "1ms", "backward": "2ms", "gradients": "10MB" } ] } } })")});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "all-gather of layers 1 to 6: 11 calls, ");
  expect_contains(ran.out, "reduce-scatter of layers 6 to 1: 6 calls, ");
}

// Those of cp come right before and after those of tp.
TEST(WorkloadCommands, ExplainTellsCallsOfSeveralGroupsApart) {
  const Folder folder;
  const Ran ran = run_collsim({"explain", folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "10GB/s" } },
    "workload": { "train": { "tp": 2, "cp": 2 }, "device": { "flops": "1TFLOP/s" }, "model": {
      "transformer": { "layers": 4, "hidden": 1024, "heads": 16, "seq": 1024 } } } })")});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "all-reduce on tp, forward of layers 1 to 4: 8 calls, ");
  expect_contains(ran.out, "all-reduce on tp, backward of layers 4 to 1: 8 calls, ");
  expect_contains(ran.out, "all-gather on cp, forward of layers 1 to 4: 4 calls, ");
  expect_contains(ran.out, "all-gather on cp, backward of layers 4 to 1: 4 calls, ");
  expect_contains(ran.out, "reduce-scatter on cp, backward of layers 4 to 1: 4 calls, ");
}

TEST(WorkloadCommands, ATraceOfALargeStepSaysWhatWouldHelp) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const Ran ran =
      run_collsim({"trace", file, "--set", "cluster.ranks=400", "-o", folder.path("t.json")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_text(ran.err, file +
                           ": too large to record: 400 ranks take more than 5,000,000 steps; "
                           "fewer ranks, layers, buckets or microbatches show the same pattern\n");
}

TEST(WorkloadCommands, ShowSaysWhyAProgramCannotRun) {
  const Folder folder;
  const Ran ran = run_collsim({"show", folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 2, "link": { "bandwidth": "25GB/s" } },
    "workload": { "data": { "x": [[1], [2, 3]] }, "program": [ { "do": [ { "all-reduce": "x" } ] } ] } })")});
  EXPECT_EQ(ran.code, exit_failed);
  expect_contains(ran.out,
                  "\nthis program does not fit together: call 1 of world is all-reduce of 1 f32, ");
}

TEST(WorkloadCommands, KnobsAreSimulatedAndNotGuessed) {
  const Folder folder;
  const std::string file = folder.write("a.json", ddp);
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  for (const json& knob : explained["knobs"]) {
    if (knob["name"] != "bandwidth of all links") continue;
    const Ran twice =
        run_collsim({"run", file, "--set", "cluster.link.bandwidth=200Gb/s", "--format", "json"});
    EXPECT_EQ(knob["time_s"], json::parse(twice.out)["rows"][0]["step_s"]);
  }
  const json bucket = explained["settings"][0];
  EXPECT_EQ(bucket["path"], "workload.ddp.bucket");
  for (const json& tried : bucket["tried"]) {
    const std::string set = "workload.ddp.bucket=" + tried["value"].get<std::string>();
    const Ran ran = run_collsim({"run", file, "--set", set, "--format", "json"});
    EXPECT_EQ(tried["time_s"], json::parse(ran.out)["rows"][0]["step_s"]) << set;
  }
}

TEST(WorkloadCommands, ExplainSaysThatMemoryIsShort) {
  const std::string file = COLLSIM_SOURCE_DIR "/scenarios/training/memory-against-bytes.json";
  const auto explained = [&](const std::string& at) {
    return run_collsim({"explain", file, "--at", "workload=" + at}).out;
  };
  expect_contains(explained(R"({"ddp":{}})"),
                  "Memory is short: each rank needs 109 GB, of which a device has 80 GB");
  EXPECT_EQ(explained(R"({"fsdp":{"zero":1}})").find("Memory is short"), std::string::npos);
}

// Its own messages are too many; a smaller step with the same parts has a path.
TEST(WorkloadCommands, ExplainTellsTheWaysOfALargeStepByASmallerOne) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
  "cluster": { "shape": "nodes", "nodes": 16, "gpus_per_node": 8, "nics_per_node": 8,
    "intra": { "shape": "switch", "link": { "bandwidth": "200GB/s" } },
    "inter": { "link": { "bandwidth": "25GB/s" } } },
  "workload": { "train": { "tp": 8, "pp": 4, "dp": 4, "microbatches": 32 },
    "model": { "layers": [ { "times": 32, "forward": "10ms", "backward": "20ms",
                             "gradients": "64MiB", "activations": "32MiB" } ] } } })");
  const Ran ran = run_collsim({"explain", file, "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json whole = json::parse(ran.out);
  EXPECT_TRUE(whole["path"].is_null());
  EXPECT_EQ(whole["knobs"][0]["name"], "computing of all ranks");
  const json smaller = whole["smaller"];
  EXPECT_EQ(smaller["changes"]["workload.train.dp"], 1);
  EXPECT_EQ(smaller["changes"]["workload.ranks"], 32);
  EXPECT_FALSE(smaller["path"].empty());
  double all = 0;
  for (const auto& [name, seconds] : smaller["shares"].items()) all += seconds.get<double>();
  EXPECT_NEAR(all, smaller["step_s"], 1e-9);
  if (testing::is_sanitized) return;  // the same again, in words
  const std::string text = run_collsim({"explain", file}).out;
  expect_contains(text, "too many to record");
  expect_contains(text, "workload.train.dp = 1, workload.ranks = 32");
  expect_contains(text, "exposed on tp");
  expect_contains(text, "The critical path in words");
}

// Data parallelism has no smaller step of as many ranks: fewer have its parts, on two nodes.
std::string many_replicas(const char* scheme) {
  return fmt::format(R"({{ "scenario": 1,
  "cluster": {{ "preset": "dgx-h100", "nodes": 8 }},
  "workload": {{ "{}": {{}}, "jitter": {{ "mean": 0.01, "seed": 1 }},
    "model": {{ "layers": [ {{ "times": 32, "forward": "1ms", "backward": "2ms",
                              "gradients": "64MiB" }} ] }} }} }})",
                     scheme);
}

TEST(WorkloadCommands, ExplainTriesKnobsOfManyReplicasOnFewerRanks) {
  const Folder folder;
  const std::string file = folder.write("a.json", many_replicas("fsdp"));
  const Ran ran = run_collsim({"explain", file, "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json whole = json::parse(ran.out);
  EXPECT_TRUE(whole["knobs"].empty());
  const json smaller = whole["smaller"];
  const int ranks = smaller["changes"]["workload.ranks"];
  EXPECT_GE(ranks, 16);
  EXPECT_LT(ranks, 64);
  EXPECT_FALSE(smaller["path"].empty());
  ASSERT_FALSE(smaller["knobs"].empty());
  const std::string set = fmt::format("workload.ranks={}", ranks);
  const Ran alone = run_collsim({"run", file, "--set", set, "--format", "json"});
  EXPECT_EQ(json::parse(alone.out)["rows"][0]["step_s"], smaller["step_s"]);
}

TEST(WorkloadCommands, ExplainSaysOfHowManyRanksItsKnobsAre) {
  const Folder folder;
  const std::string text =
      run_collsim({"explain", folder.write("a.json", many_replicas("ddp"))}).out;
  expect_contains(text, "The critical path in words");
  // Fewer ranks alone might be under another protocol.
  expect_contains(text, "of the step of workload.protocol = LL128, workload.ranks");
  expect_contains(text, "of it is exposed communication, ");
  expect_lacks(text, "Not tried");
}

// Not by all of its rows; and what was written needs no file to be read again.
TEST(WorkloadCommands, ASweptTableIsToldByItsFile) {
  const Folder folder;
  folder.write("a.csv", "backward,gradients\n6ms,48MiB\n");
  folder.write("b.csv", "backward,gradients\n9ms,48MiB\n");
  json scenario = json::parse(ddp);
  scenario["sweep"] = {{"workload.model.layers", {"a.csv", "b.csv"}}};
  scenario["expect"] = {
      {{"id", "best"}, {"metric", "argmin(step, workload.model.layers)"}, {"equals", "a.csv"}}};
  const std::string file = folder.write("swept.json", scenario.dump());
  const Ran ran = run_collsim({"run", file});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.out, "\n  a.csv  ");
  expect_contains(ran.out, "\n  b.csv  ");
  expect_lacks(ran.out, "48MiB");
  expect_contains(run_collsim({"run", file, "--format", "csv"}).out, "\nb.csv,ddp,8,");
  EXPECT_EQ(run_collsim({"explain", file, "--at", "layers=b.csv"}).code, exit_fine);
  expect_contains(run_collsim({"explain", file, "--at", "layers=c.csv"}).err,
                  "it takes a.csv, b.csv");
  const json results = json::parse(run_collsim({"run", file, "--format", "json"}).out);
  const Folder elsewhere;
  const Ran again = run_collsim({"run", elsewhere.write("a.json", results["scenario"].dump())});
  EXPECT_EQ(again.out, ran.out);
  const Ran drawn = run_collsim({"report", elsewhere.write("r.json", results.dump()), "-o", "-"});
  expect_contains(drawn.out, R"("values":["a.csv","b.csv"])");
}

// As the table of a profiler says it.
TEST(WorkloadCommands, LayersComeFromATable) {
  const Folder folder;
  folder.write("layers.csv",
               "\xEF\xBB\xBF# two kinds, as Excel writes "
               "them\nname,times,backward,gradients\n\"the \"\"first\"\", "
               "alone\",1,6ms,48MiB\n\n\"others\",23,6ms, "
               "48MiB\n");
  const auto with = [&](const std::string& layers) {
    std::string text = ddp;
    const std::size_t begin = text.find("[ { \"times\"");
    return folder.write("a.json", text.replace(begin, text.find(']', begin) + 1 - begin, layers));
  };
  const Ran listed = run_collsim({"run", folder.write("b.json", ddp), "--format", "json"});
  const Ran ran = run_collsim({"run", with("\"layers.csv\""), "--format", "json"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["rows"][0]["fingerprint"],
            json::parse(listed.out)["rows"][0]["fingerprint"]);
  const auto mistake = [&](const std::string& table) {
    folder.write("layers.csv", table);
    return run_collsim({"run", with("\"layers.csv\"")}).err;
  };
  expect_contains(mistake("name,backwards\na,1ms\n"),
                  "layers.csv:1:6: \"backwards\" is no column of a table of layers");
  expect_contains(mistake("name,backward\na,1ms,2\n"), "layers.csv:2:1: 3 cells in a table of 2");
  expect_contains(mistake("name,backward\na,1mm\n"), "layers.csv:2:3: ");
  expect_contains(mistake("name,backward\n\"a,1ms\n"), "layers.csv:2:1: this quote does not end");
  expect_contains(mistake("name,backward\n"), "layers.csv:1:1: this table has no layers");
  std::string long_table = "backward\n";
  for (int i = 0; i < 200'000; ++i) long_table += "1ms\n";
  expect_contains(mistake(long_table), "a model has at most 100,000 layers");
}

TEST(WorkloadCommands, ExplainTriesTheSchedulesOfAPipeline) {
  const Folder folder;
  const std::string file = folder.write("a.json", pipelines);
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  ASSERT_EQ(explained["settings"].size(), 1U);
  EXPECT_EQ(explained["settings"][0]["now"], "gpipe");
  EXPECT_EQ(explained["settings"][0]["best"], "zb-h1");
  EXPECT_NEAR(explained["path"].back()["to_s"].get<double>(), 0.33, 1e-12);
}

TEST(WorkloadCommands, CheckRefusesMoreRanksThanItCanHold) {
  const Folder folder;
  const std::string file = folder.write("many.json", R"({"scenario": 1,
    "cluster": {"shape": "switch", "ranks": 1000000, "link": {"bandwidth": "10GB/s"}},
    "workload": {"ddp": {}, "model": {"layers": [
      {"times": 8, "forward": "1us", "backward": "1us", "gradients": "4kB"}]}}})");
  const Ran ran = run_collsim({"check", file});
  EXPECT_NE(ran.code, exit_fine);
  expect_contains(ran.err + ran.out,
                  "too large to check: 1,000,000 ranks, and 131,072 are the most");
}

}  // namespace
}  // namespace collsim
