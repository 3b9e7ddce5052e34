// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/training_fit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "collectives/workloads/named_models.hpp"

namespace collsim {
namespace {

struct ReadRuns {
  std::vector<TrainingRun> runs;
  std::size_t mistakes = 0;
};

ReadRuns read_runs(const std::string& more_columns, const std::string& more_cells) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source =
      sources.add(Sources::Kind::file, "runs.csv",
                  "tp,pp,dp,global_batch,micro_batch,hidden,heads,layers,seq,iteration_s" +
                      more_columns + "\n1,1,8,16,1,4096,32,32,8192,2.5" + more_cells + "\n");
  ReadRuns result;
  result.runs = read_training_runs(source, sources, Transformer::Recompute::none, diagnostics);
  result.mistakes = diagnostics.size();
  return result;
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
  EXPECT_EQ(llama.mistakes, 0U);
  EXPECT_TRUE(read_runs(",architecture", ",lama").runs.empty());
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

// A slow host sets the pace.
TEST(TrainingFit, TheHostLaunchesEveryPass) {
  const TrainingRun run = read_runs(",scheme", ",fsdp").runs.front();
  const TrainingDevice device{.device = {.flops = 1e18, .launch = Time(1'000'000'000'000)}};
  const TrainingLinks links{.protocols = {{{0, 400e12}, {0, 50e12}}}, .gpus_per_node = 8};
  EXPECT_NEAR(step_formula(run, device, links), 2 * 2 * 32, 0.01);
}

}  // namespace
}  // namespace collsim
