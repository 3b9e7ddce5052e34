// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "app/scenario/workload/workload.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

constexpr const char* four_layers =
    R"("model": {"layers": [{"times": 4, "forward": "1ms", "backward": "2ms", "gradients": "1MiB"}]})";

Loaded load_workload(const std::string& members, const std::string& more = "") {
  return load_text(std::string("{\"scenario\": 1,\n") + four_in_a_chain + ",\n\"workload\": {" +
                       members + "}" + (more.empty() ? "" : ",\n" + more) + "}",
                   {.workloads = true});
}

// With the four layers.
Loaded load_scheme(const std::string& scheme, const std::string& more = "") {
  return load_workload(scheme + ",\n" + four_layers, more);
}

std::string resolved_scheme(const std::string& scheme, const char* name) {
  const Loaded loaded = load_scheme(scheme);
  if (!loaded.scenario) return loaded.mistake();
  return to_json(*loaded.scenario->resolved.find("workload")->find(name), -1);
}

TEST(ReadWorkload, ShowsEveryDefault) {
  expect_text(resolved_scheme(R"("ddp": {})", "ddp"),
              R"({"microbatches":1,"overlap":true,"bucket":"25MiB","first_bucket":"1MiB",)"
              R"("broadcast_buffers":"0B","broadcast_parameters":false,"devices_per_replica":1,)"
              R"("algorithm":{"all_reduce":{"algorithm":"ring","chunks":1,"channels":1}}})");
  expect_text(resolved_scheme(R"("pipeline": {"microbatches": 8})", "pipeline"),
              R"({"stages":4,"microbatches":8,"schedule":"1f1b"})");
  expect_text(
      resolved_scheme(R"("pipeline": {"microbatches": 8, "schedule": "interleaved"})", "pipeline"),
      R"({"stages":4,"microbatches":8,"schedule":"interleaved","chunks":2})");
  expect_contains(resolved_scheme(R"("fsdp": {})", "fsdp"),
                  R"({"zero":3,"unsharded":2,"prefetch":"pre","hybrid":4,"microbatches":1,)");
  expect_contains(resolved_scheme(R"("train": {"tp": 2})", "train"),
                  R"("tp":2,"cp":1,"pp":1,"dp":2,)");
  expect_text(resolved_scheme(R"("ddp": {})", "model"),
              R"({"dtype":"float32","forward":"0s","optimizer":"0s","layers":[{"times":4,)"
              R"("forward":"1ms","backward":"2ms","gradients":"1MiB","activations":"0B"}]})");
}

TEST(ReadWorkload, WhatIsResolvedMeansTheSame) {
  for (const char* scheme :
       {R"("ddp": {"overlap": false})", R"("fsdp": {"zero": 2})", R"("fsdp": {"prefetch": "post"})",
        R"("fsdp": {"prefetch": "none", "hybrid": 2})",
        R"("ddp": {"no_sync": 3, "broadcast_buffers": "4kB", "devices_per_replica": 2})",
        R"("pipeline": {"microbatches": 4, "schedule": "interleaved"})", R"("tensor": {})",
        R"("experts": {})", R"("parameter-server": {})", R"("data-parallel": {"inputs": "4kB"})",
        R"("train": {"pp": 2, "microbatches": 2}, "slow": {"1": 1.5, "0": "2ms"})"}) {
    const Loaded once = load_scheme(scheme);
    ASSERT_TRUE(once.scenario) << scheme << ": " << once.mistake();
    const std::string resolved = to_json(once.scenario->resolved, -1);
    const Loaded twice = load_text(resolved, {.workloads = true});
    ASSERT_TRUE(twice.scenario) << resolved << ": " << twice.mistake();
    expect_text(to_json(twice.scenario->resolved, -1), resolved);
  }
}

TEST(ReadWorkload, ACaseHasTheStepAndNoCollective) {
  const Loaded loaded = load_scheme(R"("ddp": {"bucket": "2MiB"})");
  const std::optional<Case> one = case_of(loaded);
  ASSERT_TRUE(one && one->step) << loaded.mistake();
  EXPECT_EQ(one->step->scheme, "ddp");
  EXPECT_EQ(one->step->buckets, 3);  // of 1, 2 and 1 layers
  EXPECT_EQ(one->step->workload.size(), 4);
  EXPECT_FALSE(one->schedule);
}

TEST(ReadWorkload, CountsWhatAStageHolds) {
  const auto held = [](const std::string& schedule) {
    const Loaded loaded =
        load_scheme(R"("pipeline": {"microbatches": 8, "schedule": ")" + schedule + "\"}");
    return case_of(loaded).value().step->activations;
  };
  EXPECT_EQ(held("gpipe"), (std::vector<int>{8, 8, 8, 8}));
  EXPECT_EQ(held("1f1b"), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(held("interleaved"), (std::vector<int>{11, 9, 7, 5}));
}

TEST(ReadWorkload, AScenarioHasOneOfBoth) {
  const std::string both = std::string("{\"scenario\": 1,\n") + four_in_a_chain +
                           ",\n\"collective\": {" + broadcast + "}, \"workload\": {\"ddp\": {}, " +
                           four_layers + "}}";
  expect_text(load_text(both, {.workloads = true}).mistake(),
              "3:52 \"collective\" and \"workload\" exclude each other; remove one of them");
  expect_text(
      load_text(std::string("{\"scenario\": 1,\n") + four_in_a_chain + "}", {.workloads = true})
          .mistake(),
      "1:1 \"collective\" is missing; or \"workload\", for a training step");
}

TEST(ReadWorkload, IsTakenOnlyByWhoAsksForIt) {
  const Loaded loaded = load_text(std::string("{\"scenario\": 1,\n") + four_in_a_chain +
                                  ",\n\"workload\": {\"ddp\": {}, " + four_layers + "}}");
  expect_text(loaded.mistake(),
              "3:13 this command takes a collective, not a training step at /workload; "
              "run, explain, check, trace, show --expand and validate take workloads");
}

TEST(ReadWorkload, SaysAllThatAnEmptyOneLacks) {
  const auto mistakes = load_workload("").mistakes();
  ASSERT_EQ(mistakes.size(), 2U);
  expect_contains(mistakes[0], "\"model\" is missing");
  expect_contains(mistakes[1], "the workload does not say how the model is trained");
}

TEST(ReadWorkload, ReportsWrongSchemes) {
  expect_text(load_workload(four_layers).mistake(),
              "3:13 the workload does not say how the model is trained at /workload; add one of "
              "ddp, fsdp, pipeline, tensor, experts, parameter-server, data-parallel, train, "
              "program");
  expect_text(load_scheme(R"("ddp": {}, "fsdp": {})").mistake(),
              "3:33 a workload has one scheme, not ddp and fsdp at /workload/fsdp; keep one; a "
              "sweep over \"workload\" compares several");
  expect_contains(load_scheme(R"("dpp": {})").mistakes().front(),
                  "unknown key \"dpp\" at /workload/dpp; did you mean ddp?");
  expect_text(load_scheme(R"("ddp": {"buckets": "1MiB"})").mistake(),
              "3:22 unknown key \"buckets\" at /workload/ddp/buckets; did you mean bucket?");
  expect_contains(load_scheme(R"("ddp": {"bucket": 25})").mistake(), "3:32 25 has no unit");
  expect_contains(load_scheme(R"("ddp": 3)").mistake(), "3:21 ");
}

TEST(ReadWorkload, ReportsWhatDoesNotFitTheRanks) {
  expect_text(load_scheme(R"("pipeline": {"stages": 3, "microbatches": 8})").mistake(),
              "3:37 3 stages do not fit 4 ranks at /workload/pipeline/stages; a pipeline has a "
              "stage on every rank; \"train\" has replicas of it, too");
  expect_text(load_scheme(R"("tensor": {"degree": 8})").mistake(),
              "3:35 a degree of 8 does not fit 4 ranks at /workload/tensor/degree; a tensor group "
              "has all ranks; \"train\" has replicas of it, too");
  expect_text(load_scheme(R"("ddp": {"devices_per_replica": 3})").mistake(),
              "3:45 4 ranks are no whole number of replicas of 3 devices at "
              "/workload/ddp/devices_per_replica");
  expect_contains(load_scheme(R"("fsdp": {"hybrid": 3})").mistake(),
                  "3:33 4 ranks are no whole number of groups of 3 at /workload/fsdp/hybrid");
  expect_contains(load_workload(R"("ddp": {"devices_per_replica": 4},
"model": {"layers": [{"times": 3, "forward": "1ms"}]})")
                      .mistake(),
                  "3:21 3 layers cannot be spread over 4 devices");
  expect_contains(load_scheme(R"("ddp": {"broadcast_buffers": "6B"})").mistake(),
                  "3:43 6B is not a whole number of elements of 4 bytes (float32)");
  expect_text(load_scheme(R"("train": {"tp": 3})").mistake(),
              "3:23 tp 3 x pp 1 x dp 1 are 3 ranks, but the cluster has 4 at /workload/train; "
              "\"ranks\": 3 in the workload lets so many take part");
  expect_text(load_scheme(R"("parameter-server": {"servers": 4})").mistake(),
              "3:46 of 4 ranks, 4 cannot be servers at /workload/parameter-server/servers; the "
              "last ranks are servers, and at least one must be a worker");
  const Loaded nodes = load_text(
      std::string(
          R"({"scenario": 1, "cluster": {"preset": "dgx-a100", "nodes": 2}, "workload": )") +
          R"({"data-parallel": {}, )" + four_layers + "}}",
      {.workloads = true});
  expect_contains(nodes.mistake(), "DataParallel is one process");
  expect_contains(
      load_scheme(R"("pipeline": {"microbatches": 6, "schedule": "interleaved"})").mistake(),
      "3:26 an interleaved pipeline needs a multiple of its stages as microbatches, not 6");
  expect_contains(load_workload(R"("pipeline": {"microbatches": 2},
"model": {"layers": [{"times": 3, "forward": "1ms"}]})")
                      .mistake(),
                  "3:26 3 layers cannot be spread over 4 pieces");
}

TEST(ReadWorkload, ReportsKeysThatMeanNothing) {
  const std::string chunks = R"("pipeline": {"microbatches": 8, "schedule": "1f1b", "chunks": 2})";
  expect_text(load_scheme(chunks).mistake(),
              "3:76 \"chunks\" is only for the schedule interleaved at /workload/pipeline/chunks; "
              "omit it");
  const Loaded swept =
      load_scheme(chunks, R"("sweep": {"workload.pipeline.schedule": ["gpipe", "interleaved"]})");
  EXPECT_TRUE(swept.scenario) << swept.mistake();
  expect_contains(load_scheme(R"("fsdp": {"zero": 1, "unsharded": 3})").mistake(),
                  "\"unsharded\" is for fully sharded parameters");
  expect_contains(load_scheme(R"("fsdp": {"zero": 2, "hybrid": 2})").mistake(),
                  "\"hybrid\" is for fully sharded parameters");
  expect_contains(load_scheme(R"("fsdp": {"bucket": "1MiB"})").mistake(),
                  "\"bucket\" is for the first stages");
  expect_contains(load_scheme(R"("ddp": {"overlap": false, "bucket": "1MiB"})").mistake(),
                  "\"bucket\" is for gradients that leave during the backward pass");
  expect_contains(load_scheme(R"("ddp": {"algorithm": {"broadcast": "chain"}})").mistake(),
                  "unknown key \"broadcast\"");
  expect_contains(
      load_workload(R"("pipeline": {"microbatches": 8},
"model": {"forward": "1ms", "layers": [{"times": 4}]})")
          .mistake(),
      "outside of all layers, is on no rank of \"pipeline\", which shares out layers at "
      "/workload/model/forward");
}

TEST(ReadWorkload, ReportsWrongAlgorithms) {
  const auto with = [](const std::string& choice) {
    return load_scheme(R"("ddp": {"algorithm": {"all_reduce": )" + choice + "}}").mistake();
  };
  EXPECT_TRUE(load_scheme(R"("ddp": {"algorithm": {"all_reduce": "double-tree"}})").scenario);
  expect_contains(with(R"("rign")"), "did you mean ring?");
  expect_contains(with(R"("auto")"), "unknown all-reduce algorithm \"auto\"");
  expect_contains(with(R"({"algorithm": "ring", "chunks": 0})"), "0 is too small");
  expect_contains(load_scheme(R"("ddp": {"algorithm": {"all-reduce": "ring"}})").mistake(),
                  "did you mean all_reduce?");
}

TEST(ReadWorkload, ReportsWrongModels) {
  const auto with = [](const std::string& layers) {
    return load_workload("\"ddp\": {}, \"model\": {\"layers\": " + layers + "}").mistake();
  };
  expect_contains(with("[]"), "3:45 a model has at least one layer at /workload/model/layers");
  expect_contains(with("{}"), "layers are a list, not an object");
  expect_contains(with(R"([{"forward": "-1ms"}])"), "3:58 \"-1ms\" is negative");
  expect_contains(with(R"([{"times": 1000000, "forward": "1ms"}])"), "1000000 is too large");
  expect_contains(with(R"([{"times": 100000}, {"times": 1}])"),
                  "a model has at most 100,000 layers at /workload/model/layers/1");
  expect_contains(with(R"([{"gradients": "6B"}])"),
                  "6B is not a whole number of elements of 4 bytes (float32)");
  expect_contains(with(R"([{"gradients": "900000TB", "times": 100000}])"), "more than 1e18 bytes");
  expect_contains(load_workload("\"ddp\": {}, \"model\": {}").mistake(), "\"layers\" is missing");
  expect_contains(load_workload("\"ddp\": {}").mistake(), "\"model\" is missing");
}

TEST(ReadWorkload, ReportsWrongSlowRanks) {
  EXPECT_TRUE(load_scheme(R"("ddp": {}, "slow": {"3": 1.1, "0": "10ms"})").scenario);
  expect_text(load_scheme(R"("ddp": {}, "slow": {"4": 1.1})").mistake(),
              "3:39 there is no rank \"4\" at /workload/slow/4; ranks are 0 to 3");
  expect_contains(load_scheme(R"("ddp": {}, "slow": {"1": -2})").mistake(), "-2 is too small");
  expect_contains(load_scheme(R"("ddp": {}, "slow": {"x": "1ms"})").mistake(), "no rank \"x\"");
}

TEST(ReadWorkload, ReadsNoise) {
  EXPECT_TRUE(load_scheme(R"("ddp": {}, "jitter": {"mean": 0.1, "seed": 7})").scenario);
  EXPECT_TRUE(load_scheme(R"("ddp": {}, "jitter": {"mean": "2ms"})").scenario);
  expect_contains(load_scheme(R"("ddp": {}, "jitter": {"seed": 7})").mistake(),
                  "\"mean\" is missing");
  expect_contains(load_scheme(R"("ddp": {}, "jitter": {"mean": -0.1})").mistake(),
                  "-0.1 is too small");
  expect_contains(load_scheme(R"("ddp": {}, "jitter": {"mean": 0.1, "sed": 7})").mistake(),
                  "unknown key \"sed\"");
}

TEST(ReadWorkload, ReadsFailures) {
  const auto with = [](const std::string& failures) {
    return load_scheme(R"("ddp": {}, "failures": )" + failures);
  };
  EXPECT_TRUE(with(R"({"mtbf": "3h", "checkpoint": "1min"})").scenario);
  const Loaded elastic = with(R"({"at": [{"steps": 4, "ranks": 2}, {"time": "1h"}], "steps": 9})");
  const TrainingStep step = *case_of(elastic, 0).value().step;
  EXPECT_EQ(step.workload.size(), 4);
  EXPECT_EQ(step.failures->of_ranks.at(2)->workload.size(), 2);
  expect_contains(with("{}").mistake(), "\"failures\" says neither how often nor when");
  expect_contains(with(R"({"mtbf": "3h"})").mistake(), "\"checkpoint\" is missing");
  expect_contains(with(R"({"mtbf": "0s", "checkpoint": "1s"})").mistake(), "0 is too small");
  expect_contains(with(R"({"mtbf": "3h", "at": [], "checkpoint": "1s"})").mistake(), "\"at\"");
  expect_contains(with(R"({"mtbf": "3h", "checkpoint": "1s", "checkpoint_every": 3})").mistake(),
                  "\"checkpoint_every\" goes with \"at\"");
  expect_contains(with(R"({"at": [{"ranks": 2}], "steps": 9})").mistake(),
                  "this failure has no time");
  expect_contains(with(R"({"at": [{"steps": 4, "ranks": 5}], "steps": 9})").mistake(),
                  "5 is too large");
  expect_contains(with(R"({"at": [{"steps": 9}], "steps": 9})").mistake(), "has 9 steps only");
  expect_contains(with(R"({"at": [{"time": "2h"}, {"time": "1h"}], "steps": 9})").mistake(),
                  "comes before the one above");
  expect_contains(with(R"({"at": [], "interval": "1h", "steps": 9})").mistake(),
                  "\"interval\" goes with \"mtbf\"");
}

TEST(ReadWorkload, AJobMustFitTheRanksThatGoOn) {
  expect_contains(load_scheme(R"("tensor": {"degree": 4},
                                 "failures": {"at": [{"steps": 4, "ranks": 3}], "steps": 9})")
                      .mistake(),
                  "3 ranks cannot go on: a degree of 4 does not fit 3 ranks");
  expect_contains(load_workload(R"("program": [],
                                   "failures": {"at": [{"steps": 4, "ranks": 3}], "steps": 9})")
                      .mistake(),
                  "a program says what each rank does");
}

TEST(ReadWorkload, SweepsOverItsOptionsAndOverAllOfIt) {
  const Loaded buckets =
      load_scheme(R"("ddp": {})", R"("sweep": {"workload.ddp.bucket": ["1MiB", "4MiB"]})");
  EXPECT_EQ(case_of(buckets, 0).value().step->buckets, 4);
  EXPECT_EQ(case_of(buckets, 1).value().step->buckets, 2);
  const Loaded schemes =
      load_workload(four_layers, R"("sweep": {"workload": [{"ddp": {}}, {"fsdp": {}}]})");
  EXPECT_EQ(case_of(schemes, 0).value().step->scheme, "ddp");
  EXPECT_EQ(case_of(schemes, 1).value().step->scheme, "fsdp");
  const Loaded wrong =
      load_workload(four_layers, R"("sweep": {"workload": [{"ddp": {}}, {"fsdp": {"zero": 4}}]})");
  expect_contains(wrong.mistake(), "4:55 4 is too large");
}

constexpr const char* small_transformer =
    R"("device": {"flops": "100TFLOP/s", "efficiency": 0.5, "memory": "1GB"}, "model":
       {"transformer": {"layers": 4, "hidden": 1024, "heads": 16, "seq": 1024, "global_batch": 8}})";

TEST(ReadWorkload, ATransformerIsTrainedInItsGlobalBatch) {
  const Loaded loaded = load_workload(std::string(R"("train": {"pp": 2},)") + small_transformer);
  const std::optional<Case> one = case_of(loaded);
  ASSERT_TRUE(one && one->step) << loaded.mistake();
  EXPECT_EQ(one->step->microbatches, 4);  // 8 sequences, one at a time on each of 2 replicas
  ASSERT_TRUE(one->step->work);
  EXPECT_EQ(one->step->work->tokens, 8 * 1024);
  EXPECT_EQ(one->step->work->peak, 4 * 100e12);
  EXPECT_EQ(one->step->memory->most_bytes.size(), 2U);
  EXPECT_EQ(one->step->work->flop, one->step->work->model_flop);  // nothing is computed again
}

TEST(ReadWorkload, ATransformerNeedsADeviceAndWholeMicrobatches) {
  const std::string model =
      R"("model": {"transformer": {"layers": 4, "hidden": 8, "heads": 2, "seq": 8}})";
  expect_contains(load_workload(R"("ddp": {}, )" + model).mistake(), "device");
  std::string odd = small_transformer;
  odd.replace(odd.find("\"global_batch\": 8"), 17, "\"global_batch\": 7");
  expect_contains(load_workload(R"("train": {"pp": 2},)" + odd).mistake(),
                  "7 sequences are no whole number of microbatches of 1 on 2 replicas");
}

TEST(ReadWorkload, WhatATransformerCannotBeIsNamedWhereItIsWritten) {
  const auto with = [](const std::string& device, const std::string& heads) {
    return load_workload(R"("train": {}, "device": {"flops": ")" + device +
                         R"("}, "model": {"transformer": {"layers": 4, "hidden": 1024, "heads": )" +
                         heads + R"(, "seq": 1024}})")
        .mistake();
  };
  for (const char* const flops : {"100TFLOPS", "0FLOP/s", "1e308FLOP/s"})
    expect_contains(with(flops, "16"), "is no rate of computing above 0 at /workload/device/flops");
  expect_contains(with("100FLOP/s", "16"), "exceeds 64 bits of picoseconds");
  expect_contains(with("100FLOP/s", "16"), "/workload/model");
  expect_contains(with("100TFLOP/s", "15"), "cannot be divided evenly among 15 heads");
}

// Parameters in 16 bits, gradients and Adam's 12 bytes, of 4 ranks.
TEST(ReadWorkload, ParametersAreKeptByTheRanksOfAShard) {
  const auto memory = [](const std::string& fsdp) {
    const Loaded loaded = load_workload("\"fsdp\": " + fsdp + ", " + small_transformer);
    return case_of(loaded).value().step->memory->most_bytes.front();
  };
  const double all = memory(R"({"hybrid": 1})");
  const double half = memory(R"({"hybrid": 2})");
  const double quarter = memory("{}");
  const double parameters = 4.0 * (12 * 1024 + 13) * 1024 + (51200 + 1024) * 1024.0;
  EXPECT_NEAR(all - half, 8 * parameters, 1);
  EXPECT_NEAR(half - quarter, 4 * parameters, 1);
}

// Of a tensor group of 2, each rank of 2 replicas: whole are the gradients of two layers (2), or
// parameters and gradients of four (3), and what comes with the first layer.
TEST(ReadWorkload, WhatIsWholeIsATensorGroupsPart) {
  const auto memory = [](const std::string& zero) {
    const Loaded loaded =
        load_workload(R"("train": {"tp": 2, "zero": )" + zero + "}, " + small_transformer);
    return case_of(loaded).value().step->memory->most_bytes.front();
  };
  const double layer = (12 * 1024 + 13) * 1024, before = (51200 + 1024) * 1024.0;
  const double own = (4 * layer + before) / 2;
  EXPECT_NEAR(memory("0") - memory("1"), 6 * own, 1);
  EXPECT_NEAR(memory("1") - memory("2"), own - 2 * layer - before, 1);
  EXPECT_NEAR(memory("1") - memory("3"), 2 * own - 4 * layer - before, 1);
}

// A byte each for parameters and gradients, 12 for Adam's state, which is not in 8 bits.
TEST(ReadWorkload, ATransformerIn8BitsKeepsAndSendsABytePerParameter) {
  const auto step = [](const std::string& type, const std::string& device) {
    const Loaded loaded = load_workload(R"("ddp": {}, "device": {"flops": "100TFLOP/s")" + device +
                                        R"(}, "model": {"transformer": {"layers": 4, "hidden": 1024,
                                        "heads": 16, "seq": 1024, "dtype": ")" +
                                        type + "\"}}");
    const auto one = case_of(loaded);
    EXPECT_TRUE(one && one->step) << loaded.mistake();
    return one ? one->step : nullptr;
  };
  const auto half = step("float16", "");
  const auto eight = step("fp8", R"(, "flops_float8": "200TFLOP/s")");
  ASSERT_TRUE(half && eight);
  const double parameters = 4.0 * (12 * 1024 + 13) * 1024 + (51200 + 1024) * 1024.0;
  const double logits = 1024.0 * 51200 * 12;  // in 16 bits
  EXPECT_EQ(half->memory->kept_bytes.front(), 16 * parameters + logits);
  EXPECT_EQ(eight->memory->kept_bytes.front(), 14 * parameters + logits);
  EXPECT_LT(eight->memory->activation_bytes, half->memory->activation_bytes);
  EXPECT_EQ(eight->work->peak, 2 * half->work->peak);
  const auto sent = [](const TrainingStep& of) {
    Bytes bytes = 0;
    Script script = of.workload.script(Rank(0));
    while (const Action* const action = script.next())
      if (action->kind == Action::Kind::collective)
        bytes += action->call.count * size_of(action->call.type);
    return static_cast<double>(bytes);
  };
  EXPECT_EQ(sent(*half), 2 * parameters);
  EXPECT_EQ(sent(*eight), parameters);
  expect_contains(load_workload(R"("ddp": {}, "device": {"flops": "100TFLOP/s"}, "model":
                      {"transformer": {"name": "llama-3-8b", "dtype": "float8"}})")
                      .mistake(),
                  "what this device computes in 8 bits is not known");
}

// A mistyped key is one mistake, at its place, also where a preset's device is what it adds to.
TEST(ReadWorkload, AWrongKeyOfADeviceIsSaidOnce) {
  const std::string model =
      R"("ddp": {}, "model": {"transformer": {"name": "llama-3-8b", "dtype": "float8"}}, "device":
      {"flops": "1000TFLOP/s", "flops_float9": "2000TFLOP/s"})";
  expect_contains(load_workload(model).mistake(), "unknown key \"flops_float9\"");
  const std::string text = R"({"scenario": 1, "cluster": {"preset": "dgx-h100"}, "workload": {)";
  const Loaded merged = load_text(text + model + "}}", {.workloads = true});
  expect_contains(merged.mistake(), "2:32 unknown key \"flops_float9\"");
}

TEST(ReadWorkload, SchemesWithoutMicrobatchesTakeNoGlobalBatch) {
  const Loaded fsdp = load_workload(std::string(R"("fsdp": {},)") + small_transformer);
  const std::optional<Case> sharded = case_of(fsdp);
  ASSERT_TRUE(sharded && sharded->step) << fsdp.mistake();
  EXPECT_EQ(sharded->step->microbatches, 2);
  EXPECT_EQ(sharded->step->work->tokens, 8 * 1024);
  expect_contains(
      load_workload(std::string(R"("parameter-server": {},)") + small_transformer).mistake(),
      "parameter-server has no microbatches, and the model's global batch asks for 2");
}

TEST(ReadWorkload, SomeRanksOfTheClusterTakePart) {
  const Loaded two =
      load_workload(std::string(R"("ranks": 2, "train": {"pp": 2},)") + small_transformer);
  const std::optional<Case> pipeline = case_of(two);
  ASSERT_TRUE(pipeline && pipeline->step) << two.mistake();
  EXPECT_EQ(pipeline->step->workload.size(), 2);
  EXPECT_EQ(pipeline->step->microbatches, 8);
  expect_contains(load_scheme(R"("ranks": 5, "ddp": {})").mistake(), "5 is too large");
}

TEST(ReadWorkload, AModelByNameIsItsTensors) {
  const Loaded loaded = load_workload(
      R"("ddp": {}, "model": {"name": "resnet-50", "forward": "30ms", "backward": "60ms"})");
  const std::optional<Case> one = case_of(loaded);
  ASSERT_TRUE(one && one->step) << loaded.mistake();
  EXPECT_EQ(one->step->buckets, 5);
  expect_contains(load_workload(R"("ddp": {}, "model": {"name": "resnet-51"})").mistake(),
                  "resnet-50");
}

}  // namespace
}  // namespace collsim::testing
