// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/training_fit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/workloads/named_models.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

struct ReadRuns {
  std::vector<TrainingRun> runs;
  std::vector<std::string> other_columns;
  std::string mistake;
};

ReadRuns read_runs(const std::string& more_columns, const std::string& more_cells) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source =
      sources.add(Sources::Kind::file, "runs.csv",
                  "tp,pp,dp,global_batch,micro_batch,hidden,heads,layers,seq,iteration_s" +
                      more_columns + "\n1,1,8,16,1,4096,32,32,8192,2.5" + more_cells + "\n");
  TrainingTable table =
      read_training_table(source, sources, Transformer::Recompute::none, diagnostics);
  return {std::move(table.runs), std::move(table.other_columns),
          diagnostics.empty() ? "" : diagnostics.sorted().front().message};
}

TEST(TrainingFit, ReadsWhatATransformerIsLike) {
  const ReadRuns usual = read_runs("", "");
  ASSERT_EQ(usual.runs.size(), 1U);
  EXPECT_EQ(parameters_of_layer(usual.runs.front().model), 12 * 4096 * 4096 + 13 * 4096);
  EXPECT_EQ(usual.runs.front().microbatches, 2);
  const ReadRuns llama =
      read_runs(",architecture,kv_heads,ffn,vocab,scheme", ",llama,8,14336,128256,fsdp");
  ASSERT_EQ(llama.runs.size(), 1U);
  EXPECT_EQ(parameters(llama.runs.front().model), parameters(transformer_of("llama-3-8b")));
  EXPECT_TRUE(llama.runs.front().sharded);
  EXPECT_EQ(llama.mistake, "");
  const ReadRuns by_pandas = read_runs(",sequence_parallel,attention", ",True,Fused");
  EXPECT_EQ(by_pandas.mistake, "");
  ASSERT_EQ(by_pandas.runs.size(), 1U);
  EXPECT_TRUE(by_pandas.runs.front().sequence_parallel);
  EXPECT_TRUE(by_pandas.runs.front().model.fused_attention);
}

TEST(TrainingFit, SaysWhatIsWrongWithARow) {
  const auto mistake = [](const std::string& columns, const std::string& cells) {
    return read_runs(columns, cells).mistake;
  };
  expect_contains(mistake(",architecture", ",lama"),
                  R"(runs.csv:2: the row is no run: architecture is "lama", none of gpt, llama)");
  expect_contains(mistake(",vocab", ",-1"),
                  R"(vocab is "-1", no whole number from 1 to 100,000,000)");
  expect_contains(mistake(",chunks", ",0.3"), R"(chunks is "0.3", no whole number from 1)");
  expect_contains(mistake(",cp", ",2"), "ranks that share sequences (cp) are not in the formula");
  expect_contains(mistake(",tp", ",2"), R"(the column "tp" is there twice)");
  expect_contains(mistake("", ",2"), "it has 11 cells, and the first line 10");
  expect_contains(mistake(",kv_heads", ",5"), "kv_heads 5 and tp 1 do not divide evenly");
  EXPECT_EQ(read_runs(",vocabulary,gpus", ",50257,8").other_columns,
            (std::vector<std::string>{"vocabulary", "gpus"}));
}

// Where gathering is hidden only computing counts, and the table of the logits is none of the
// layers that are gathered.
TEST(TrainingFit, TheFormulaOfAShardedLlama) {
  TrainingRun run =
      read_runs(",architecture,kv_heads,ffn,vocab,scheme", ",llama,8,14336,128256,fsdp")
          .runs.front();
  const TrainingDevice device{.device = {.flops = 1e15}};
  const TrainingLinks links{.protocols = {{{0, 400e9}, {0, 50e9}}}, .gpus_per_node = 8};
  const double computed = 2 * flop(run.model) / device.device.flops;
  const double gather = 7.0 / 8 * 2 * static_cast<double>(parameters_of_layer(run.model)) / 400e9;
  EXPECT_NEAR(step_formula(run, device, links), computed + gather, 1e-6 * computed);
  run.microbatches = 4;
  EXPECT_NEAR(step_formula(run, device, links), 2 * computed + gather, 1e-6 * computed);
}

// While gathering is under way computing is slower; of two protocols the faster is taken.
TEST(TrainingFit, GatheringSlowsComputing) {
  const TrainingRun run = read_runs(",scheme", ",fsdp").runs.front();
  const TrainingLinks links{.protocols = {{{0, 400e9}, {0, 50e9}}}, .gpus_per_node = 8};
  TrainingDevice device{.device = {.flops = 1e15}};
  const double alone = step_formula(run, device, links);
  device.slowdown = CostModel::millionths / 4;
  const double gather = 7.0 / 8 * 2 * static_cast<double>(parameters_of_layer(run.model)) / 400e9;
  EXPECT_NEAR(step_formula(run, device, links) - alone, 2 * 32 * 3 * gather / 4, 1e-6 * alone);
  TrainingLinks both = links;
  both.protocols.insert(both.protocols.begin(), TrainingLinks::Ways{{0, 100e9}, {0, 10e9}});
  EXPECT_EQ(step_formula(run, device, both), step_formula(run, device, links));
}

TEST(TrainingFit, APassWhoseParametersAreGatheredTakesLonger) {
  TrainingRun run = read_runs(",scheme", ",fsdp").runs.front();
  const TrainingLinks links{.protocols = {{{0, 400e9}, {0, 50e9}}}, .gpus_per_node = 8};
  TrainingDevice device{.device = {.flops = 1e15}};
  const double sharded = step_formula(run, device, links);
  run.sharded = false;
  const double whole = step_formula(run, device, links);
  device.device.sharding = Time(1'000'000'000);
  EXPECT_EQ(step_formula(run, device, links), whole);
  run.sharded = true;
  EXPECT_NEAR(step_formula(run, device, links) - sharded, 2 * 2 * 32 * 1e-3, 1e-9);
}

// Times by the formula itself: what is held stays, and the rest is found.
TEST(TrainingFit, HoldsWhatItIsTold) {
  const TrainingLinks links{.protocols = {{{0, 400e9}, {0, 50e9}}}, .gpus_per_node = 8};
  const TrainingDevice real{.device = {.flops = 1e15,
                                       .efficiency = 0.6,
                                       .attention = 0.4,
                                       .memory_bandwidth = 2e12,
                                       .latency = Time(200'000'000),
                                       .launch = Time(800'000'000),
                                       .skew = Time(45'000'000),
                                       .sharding = Time(1'000'000'000)},
                            .slowdown = 230'000};
  std::vector<TrainingRun> runs;
  for (const std::int64_t hidden : {1024, 2048, 4096, 8192})
    for (const std::int64_t sequence : {512, 4096, 32768}) {
      TrainingRun run = read_runs(",scheme", ",fsdp").runs.front();
      run.model.hidden = hidden;
      run.model.inner = 4 * hidden;
      run.model.sequence = sequence;
      run.step_s = step_formula(run, real, links);
      runs.push_back(run);
    }
  TrainingDevice believed = real;
  believed.device.efficiency = 0.9;
  believed.device.sharding = Time(2'000'000'000);
  const TrainingFit free = fit_training(runs, believed, links, {"slowdown"});
  EXPECT_NEAR(free.device.device.efficiency, 0.6, 0.03);
  EXPECT_EQ(free.device.slowdown, real.slowdown);
  EXPECT_EQ(free.undetermined, std::vector<std::string>{"skew"});  // there are no tensor groups
  const TrainingFit held = fit_training(runs, believed, links, {"efficiency"});
  EXPECT_NEAR(held.device.device.efficiency, 0.9, 0.001);
}

// A slow host sets the pace.
TEST(TrainingFit, TheHostLaunchesEveryPass) {
  const TrainingRun run = read_runs(",scheme", ",fsdp").runs.front();
  const TrainingDevice device{.device = {.flops = 1e18, .launch = Time(1'000'000'000'000)}};
  const TrainingLinks links{.protocols = {{{0, 400e12}, {0, 50e12}}}, .gpus_per_node = 8};
  EXPECT_NEAR(step_formula(run, device, links), 2 * 2 * 32, 0.01);
}

}  // namespace
}  // namespace collsim
