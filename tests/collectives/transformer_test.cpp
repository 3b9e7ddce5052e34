// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/transformer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace collsim {
namespace {

using nlohmann::json;

json memory_oracle(const std::string& name) {
  std::ifstream file(COLLSIM_TEST_DATA "/programs.json");
  for (const json& entry : json::parse(file))
    if (entry["name"] == name) return entry;
  throw std::runtime_error("no oracle " + name);
}

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

TEST(Transformer, KeepsTheActivationsOfThePaper) {
  for (const char* name : {"memory_activations_22B", "memory_activations_530B"}) {
    const json oracle = memory_oracle(name);
    const json& params = oracle["params"];
    Transformer model;
    model.layers = params["layers"];
    model.hidden = params["hidden"];
    model.heads = params["heads"];
    model.sequence = params["seq"];
    model.micro_batch = params["micro_batch"];
    const int tp = params["tp"];
    const int pp = params["pp"];
    const int chunks = params["interleave"];
    const json& expected = oracle["expected_other"];
    EXPECT_DOUBLE_EQ(activation_bytes(model, {tp, false}, pp, chunks) / gib,
                     expected["activations_gib"]);
    model.recompute = Transformer::Recompute::selective;
    EXPECT_NEAR(activation_bytes(model, {tp, true}, pp, chunks) / gib,
                expected["activations_selective_sequence_gib"], 1e-9);
  }
}

// Of 2 sequences of 32 tokens; peaks of a real GPU: docs/measurements/training.md.
TEST(Transformer, ComputingTakesLogitsOrALayerAgain) {
  Transformer model;
  model.layers = 4;
  model.hidden = 64;
  model.heads = 4;
  model.sequence = 32;
  model.micro_batch = 2;
  model.vocabulary = 1000;
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, true), 64 * 1000 * 12);
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {2, false}, true), 64 * 500 * 12);
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, false), 0);
  Transformer fused = model;
  fused.fused_loss = true;
  EXPECT_DOUBLE_EQ(bytes_while_computing(fused, {1, false}, true), 64 * 1000 * 2);
  fused.type = ElementType::f64;
  EXPECT_DOUBLE_EQ(bytes_while_computing(fused, {1, false}, true), 64 * 1000 * 8);
  fused.fused_loss = false;
  EXPECT_DOUBLE_EQ(bytes_while_computing(fused, {1, false}, true), 64 * 1000 * 16);
  model.recompute = Transformer::Recompute::full;
  const double layer = 64 * 64 * (34 + 5.0 * 4 * 32 / 64);
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, false), layer);
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, true), 64 * 1000 * 12);
  model.vocabulary = 0;
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, true), layer);
  model.type = ElementType::f32;
  model.vocabulary = 10'000;
  EXPECT_DOUBLE_EQ(bytes_while_computing(model, {1, false}, true), 64 * 10'000 * 8);
}

// Of a layer 34 s b h bytes, 2 of them masks; the tensor group shares what is not of products only
// with sequence parallelism.
TEST(Transformer, FusedAttentionKeepsNoMasksOfDropout) {
  Transformer model;
  model.hidden = 64;
  model.heads = 4;
  model.sequence = 32;
  model.fused_attention = true;
  EXPECT_DOUBLE_EQ(activation_bytes(model, {1, false}, 1, 1), 32 * 64 * 32);
  EXPECT_DOUBLE_EQ(activation_bytes(model, {2, false}, 1, 1), 32 * 64 * (8 + 24 / 2));
  EXPECT_DOUBLE_EQ(activation_bytes(model, {2, true}, 1, 1), 32 * 64 * 32 / 2);
}

TEST(Transformer, NeedsTheMemoryOfTheZeroPaper) {
  const double parameters = 7.5e9;
  EXPECT_DOUBLE_EQ(parameters * bytes_per_parameter(0, 64),
                   memory_oracle("memory_replicated_7.5B")["expected_other"]["bytes"]);
  EXPECT_DOUBLE_EQ(parameters * bytes_per_parameter(2, 64),
                   memory_oracle("memory_zero2_7.5B")["expected_other"]["bytes"]);
  EXPECT_NEAR(parameters * bytes_per_parameter(1, 64), 31.4e9, 0.05e9);
  EXPECT_NEAR(parameters * bytes_per_parameter(3, 64), 1.9e9, 0.05e9);
}

// 96 B s L h^2 (1 + s/6h + V/16Lh), and its layers together take as long.
TEST(Transformer, TakesTheFlopOfTheMegatronPaper) {
  Transformer gpt3;
  gpt3.layers = 96;
  gpt3.hidden = 12288;
  gpt3.heads = 96;
  gpt3.sequence = 2048;
  gpt3.vocabulary = 51200;
  gpt3.micro_batch = 4;
  gpt3.recompute = Transformer::Recompute::full;
  EXPECT_NEAR(static_cast<double>(parameters(gpt3)), 174.6e9, 0.1e9);
  const double b = 4, s = 2048, l = 96, h = 12288, v = 51200;
  const double papers = 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  EXPECT_NEAR(flop(gpt3) / papers, 1, 1e-12);
  const Model model = model_of(gpt3, {312e12, 0.5, 0.5}, {8});
  double seconds = 0;
  for (const Layer& layer : model.layers) seconds += (layer.forward + layer.backward).seconds();
  EXPECT_NEAR(seconds * 312e12 * 0.5 * 8 / papers, 1, 1e-9);
}

// Fewer heads of keys have fewer parameters and keep fewer bytes; three products take the FLOP of
// two that are half as wide again.
TEST(Transformer, MayShareKeysAndGateItsMlp) {
  Transformer model;
  model.layers = 2;
  model.hidden = 1024;
  model.heads = 16;
  model.sequence = 1024;
  Transformer shared = model;
  shared.heads_of_keys = 4;
  EXPECT_EQ(parameters_of_layer(model) - parameters_of_layer(shared), 2 * (1024 + 1) * 768);
  EXPECT_DOUBLE_EQ(activation_bytes(model, {2}, 1, 1) - activation_bytes(shared, {2}, 1, 1),
                   1024.0 * 1024 * 2 * 4 * 0.75 / 2);
  Transformer gated = model;
  gated.architecture = Transformer::Architecture::llama;
  EXPECT_EQ(usual_inner(gated.architecture, gated.hidden), 2816);
  gated.inner = 2048;
  model.inner = 3072;
  EXPECT_DOUBLE_EQ(forward_flop_of_layer(gated), forward_flop_of_layer(model));
  EXPECT_EQ(parameters_of_layer(gated), 4 * 1024 * 1024 + 3 * 1024 * 2048 + 2 * 1024);
}

// Memory, latency and waiting for each other add to the FLOP; recomputation is a forward pass more.
TEST(Transformer, TakesWhatTheDeviceTakesBesidesFlop) {
  Transformer model;
  model.layers = 2;
  model.hidden = 1024;
  model.heads = 16;
  model.sequence = 1024;
  Device device{.flops = 100e12, .memory_bandwidth = 1e12, .latency = Time(5'000'000)};
  const double values = 1024.0 * 1024.0;
  const double computed = 24 * values * 1024 * (1 + 1.0 / 6) / 100e12;
  const double moved = values * (10 + 24 + 5.0 * 16) / 1e12;
  const Layer alone = model_of(model, device, {}).layers.front();
  EXPECT_NEAR(alone.forward.seconds(), 5e-6 + computed + moved, 1e-11);
  EXPECT_NEAR(alone.backward.seconds(), 5e-6 + 2 * (computed + moved), 1e-11);
  model.recompute = Transformer::Recompute::full;
  const Layer again = model_of(model, device, {}).layers.front();
  EXPECT_EQ(again.again, alone.forward);
  EXPECT_EQ(again.backward, alone.backward + alone.forward);
  const Layer together = model_of(model, device, {4}).layers.front();
  device.skew = Time(1'000'000);
  const Layer late = model_of(model, device, {4}).layers.front();
  EXPECT_NEAR((late.forward - together.forward).seconds(), 2e-6 * (1.0 / 2 + 1.0 / 3 + 1.0 / 4),
              2e-12);
}

// One kernel moves no scores; what is computed again selectively is attention, with them.
TEST(Transformer, AttentionIsOneKernelOrSeveral) {
  Transformer model;
  model.layers = 2;
  model.hidden = 1024;
  model.heads = 16;
  model.sequence = 1024;
  const Device device{.flops = 100e12, .attention = 0.5, .memory_bandwidth = 1e12};
  const double values = 1024.0 * 1024.0;
  const double scores = values * 5 * 16 / 1e12;
  const double attention = 4 * values * 1024 / 100e12 / 0.5;
  const Layer plain = model_of(model, device, {}).layers.front();
  model.recompute = Transformer::Recompute::selective;
  const Layer again = model_of(model, device, {}).layers.front();
  EXPECT_NEAR((again.backward - plain.backward).seconds(), attention + scores, 1e-11);
  model.fused_attention = true;
  const Layer fused = model_of(model, device, {}).layers.front();
  EXPECT_NEAR((plain.forward - fused.forward).seconds(), scores, 1e-11);
  EXPECT_NEAR((fused.backward - fused.forward - fused.forward).seconds(), attention, 1e-11);
}

}  // namespace
}  // namespace collsim
