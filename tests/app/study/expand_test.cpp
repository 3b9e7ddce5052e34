// SPDX-License-Identifier: Apache-2.0
//
// What a scheme stands for, written out as a program: the same, step by step.
#include "app/scenario/workload/expand.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/scenario/workload/folding.hpp"
#include "app/scenario/workload/workload.hpp"
#include "sim/simulate.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

namespace collsim::testing {
namespace {

Case case_at(const Loaded& loaded, std::size_t point) {
  std::optional<Case> one = case_of(loaded, point);
  if (!one || !one->step) throw std::runtime_error(loaded.mistake());
  return std::move(*one);
}

Simulation simulated_step(const Case& one) {
  return simulate(one.cluster->topology, one.step->workload, one.costs);
}

// Whether it was a scheme; programs are programs already.
bool expands_to_the_same(const Loaded& loaded, std::size_t point) {
  const Case scheme = case_at(loaded, point);
  if (scheme.step->program) {
    EXPECT_THROW((void)expanded(*loaded.scenario, point), Error);
    return false;
  }
  const Simulation before = simulated_step(scheme);
  if (is_sanitized && before.messages > 5'000)
    return true;  // whose text alone takes minutes to read
  const std::string text = to_pretty_json(expanded(*loaded.scenario, point));
  const Loaded again = load_text(text, {.workloads = true});
  EXPECT_TRUE(again.scenario) << text << again.mistake();
  if (!again.scenario) return true;
  // No rank of a program stands for another, so that a million messages take seconds.
  if (before.messages > 1'000'000) return true;
  const Case program = case_at(again, 0);
  const Simulation after = simulated_step(program);
  const WorkloadReport checked = check(*program.step);
  EXPECT_FALSE(checked.fault && !check(*scheme.step).fault) << to_text(*checked.fault);
  EXPECT_EQ(before.time, after.time) << text;
  EXPECT_EQ(before.fingerprint, after.fingerprint) << text;
  EXPECT_EQ(before.messages, after.messages);
  return true;
}

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Expand, EveryScenarioOfTrainingStaysAsItIs) {
  int schemes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(COLLSIM_SOURCE_DIR "/scenarios/training")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Loaded loaded = load_text(text_of(entry.path()), {.workloads = true});
    if (!loaded.scenario || !loaded.scenario->is_step()) continue;
    constexpr std::size_t few = is_sanitized ? 1 : 4;
    for (std::size_t point = 0; point < std::min(few, loaded.scenario->points()); ++point)
      schemes += expands_to_the_same(loaded, point) ? 1 : 0;
  }
  EXPECT_GT(schemes, is_sanitized ? 20 : 40);
}

Loaded load_expandable(const std::string& scheme, int ranks = 4) {
  return load_text(
      R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": )" + std::to_string(ranks) +
          R"(, "link": {"bandwidth": "10GB/s", "overhead": "1us"}}, "workload": {)" + scheme +
          R"(, "model": {"dtype": "bfloat16", "layers": [{"times": 12, "forward": "1ms", )" +
          R"("backward": "2ms", "gradients": "4MiB", "activations": "1MiB"}]}}})",
      {.workloads = true});
}

TEST(Expand, SchemesOfManyKindsStayAsTheyAre) {
  for (const char* scheme :
       {R"("ddp": {"bucket": "8MiB", "no_sync": 2, "broadcast_buffers": "4kB"})",
        R"("ddp": {"devices_per_replica": 2, "broadcast_parameters": true})",
        R"("fsdp": {"unsharded": 3, "prefetch": "none", "hybrid": 2})",
        R"("fsdp": {"unsharded": 1, "algorithm": {"all_gather": {"algorithm": "ring", )"
        R"("chunks": 2, "channels": 2}}})",
        R"("fsdp": {"zero": 2})", R"("tensor": {"sequence_parallel": true})",
        R"("pipeline": {"microbatches": 8, "schedule": "zb-h1"}, "slow": {"2": 1.5, "1": "1ms"})",
        R"("train": {"tp": 2, "pp": 2, "microbatches": 4}, "jitter": {"mean": 0.1})",
        R"("ddp": {}, "device": {"slowdown": 0.2}, "timeout": "1s")", R"("experts": {})",
        R"("fsdp": {"hybrid": 2}, "device": {"collectives_at_a_time": 1})",
        R"("pipeline": {"microbatches": 8, "schedule": "interleaved"})",
        R"("pipeline": {"microbatches": 16, "schedule": "gpipe"})",
        R"("train": {"tp": 2, "pp": 2, "microbatches": 4, "schedule": "interleaved"})",
        R"("train": {"pp": 2, "microbatches": 4, "zero": 2})",
        R"("train": {"pp": 2, "microbatches": 4, "schedule": "interleaved", "zero": 3})",
        R"("parameter-server": {"asynchronous": true})", R"("parameter-server": {"servers": 2})",
        R"("data-parallel": {"inputs": "4kB", "outputs": "1kB"})"}) {
    SCOPED_TRACE(scheme);
    const Loaded loaded = load_expandable(scheme);
    ASSERT_TRUE(loaded.scenario) << loaded.mistake();
    EXPECT_TRUE(expands_to_the_same(loaded, 0));
  }
}

TEST(Expand, WritesLoopsAndBlocks) {
  const Loaded ddp = load_expandable(R"("ddp": {"bucket": "4MiB", "first_bucket": "4MiB"})");
  const JsonValue program = *expanded(*ddp.scenario, 0).find("workload")->find("program");
  ASSERT_EQ(program.items().size(), 1U);
  expect_text(to_json(program.items()[0].find("do")->items()[2], -1),
              R"({"repeat":12,"do":[{"work":"2ms"},{"record":"compute for communication"},)"
              R"({"stream":"communication","do":[{"wait":"compute for communication"},)"
              R"({"all-reduce":"gradients","size":"4MiB","algorithm":"ring",)"
              R"("reduction":"avg"}]}]})");
  const Loaded pipeline = load_expandable(R"("pipeline": {"microbatches": 8})");
  EXPECT_EQ(expanded(*pipeline.scenario, 0).find("workload")->find("program")->items().size(), 4U);
}

// Tests its text, which is long.
bool has(const Loaded& loaded, const std::string& part) {
  return to_json(*expanded(*loaded.scenario, 0).find("workload"), -1).find(part) !=
         std::string::npos;
}

TEST(Expand, HasMoreBuffersWhereOneWouldHoldTwoThings) {
  const Loaded pipeline = load_expandable(R"("pipeline": {"microbatches": 64})");
  EXPECT_TRUE(has(pipeline, R"("receive":"activations_64","from":0)"));
  const Loaded long_pipeline = load_expandable(R"("pipeline": {"microbatches": 1000})");
  EXPECT_TRUE(has(long_pipeline, R"("receive":true,"from":0)"));
  EXPECT_TRUE(has(long_pipeline, R"("repeat":99)"));
  EXPECT_FALSE(has(load_expandable(R"("ddp": {})"), "gradients_1"));
}

TEST(Expand, NamesWhatSharedSequencesAndStagesSend) {
  const Loaded loaded = load_text(
      R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 8, "link": {"bandwidth": "10GB/s"}},
          "workload": {"train": {"tp": 2, "cp": 2, "pp": 2, "microbatches": 4},
          "device": {"flops": "1TFLOP/s"}, "model": {"transformer":
          {"layers": 4, "hidden": 64, "heads": 4, "seq": 64, "recompute": "full"}}}})",
      {.workloads = true});
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  EXPECT_TRUE(expands_to_the_same(loaded, 0));
  for (const char* const part :
       {R"("all-gather":"keys")", R"("reduce-scatter":"key_gradients")", R"("all-reduce":"table")"})
    EXPECT_TRUE(has(loaded, part)) << part;
}

TEST(Expand, TagsTellMessagesOfSeveralStreamsApart) {
  const Loaded loaded =
      load_expandable(R"("pipeline": {"microbatches": 4, "schedule": "interleaved"})", 2);
  EXPECT_TRUE(expands_to_the_same(loaded, 0));
  EXPECT_TRUE(has(loaded, R"("tag":1)"));
}

TEST(Expand, SaysWhatAProgramCannotSay) {
  const Loaded loaded = load_text(scenario_text(broadcast));
  try {
    FAIL() << to_json(expanded(*loaded.scenario, 0), -1);
  } catch (const Error& error) {
    expect_contains(error.what(), "only the schemes of training");
  }
}

TEST(Expand, FoldsWhatRepeats) {
  const auto unfolded = [](const auto& self, const std::vector<FoldedLine>& lines,
                           std::vector<int>& all) -> void {
    for (const FoldedLine& line : lines) {
      if (line.rounds == 0) all.push_back(line.number);
      for (std::int64_t round = 0; round < line.rounds; ++round) self(self, line.body, all);
    }
  };
  const std::vector<int> lines{1, 2, 3, 3, 3, 3, 2, 3, 3, 3, 3, 2, 3, 3, 3, 3, 4};
  const std::vector<FoldedLine> loops = folded(lines);
  ASSERT_EQ(loops.size(), 3U);
  EXPECT_EQ(loops[1].rounds, 3);
  ASSERT_EQ(loops[1].body.size(), 2U);
  EXPECT_EQ(loops[1].body[1].rounds, 4);
  std::vector<int> all;
  unfolded(unfolded, loops, all);
  EXPECT_EQ(all, lines);
}

}  // namespace
}  // namespace collsim::testing
