// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using nlohmann::json;

std::string ddp_with(const std::string& more, const std::string& times) {
  return R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "100Gb/s" } },
    "workload": { "ddp": { "bucket": "25MiB" }, "model": {
        "layers": [ { "times": 4, "gradients": "20MiB", )" +
         times + " } ] }" + more + " } }";
}

double knob_time(const json& explained, const std::string& name) {
  for (const json& knob : explained["knobs"])
    if (knob["name"] == name) return knob["time_s"].get<double>();
  ADD_FAILURE() << name << " is no knob";
  return 0;
}

// Lateness is no work: faster ranks do not make up for it, and a punctual rank is a knob.
TEST(ExplainStep, ALateRankIsNotAFasterOne) {
  const Folder folder;
  const std::string times = R"("forward": "5ms", "backward": "10ms")";
  const std::string half = R"("forward": "2.5ms", "backward": "5ms")";
  const std::string lateness = R"(, "slow": { "3": "17ms" })";
  const std::string late = folder.write("a.json", ddp_with(lateness, times));
  const std::string faster = folder.write("b.json", ddp_with(lateness, half));
  const std::string punctual = folder.write("c.json", ddp_with("", times));
  const auto step = [](const std::string& file) {
    const Ran ran = run_collsim({"run", file, "--format", "json"});
    return json::parse(ran.out)["rows"][0]["step_s"].get<double>();
  };
  const json explained = json::parse(run_collsim({"explain", late, "--format", "json"}).out);
  EXPECT_EQ(knob_time(explained, "workload.slow"), step(punctual));
  EXPECT_EQ(knob_time(explained, "computing of all ranks"), step(faster));
  EXPECT_NEAR(explained["shares"]["other_s"].get<double>(), 0.017, 1e-12);
  expect_contains(run_collsim({"explain", late}).out, "late start on rank 3: other 17 ms");
}

// What comes in turn is not cut, and JSON says how much of the path is not there.
TEST(ExplainStep, ALongPathLosesItsMiddle) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "preset": "dgx-h100", "nodes": 2 },
    "workload": { "train": { "tp": 2, "pp": 2, "dp": 4, "schedule": "1f1b", "zero": 1 },
      "model": { "transformer": { "layers": 16, "hidden": 4096, "heads": 32, "seq": 4096,
                                  "micro_batch": 1, "global_batch": 64 } } } })");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  const json& path = explained["path"];
  const json& left_out = explained["path_left_out"];
  ASSERT_TRUE(left_out.is_object());
  EXPECT_GT(left_out["entries"], 10);
  const auto after = left_out["after"].get<std::size_t>();
  ASSERT_LT(after, path.size());
  EXPECT_LT(path[after - 1]["to_s"], path[after]["from_s"]);
  const std::string told = run_collsim({"explain", file}).out;
  const std::size_t cut = told.find(" lines more\n");
  ASSERT_NE(cut, std::string::npos) << told;
  const std::size_t next = told.find('\n', cut) + 1;
  expect_contains(told.substr(next, told.find('\n', next) - next),
                  "16 times in turn, the next 2 lines");
}

TEST(ExplainStep, AJobHasCheckpointsBetweenItsStepsOnly) {
  const Folder folder;
  const auto job_with = [&](const std::string& more) {
    const std::string failures =
        R"(, "failures": {"mtbf": "3h", "checkpoint": "60s", "restart": "10min", "steps": 10)" +
        more + "}";
    const std::string file =
        folder.write("a.json", ddp_with(failures, R"("forward": "5ms", "backward": "10ms")"));
    expect_contains(run_collsim({"explain", file}).out,
                    more.empty() ? "none: the job ends" : "one after every");
    return json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  };
  const json short_one = job_with("");
  const double work = 10 * short_one["step_s"].get<double>();
  EXPECT_EQ(short_one["job"]["checkpoints"], 0);
  // One failure in 3 h, each of which costs half of the work and a restart.
  EXPECT_NEAR(short_one["job"]["time_s"], work * (1 + (600 + work / 2) / 10800), 0.01 * work);
  const json often = job_with(R"(, "interval": "1us")");
  EXPECT_EQ(often["job"]["interval_s"], often["step_s"]);
}

TEST(ExplainStep, LateRanksAndLostSwitchesOfTheClusterAreKnobs) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 2, "spines": 2,
      "link": { "bandwidth": "100Gb/s" }, "late": { "1": "2ms" }, "switches_down": ["spine1"] },
    "workload": { "ddp": {}, "model": {
        "layers": [ { "times": 4, "backward": "10ms", "gradients": "20MiB" } ] } } })");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  EXPECT_NEAR(knob_time(explained, "cluster.late"), explained["step_s"].get<double>() - 0.002,
              1e-9);
  EXPECT_LE(knob_time(explained, "cluster.switches_down"), explained["step_s"].get<double>());
}

// NCCL's protocol follows from the messages, so another bucket might change it, too.
TEST(ExplainStep, BucketsAreTriedUnderTheProtocolOfTheStep) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "preset": "dgx-a100", "nodes": 2 },
    "workload": { "ddp": {}, "protocol": "LL128", "model": { "name": "resnet-50",
        "forward": "20ms", "backward": "40ms" } } })");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  const json run = json::parse(
      run_collsim({"run", file, "--set", "workload.ddp.bucket=64MiB", "--format", "json"})
          .out)["rows"][0];
  EXPECT_EQ(run["protocol"], "LL128");
  const json settings = explained["settings"];
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0]["path"], "workload.ddp.bucket");
  const auto is_64 = [](const json& tried) { return tried["value"] == "64MiB"; };
  const auto tried = std::find_if(settings[0]["tried"].begin(), settings[0]["tried"].end(), is_64);
  ASSERT_NE(tried, settings[0]["tried"].end());
  EXPECT_EQ((*tried)["time_s"], run["step_s"]);
  EXPECT_EQ(settings[1]["path"], "workload.protocol");
  EXPECT_EQ(settings[1]["tried"].size(), 3U);
  expect_contains(run_collsim({"explain", file}).out, "One training step, ddp under LL128;");
}

// What FSDP's passes take longer was in the time of computing without a word.
TEST(ExplainStep, ConstantsOfTheDeviceThatCostTimeAreKnobs) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "preset": "dgx-a100", "nodes": 2 },
    "workload": { "fsdp": {}, "protocol": "Simple", "model": { "transformer": { "layers": 4,
        "hidden": 1024, "heads": 16, "seq": 512, "vocab": 32000, "micro_batch": 4 } } } })");
  const auto explained = [&](const std::string& zero) {
    return json::parse(
        run_collsim({"explain", file, "--set", "workload.fsdp.zero=" + zero, "--format", "json"})
            .out);
  };
  const auto run = [&](const std::string& set) {
    return json::parse(run_collsim({"run", file, "--set", set, "--format", "json"})
                           .out)["rows"][0]["step_s"]
        .get<double>();
  };
  const json whole = explained("3");
  for (const std::string key : {"sharding", "slowdown"})
    EXPECT_NEAR(knob_time(whole, "workload.device." + key),
                run("workload.device." + key + (key == "sharding" ? "=0s" : "=0")), 1e-11);
  const json first = explained("1");
  EXPECT_EQ(first.dump().find("device.sharding"), std::string::npos);  // gathers for no pass
  EXPECT_EQ(first["settings"][0]["path"], "workload.fsdp.bucket");
}

TEST(ExplainStep, AWorkloadOfASweepIsMeantByItsKind) {
  const std::vector<std::string> explain = {
      "explain", COLLSIM_SOURCE_DIR "/scenarios/training/three-ways.json", "--at"};
  const auto at = [&](const std::string& point) {
    std::vector<std::string> arguments = explain;
    arguments.push_back(point);
    return run_collsim(arguments);
  };
  expect_contains(at("workload=parameter-server").out, "switch of 5 ranks");
  expect_contains(at("workload=ddp bucket 25MB").out, "step, ddp; switch of 4 ranks");
  const std::string volumes = COLLSIM_SOURCE_DIR "/scenarios/training/volumes.json";
  const auto bytes_of = [&](const std::string& point) {
    return run_collsim({"explain", volumes, "--at", point, "--format", "json"}).out;
  };
  EXPECT_EQ(bytes_of("workload=fsdp"), bytes_of(R"(workload={"fsdp":{}})"));  // not "fsdp zero 1"
  expect_contains(at("workload=fsdp").err,
                  "it takes data-parallel inputs 77070336B outputs 512kB, "
                  "ddp bucket 25MB, parameter-server servers 1");
}

TEST(ExplainStep, OneStageHasNoSchedule) {
  const Folder folder;
  const auto settings_with = [&](const std::string& pp) {
    const std::string file = folder.write("a.json", R"({ "scenario": 1,
      "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "100Gb/s" } },
      "workload": { "train": { "pp": )" + pp + R"(, "microbatches": 4 }, "model": {
          "layers": [ { "times": 4, "forward": "5ms", "backward": "10ms" } ] } } })");
    return json::parse(run_collsim({"explain", file, "--format", "json"}).out)["settings"].size();
  };
  EXPECT_EQ(settings_with("1"), 0U);
  EXPECT_EQ(settings_with("2"), 1U);
}

TEST(ExplainStep, OfEqualTimesThatOfNowIsTheBest) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "100Gb/s" } },
    "workload": { "ddp": { "bucket": "25MiB" }, "model": {
        "layers": [ { "forward": "5ms", "backward": "10ms", "gradients": "1MiB" } ] } } })");
  expect_contains(run_collsim({"explain", file}).out,
                  "Best workload.ddp.bucket tried: 25MiB, as now.");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  EXPECT_EQ(explained["settings"][0]["best"], "25MiB");
}

// Each can be had by what it says: "chunks" is for one schedule only.
TEST(ExplainStep, OtherSchedulesGoWithoutChunks) {
  const Folder folder;
  const std::string file = folder.write("a.json", R"({ "scenario": 1,
    "cluster": { "shape": "switch", "ranks": 4, "link": { "bandwidth": "100Gb/s" } },
    "workload": { "train": { "pp": 4, "microbatches": 8, "schedule": "interleaved", "chunks": 2 },
      "model": { "layers": [ { "times": 8, "forward": "5ms", "backward": "10ms" } ] } } })");
  expect_contains(run_collsim({"explain", file}).out, "1f1b without \"chunks\":");
  const json explained = json::parse(run_collsim({"explain", file, "--format", "json"}).out);
  for (const json& tried : explained["settings"][0]["tried"]) {
    std::vector<std::string> arguments = {"run", file, "--format", "json"};
    for (const auto& [path, value] : tried["set"].items()) {
      arguments.emplace_back("--set");
      arguments.push_back(path + "=" + (value.is_null() ? "null" : value.get<std::string>()));
    }
    const Ran ran = run_collsim(arguments);
    ASSERT_EQ(ran.code, exit_fine) << ran.err;
    EXPECT_EQ(json::parse(ran.out)["rows"][0]["step_s"], tried["time_s"]);
  }
}

// Layers in turn on two groups of ranks are not all layers on each of them.
TEST(ExplainStep, EverySecondLayerIsNotEveryLayer) {
  const std::string text =
      run_collsim({"explain", COLLSIM_SOURCE_DIR "/scenarios/training/gpt175b.json"}).out;
  expect_contains(text, "forward of layers 1, 3 and 5 on rank 0");
  expect_contains(text, "forward of layers 2, 4 and 6 on rank 4");
  expect_contains(text, "forward of layers 1 to 6");  // of all of the last rank
}

TEST(ExplainStep, OfAJobItSaysWhatItsTimeGoesTo) {
  const std::string scenarios = COLLSIM_SOURCE_DIR "/scenarios/training/";
  const auto explained = [&](const std::string& name, const std::string& format) {
    return run_collsim({"explain", scenarios + name, "--format", format}).out;
  };
  const std::string elastic = explained("elastic-restart.json", "text");
  expect_contains(elastic, "100 steps, with the failures that are given, take 39.52 s:");
  expect_contains(elastic, "restarts          30 s   75.9%");
  expect_contains(elastic, "After a failure 12 ranks go on, whose step takes 94.98 ms.");
  const json job = json::parse(explained("restart.json", "json"))["job"];
  const double sum = job["useful"].get<double>() + job["checkpoints"].get<double>() +
                     job["restarts"].get<double>() + job["lost"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(job["restarts"].get<double>() * job["time_s"].get<double>(), 300, 1e-9);
  const std::string random = explained("checkpoints.json", "text");
  expect_contains(random, "one after every 300 s of work; the best is");
  EXPECT_TRUE(json::parse(explained("overlap.json", "json"))["job"].is_null());
}

TEST(ExplainStep, AProgramThatIsTooLongHasNoLayers) {
  const Folder folder;
  const std::string text = run_collsim({"explain", folder.write("a.json", R"({ "scenario": 1,
        "cluster": { "shape": "switch", "ranks": 2, "link": { "bandwidth": "100Gb/s" } },
        "workload": { "program": [ { "on": "all",
            "do": [ { "repeat": 1100000, "as": "i", "do": [ { "work": "1us" } ] } ] } ] } })")})
                               .out;
  expect_contains(text, "The lines of its program are too many to record");
  expect_lacks(text, "layers");
}

}  // namespace
}  // namespace collsim
