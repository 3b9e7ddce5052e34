// SPDX-License-Identifier: Apache-2.0
//
// Transformers over stages, and over ranks that share sequences.
#include <gtest/gtest.h>

#include "app/study/run_step.hpp"
#include "tests/app/study/steps.hpp"

namespace collsim::testing {
namespace {

TEST(TrainStep, StagesAddUpTheTableOfWordsThatTheyShare) {
  const auto communicators = [](const std::string& transformer) {
    const CaseResult row = row_of(
        step_scenario(four_stages, R"("pipeline": {"microbatches": 4}, "model": {"transformer":
            {"layers": 8, "hidden": 1024, "heads": 16, "seq": 1024, )" +
                                       transformer + R"(}}, "device": {"flops": "1TFLOP/s"})"));
    std::vector<std::string> names;
    for (const auto& one : row.step->communicators) names.push_back(one.name);
    return names;
  };
  EXPECT_EQ(communicators(R"("vocab": 50000)"), std::vector<std::string>{"tied"});
  EXPECT_TRUE(communicators(R"("vocab": 50000, "architecture": "llama")").empty());
  // 100 MB over 10 GB/s, half of it at a time.
  const std::string two_ranks = R"("shape": "chain", "ranks": 2, "link": {"bandwidth": "10GB/s"})";
  const auto seconds = [&](const std::string& words) {
    return row_of(step_scenario(two_ranks,
                                R"("pipeline": {"microbatches": 1}, "model": {"transformer":
        {"layers": 4, "hidden": 1000, "heads": 10, "seq": 1, "vocab": )" +
                                    words + R"(}}, "device": {"flops": "1000000TFLOP/s"})"))
        .time.seconds();
  };
  EXPECT_NEAR(seconds("50000") - seconds("1"), 10e-3, 2e-6);
}

TEST(TrainStep, RanksThatShareSequencesHaveHalfOfThemAndGatherKeys) {
  const auto row = [](const std::string& ranks, const std::string& degrees) {
    return row_of(step_scenario(
        R"("shape": "switch", "ranks": )" + ranks + R"(, "link": {"bandwidth": "10GB/s"})",
        R"("train": {)" + degrees + R"(}, "model": {"transformer":
        {"layers": 8, "hidden": 1024, "heads": 16, "seq": 1024}}, "device": {"flops": "1TFLOP/s"})"));
  };
  const CaseResult whole = row("1", ""), halves = row("2", R"("cp": 2)");
  EXPECT_NEAR(halves.step->compute_s, whole.step->compute_s / 2, 1e-9);
  ASSERT_EQ(halves.step->communicators.size(), 2U);
  EXPECT_EQ(halves.step->communicators[0].name, "dp");
  EXPECT_EQ(halves.step->communicators[1].name, "cp");
  // Of 4 MiB of each layer a rank sends half: forward, backward, and of the gradients.
  EXPECT_NEAR(halves.step->communicators[1].exposed_s, 8 * 3 * 0.2097152e-3, 1e-9);
  EXPECT_NEAR(row("4", R"("tp": 2, "cp": 2)").step->communicators[2].exposed_s,
              8 * 3 * 0.1048576e-3, 1e-9);
}

// A stage of one layer: what is computed again comes before the first half of the backward pass.
TEST(TrainStep, ZbH1ComputesAgainWhatTheFirstHalfNeeds) {
  const CaseResult row = row_of(step_scenario(
      R"("shape": "chain", "ranks": 2, "link": {"bandwidth": "25GB/s"})",
      R"("pipeline": {"microbatches": 1, "schedule": "zb-h1"}, "model": {"transformer": {"layers": 2,
         "hidden": 1000, "heads": 10, "seq": 1, "vocab": 0, "recompute": "full"}},
         "device": {"flops": "1GFLOP/s"})"));
  // f, f, then f + f of what is computed again and errors on each stage, f of weights on the first.
  const double f = (24e6 + 4e3) / 1e9;
  EXPECT_NEAR(row.time.seconds(), 7 * f, 1e-6);
  EXPECT_NEAR(row.step->compute_s, 4 * f, 1e-9);
}

TEST(TrainStep, RanksThatShareSequencesKeepHalfOfTheActivations) {
  const auto bytes = [](const std::string& ranks, const std::string& degrees) {
    const CaseResult row = row_of(step_scenario(
        R"("shape": "switch", "ranks": )" + ranks + R"(, "link": {"bandwidth": "10GB/s"})",
        R"("train": {)" + degrees + R"(}, "model": {
        "transformer": {"layers": 8, "hidden": 1024, "heads": 16, "seq": 1024, "vocab": 0}},
        "device": {"flops": "1TFLOP/s", "memory": "80GB"})"));
    return row.step->memory->most();
  };
  const double parameters = 16.0 * (8 * (12 * 1024 * 1024 + 13 * 1024) + 1024 * 1024);
  const double activations = 8 * 1024.0 * 1024 * (34 + 5 * 16);
  EXPECT_NEAR(bytes("1", ""), parameters + activations, 1);
  // Gathered keys and values of one layer, 4 MiB, and their gradients.
  EXPECT_NEAR(bytes("2", R"("cp": 2)"), parameters + activations / 2 + 8 * 1024 * 1024, 1);
}

}  // namespace
}  // namespace collsim::testing
