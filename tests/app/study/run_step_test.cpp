// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/scenario/make_case.hpp"
#include "app/study/memory_over_time.hpp"
#include "app/study/run_step.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/app/study/steps.hpp"
#include "tests/contains.hpp"

namespace collsim::testing {
namespace {

const std::string eight =
    R"("shape": "switch", "ranks": 8, "link": {"bandwidth": "100Gb/s", "overhead": "10us"})";
const std::string like_bert =
    R"("model": {"forward": "70ms", "optimizer": "4ms",
       "layers": [{"times": 24, "backward": "6ms", "gradients": "48MiB"}]})";
const std::string switch_of_four =
    R"("shape": "switch", "ranks": 4, "link": {"bandwidth": "10GB/s"})";
const std::string thirty_ms =
    R"("model": {"layers": [{"times": 4, "forward": "10ms", "backward": "20ms"}]})";

// One layer over four stages: 2 ms of it on each, 1 ms to hand its activations on three times, and
// one all-reduce of 1 ms at the end of each half; the same backward.
TEST(RunStep, PartsOfALayerHaveTheAllReducesOfItsHalves) {
  const CaseResult row =
      row_of(step_scenario(R"("shape": "switch", "ranks": 8, "link": {"bandwidth": "1GB/s"})",
                           R"("train": {"tp": 2, "pp": 4, "microbatches": 1}, "model": {"layers": [
                         {"forward": "8ms", "backward": "8ms", "activations": "1MB"}]})"));
  EXPECT_NEAR(row.time_s(), 2 * (8e-3 + 3e-3 + 2e-3), 1e-12);
}

// --- memory -----------------------------------------------------------------------------------

constexpr const char* small_transformer =
    R"("model": {"transformer": {"layers": 8, "hidden": 1024, "heads": 16, "seq": 1024}},
       "device": {"flops": "100TFLOP/s", "memory": )";

struct MemoryCurve {
  double kept = 0, most = 0, last = 0;
};
MemoryCurve memory_of_rank(const std::string& scenario, std::size_t rank) {
  Studied studied;
  load(studied, scenario);
  ClusterCache clusters;
  const auto found = make_case(*studied.scenario, {}, clusters, studied.diagnostics);
  const Simulation run = record_step(*found, 1'000'000);
  const auto points = memory_over_time(
      *found->step, recorded_actions(found->step->workload, *run.timeline), Rank(rank));
  const std::vector<double>& kept = found->step->memory->kept_bytes;
  MemoryCurve curve{kept[kept.size() == 1 ? 0 : rank], 0, points.back().bytes};
  for (const MemoryPoint& point : points) curve.most = std::max(curve.most, point.bytes);
  return curve;
}

// The curve of every stage reaches what the row says, and returns to what is kept.
TEST(RunStep, MemoryOverTimeReachesWhatTheRowSays) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1"}) {
    const std::string scenario =
        step_scenario(four_stages, std::string(R"("pipeline": {"microbatches": 8, "schedule": ")") +
                                       schedule + "\"}, " + small_transformer + "\"80GB\"}");
    const CaseResult row = row_of(scenario);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      const MemoryCurve curve = memory_of_rank(scenario, stage);
      EXPECT_NEAR(curve.most / row.step->memory->bytes[stage], 1, 1e-12) << schedule << stage;
      EXPECT_NEAR(curve.last / curve.kept, 1, 1e-12) << schedule << stage;
    }
    EXPECT_EQ(row.step->memory->runs_out, "");
  }
}

// Layers that are gathered come and go; the row says as many as there may be.
TEST(RunStep, MemoryOfFsdpHasWholeLayers) {
  const std::string scenario =
      step_scenario(eight, std::string(R"("fsdp": {}, )") + small_transformer + "\"80GB\"}");
  const double row = row_of(scenario).step->memory->bytes.front();
  const MemoryCurve curve = memory_of_rank(scenario, 3);
  const double layer = 2 * (12 * 1024.0 * 1024 + 13 * 1024);
  EXPECT_LE(curve.most, row * (1 + 1e-12));
  EXPECT_GE(curve.most, row - 2 * layer);
  EXPECT_NEAR(curve.last / curve.kept, 1, 1e-12);
}

// Of 1F1B the first of four stages holds four microbatches, each of two layers.
TEST(RunStep, MemoryRunsOutAtALayer) {
  const auto with_memory = [](const std::string& memory) {
    const Studied studied =
        results_of(step_scenario(four_stages, std::string(R"("pipeline": {"microbatches": 8}, )") +
                                                  small_transformer + "\"" + memory + "\"}"));
    return studied.warning("out-of-memory");
  };
  const CaseResult row =
      row_of(step_scenario(four_stages, std::string(R"("pipeline": {"microbatches": 8}, )") +
                                            small_transformer + "\"80GB\"}"));
  const auto most = static_cast<std::int64_t>(row.step->memory->bytes.front());
  const double layer = 1024.0 * 1024 * (34 + 5.0 * 16);
  const auto less = [&](double layers) {
    return std::to_string(most - static_cast<std::int64_t>(layers * layer)) + "B";
  };
  EXPECT_EQ(with_memory(less(-0.5)), "");
  expect_contains(with_memory(less(0.5)), "; it runs out at microbatch 4: forward of layer 2");
  expect_contains(with_memory(less(2.5)), "; it runs out at microbatch 3: forward of layer 2");
  expect_contains(with_memory("10MB"), "; it runs out whatever its layers keep");
}

// A host that is slower than the device sets the pace: 8 layers forward and backward, computed
// again or not; one that is faster costs nothing.
TEST(RunStep, TheHostLaunchesEveryPass) {
  const auto step_of = [](const std::string& scheme, const std::string& recompute,
                          const std::string& launch) {
    const CaseResult row = row_of(step_scenario(
        eight, scheme + R"(, "model": {"transformer": {"layers": 8, "hidden": 1024, "heads": 16,
                           "seq": 1024, "recompute": ")" +
                   recompute + R"("}}, "device": {"flops": "100TFLOP/s", "launch": ")" + launch +
                   "\"}"));
    return row.time_s();
  };
  for (const char* scheme :
       {R"("ddp": {})", R"("fsdp": {})", R"("fsdp": {"hybrid": 4})", R"("train": {"dp": 8})"}) {
    const double without = step_of(scheme, "none", "0ms");
    EXPECT_EQ(step_of(scheme, "none", "10us"), without) << scheme;
    EXPECT_GE(step_of(scheme, "none", "100ms"), 16 * 0.1) << scheme;
    EXPECT_LE(step_of(scheme, "none", "100ms"), 16 * 0.1 + without) << scheme;
    EXPECT_GE(step_of(scheme, "full", "100ms"), 24 * 0.1) << scheme;
  }
}

// Half a backward pass takes half its launches: what bounds 1F1B bounds this no more.
TEST(RunStep, TheHostLaunchesTheHalvesOfABackwardPassOnce) {
  const auto step_of = [](const std::string& schedule, const std::string& recompute = "none") {
    return row_of(step_scenario(four_stages, R"("pipeline": {"microbatches": 8, "schedule": ")" +
                                                 schedule + R"("}, "model": {"transformer":
        {"layers": 8, "hidden": 1024, "heads": 16, "seq": 1024, "recompute": ")" +
                                                 recompute + R"("}},
        "device": {"flops": "100TFLOP/s", "launch": "100ms"})"))
        .time_s();
  };
  EXPECT_GE(step_of("zb-h1"), 8 * 2 * 2 * 0.1);
  EXPECT_LT(step_of("zb-h1"), step_of("1f1b"));
  EXPECT_GE(step_of("zb-h1", "full"), 8 * 2 * 3 * 0.1);
}

// Recursion of DDP's buckets, by hand: the last of 24 all-reduces ends at 248.474 ms.
TEST(RunStep, SaysWhereTheTimeGoes) {
  const CaseResult row = row_of(step_scenario(eight, "\"ddp\": {}, " + like_bert));
  EXPECT_EQ(row.time, Time(252'474'337'280));
  ASSERT_TRUE(row.step);
  EXPECT_NEAR(row.step->compute_s, 0.218, 1e-12);
  EXPECT_NEAR(row.step->exposed_s, 0.034474337280, 1e-12);
  EXPECT_NEAR(row.step->hidden_s, 24 * 0.00718643072 - 0.034474337280, 1e-9);
  EXPECT_NEAR(row.step->bubble, 0, 1e-12);
  EXPECT_EQ(row.step->buckets, 24);
  ASSERT_EQ(row.step->communicators.size(), 1U);
  EXPECT_EQ(row.step->communicators[0].name, "world");
  EXPECT_NEAR(row.step->communicators[0].exposed_s, row.step->exposed_s, 1e-15);
  EXPECT_EQ(row.step->ranks.size(), 8U);
}

TEST(RunStep, TheTextbooksBubbles) {
  const struct {
    const char* schedule;
    std::int64_t ms;
  } known[] = {{"gpipe", 330}, {"1f1b", 330}, {"interleaved", 285}, {"zb-h1", 270}};
  for (const auto& [schedule, ms] : known) {
    const std::string pipeline =
        std::string(R"("pipeline": {"microbatches": 8, "schedule": ")") + schedule + "\"}, ";
    const CaseResult row = row_of(step_scenario(four_stages, pipeline + thirty_ms));
    EXPECT_EQ(row.time, Time(ms * 1'000'000'000)) << schedule;
    ASSERT_TRUE(row.analytic) << schedule;
    EXPECT_NEAR(row.analytic->seconds, row.time_s(), 1e-12) << schedule;
    EXPECT_NEAR(row.step->bubble, 1 - 240.0 / static_cast<double>(ms), 1e-12) << schedule;
  }
}

// Wherever it is given, over many sizes.
TEST(RunStep, AFormulaOfAPipelineIsExact) {
  int checked = 0;
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1"})
    for (const int stages : {2, 3, 5})
      for (const auto& [microbatches, forward] :
           {std::pair{1, 6}, {3, 6}, {3, 8}, {5, 9}, {15, 7}, {15, 12}}) {
        const std::string cluster =
            R"("shape": "switch", "link": {"bandwidth": "25GB/s"}, "ranks": )" +
            std::to_string(stages);
        const std::string scenario = step_scenario(
            cluster, R"("pipeline": {"schedule": ")" + std::string(schedule) +
                         R"(", "microbatches": )" + std::to_string(microbatches) +
                         R"(}, "model": {"optimizer": "5ms", "layers": [{"times": )" +
                         std::to_string(2 * stages) + R"(, "backward": "14ms", "forward": ")" +
                         std::to_string(forward) + R"(ms"}]})");
        if (std::string(schedule) == "interleaved" && microbatches % stages != 0) continue;
        const CaseResult row = row_of(scenario);
        if (!row.analytic) continue;
        ++checked;
        EXPECT_NEAR(row.analytic->seconds, row.time_s(), 1e-12) << scenario;
      }
  EXPECT_GT(checked, 30);
}

TEST(RunStep, NoFormulaWhereMessagesOrLateRanksCost) {
  const std::string pipeline = R"("pipeline": {"microbatches": 8}, )";
  const std::string slow = pipeline + R"("slow": {"1": 1.1}, )" + thirty_ms;
  EXPECT_FALSE(row_of(step_scenario(four_stages, slow)).analytic);
  const std::string late = four_stages + R"(, "late": {"2": "1ms"})";
  EXPECT_FALSE(row_of(step_scenario(late, pipeline + thirty_ms)).analytic);
  const std::string short_ones_cost = R"("shape": "chain", "ranks": 4, "link": {"segments": [
      {"up_to": "4KiB", "overhead": "1ms", "bandwidth": "25GB/s"}, {"bandwidth": "25GB/s"}]})";
  EXPECT_FALSE(row_of(step_scenario(short_ones_cost, pipeline + thirty_ms)).analytic);
  EXPECT_FALSE(
      row_of(step_scenario(eight, R"("pipeline": {"microbatches": 8}, )" + thirty_ms)).analytic);
}

TEST(RunStep, ASlowRankStretchesItsWork) {
  const std::string model =
      R"("model": {"layers": [{"forward": "10ms", "backward": "20ms", "gradients": "4B"}]})";
  const std::string free = R"("shape": "switch", "ranks": 4, "link": {"bandwidth": "25GB/s"})";
  const auto compute_of = [&](const std::string& slow) {
    return row_of(step_scenario(free, "\"ddp\": {}, \"slow\": {" + slow + "}, " + model));
  };
  const CaseResult stretched = compute_of(R"("3": 1.5)");
  EXPECT_NEAR(stretched.step->ranks[3].compute_s, 0.045, 1e-12);
  EXPECT_NEAR(stretched.step->ranks[0].compute_s, 0.030, 1e-12);
  EXPECT_NEAR(compute_of(R"("3": "15ms")").time_s(), stretched.time_s(), 1e-12);
}

TEST(RunStep, WhoGivesUpIsAMetric) {
  const auto studied = [](const std::string& timeout, const std::string& expect) {
    return results_of(step_scenario(
        R"("shape": "switch", "ranks": 3, "link": {"bandwidth": "25GB/s", "overhead": "5us"})",
        "\"timeout\": \"" + timeout +
            R"(", "program": [{"on": "all", "do": [{"work": "rank * 1s"}, {"barrier": true}]}])",
        "\"expect\": [{\"metric\": " + expect + "}]"));
  };
  const auto outcome = [&](const std::string& timeout, const std::string& expect) {
    return studied(timeout, expect).results->expect.front();
  };
  EXPECT_TRUE(outcome("1.5s", R"("gives_up", "equals": "1.5s")").ok);
  EXPECT_TRUE(outcome("1.5s", R"("least_timeout", "equals": "step")").ok);
  const ExpectationOutcome nobody = outcome("3s", R"("gives_up", "at_least": "0s")");
  EXPECT_FALSE(nobody.ok);
  expect_contains(nobody.failure, "no rank gives up");
}

TEST(RunStep, ARestartWithFewerRanksIsSimulatedAgain) {
  const auto of = [&](int ranks, const std::string& failures) {
    return row_of(step_scenario(
        R"("shape": "switch", "link": {"bandwidth": "100Gb/s"}, "ranks": )" + std::to_string(ranks),
        "\"ddp\": {}, " + failures + like_bert));
  };
  const CaseResult job =
      of(8, R"("failures": {"at": [{"steps": 3, "ranks": 6}], "steps": 10, "restart": "1min"}, )");
  EXPECT_NEAR(*job.step->job->time_s, 3 * job.time_s() + 60 + 7 * of(6, "").time_s(), 1e-9);
  EXPECT_EQ(job.step->job->steps_done_twice, 0);
  EXPECT_EQ(job.ranks, 8);
  const std::string random = R"("failures": {"mtbf": "1h", "checkpoint": "1min"}, )";
  const Studied swept =
      results_of(step_scenario(eight, "\"ddp\": {}, " + random + like_bert,
                               R"("sweep": {"workload.failures.interval": ["5min", "1h"]})"));
  EXPECT_EQ(swept.all_warnings(), "");  // the steps take equally long, the jobs do not
  // Twice as many ranks as it was measured with fail twice as often.
  const std::string often =
      R"("failures": {"mtbf": "2h", "mtbf_ranks": 4, "checkpoint": "1min"}, )";
  const std::string twice = R"("failures": {"mtbf": "1h", "checkpoint": "1min"}, )";
  EXPECT_DOUBLE_EQ(of(8, often).step->job->useful, of(8, twice).step->job->useful);
}

// Each lane of an algorithm is one of its communicator's.
TEST(RunStep, TakesAlgorithmsOfSeveralLanes) {
  for (const char* choice : {R"("double-tree")", R"({"algorithm": "ring", "channels": 4})",
                             R"({"algorithm": "ring", "chunks": 4})", R"("recursive-doubling")"}) {
    const std::string ddp =
        std::string(R"("ddp": {"algorithm": {"all_reduce": )") + choice + "}}, ";
    const CaseResult row = row_of(step_scenario(eight, ddp + like_bert));
    EXPECT_GT(row.step->exposed_s, 0) << choice;
    EXPECT_NEAR(row.step->compute_s, 0.218, 1e-12) << choice;
  }
}

TEST(RunStep, MetricsAreChecked) {
  const std::string expect = R"x("expect": [
      {"id": "parts", "metric": "compute + exposed + bubble * step", "equals": "step"},
      {"id": "best", "metric": "argmin(step, workload.ddp.bucket)", "equals": "25MiB"}],
    "sweep": {"workload.ddp.bucket": ["25MiB", "10GB"]})x";
  const Studied studied = results_of(step_scenario(eight, "\"ddp\": {}, " + like_bert, expect));
  for (const ExpectationOutcome& outcome : studied.results->expect)
    EXPECT_TRUE(outcome.ok) << outcome.failure;
  EXPECT_EQ(studied.all_warnings(), "");
}

TEST(RunStep, MetricsOfTheOtherKindAreRefused) {
  const auto complaint = [](const std::string& metric) {
    const Studied studied =
        study(step_scenario(eight, "\"ddp\": {}, " + like_bert,
                            R"("expect": [{"metric": ")" + metric + R"(", "at_least": 0}])"));
    return studied.messages().empty() ? std::string() : studied.messages().front();
  };
  EXPECT_EQ(complaint("step"), "");
  expect_contains(complaint("busbw"), "is of a collective, and this is a training step");
  expect_contains(complaint("N"), "is of a collective, and this is a training step");
  const Studied collective = study(R"({"scenario": 1, "cluster": {)" + eight +
                                   R"(}, "collective": {"op": "all-reduce", "size": "1MiB"},
          "expect": [{"metric": "exposed", "at_least": 0}]})");
  ASSERT_EQ(collective.messages().size(), 1U);
  expect_contains(collective.messages()[0], "is of a training step, and this is a collective");
}

TEST(RunStep, WhatIsTooLargeIsRefused) {
  const std::string many = R"("shape": "switch", "ranks": 20000, "link": {"bandwidth": "25GB/s"})";
  const Studied studied = study(step_scenario(many, "\"ddp\": {}, " + like_bert));
  ASSERT_EQ(studied.messages().size(), 1U);
  expect_contains(
      studied.messages()[0],
      "too large to simulate: more than 1e+10 instructions, the limit; use fewer ranks");
}

// Launching takes none of the device's time, so a collective beside it is exposed.
TEST(RunStep, WhatTheHostLaunchesHidesNothing) {
  const auto row = [](const std::string& name, const std::string& launching) {
    return row_of(step_scenario(
        R"("shape": "switch", "ranks": 2, "link": {"bandwidth": "1GB/s"})",
        R"("streams": ["main", ")" + name + R"("], "program": [{"do": [{"stream": ")" + name +
            R"(", "do": [{"work": ")" + launching +
            R"("}]}, {"all-reduce": "x", "size": "10MB"}, {"work": "5ms"}]}])"));
  };
  const CaseResult launched = row("host", "25ms");  // the collective takes 10 ms
  EXPECT_NEAR(launched.step->exposed_s, 0.010, 1e-9);
  EXPECT_NEAR(launched.step->hidden_s, 0, 1e-12);
  EXPECT_NEAR(launched.step->compute_s, 0.015, 1e-9);
  EXPECT_NEAR(launched.step->bubble, 0, 1e-9);
  const CaseResult soon = row("host", "8ms");
  EXPECT_NEAR(soon.step->exposed_s, 0.010, 1e-9);
  EXPECT_NEAR(soon.step->compute_s, 0.005, 1e-9);
  const CaseResult computed = row("other", "25ms");
  EXPECT_NEAR(computed.step->hidden_s, 0.010, 1e-9);
  EXPECT_NEAR(computed.step->compute_s, 0.025, 1e-9);
}

TEST(RunStep, AnEndlessStepIsRefusedSoon) {
  const Studied studied = study(step_scenario(
      four_stages, R"("ddp": {"microbatches": 100000}, "model": {"layers": [{"times": 1000}]})"));
  ASSERT_EQ(studied.messages().size(), 1U);
  expect_contains(studied.messages()[0], "a rank does more than 5,000,000 things");
}

// A switch of 4 ranks: an all-reduce of a layer's gradients takes 6 ms.
TEST(RunStep, TrainSharesItsOptimizerAndOverlapsGradients) {
  const auto step_of = [](const std::string& options) {
    return row_of(step_scenario(switch_of_four, R"("train": {"dp": 4)" + options + R"(},
        "model": {"optimizer": "4ms", "layers": [{"times": 4, "forward": "1ms", "backward": "2ms",
                                                  "gradients": "40MB"}]})"))
        .time;
  };
  constexpr std::int64_t ms = 1'000'000'000;
  EXPECT_EQ(step_of(""), Time((12 + 4 * 6 + 4) * ms));
  EXPECT_EQ(step_of(R"(, "overlap": true)"), Time((4 + 2 + 4 * 6 + 4) * ms));
  EXPECT_EQ(step_of(R"(, "zero": 1)"), Time((12 + 12 + 1 + 12) * ms));
  EXPECT_EQ(step_of(R"(, "zero": 1, "overlap": true)"), Time((4 + 2 + 12 + 1 + 12) * ms));
  EXPECT_EQ(step_of(R"(, "zero": 2)"), Time((4 + 2 + 12 + 1 + 12) * ms));
  // All layers are gathered, which takes longer than computing them; after the last one's forward
  // pass three are gathered again and four scattered.
  EXPECT_EQ(step_of(R"(, "zero": 3)"), Time((4 * 3 + 1 + (3 + 4) * 3 + 1) * ms));
}

TEST(RunStep, ParameterServersUpdateWhatTheyKeep) {
  const auto step_of = [](const std::string& more) {
    return row_of(step_scenario(switch_of_four, R"("parameter-server": {}, "model": {
        "optimizer": "4ms", "layers": [{"forward": "1ms", "backward": "2ms",
                                        "gradients": "40MB"}]})" +
                                                    more))
        .time;
  };
  constexpr std::int64_t ms = 1'000'000'000;
  EXPECT_EQ(step_of(""), Time((3 + 3 * 4 + 4 + 3 * 4) * ms));
  EXPECT_EQ(step_of(R"(, "slow": {"3": 2})"), Time((3 + 3 * 4 + 8 + 3 * 4) * ms));
}

TEST(RunStep, NothingIsSentForLayersWithoutParameters) {
  for (const char* scheme : {R"("ddp": {})", R"("fsdp": {})", R"("fsdp": {"zero": 1})",
                             R"("train": {"dp": 2, "tp": 2})", R"("tensor": {})"}) {
    SCOPED_TRACE(scheme);
    const CaseResult row = row_of(step_scenario(four_stages, std::string(scheme) + R"(,
        "model": {"layers": [{"times": 4, "forward": "1ms", "backward": "2ms"}]})"));
    EXPECT_EQ(row.messages, 0U);
    EXPECT_EQ(row.time, Time(12'000'000'000));
  }
}

TEST(RunStep, TheSecondStageScattersGradientsOfEveryMicrobatch) {
  const auto messages = [](const std::string& zero) {
    return row_of(
               step_scenario(four_stages, R"("fsdp": {"microbatches": 3, "zero": )" + zero +
                                              R"(}, "model": {"layers": [{"gradients": "4MB"}]})"))
        .messages;
  };
  EXPECT_EQ(messages("1"), 4U * 3 * 2);
  EXPECT_EQ(messages("2"), 4U * 3 * (3 + 1));
}

TEST(RunStep, FsdpHasMoreLayersWholeTheEarlierItGathers) {
  const auto bytes = [](const std::string& options) {
    return row_of(step_scenario(four_stages, R"("fsdp": {"unsharded": 1, "prefetch": )" + options +
                                                 R"(}, "model": {"layers": [{"times": 4,
        "gradients": "40MB"}]})"))
        .step->memory->bytes;
  };
  EXPECT_EQ(bytes(R"("none")"), std::vector<double>{240e6});
  EXPECT_EQ(bytes(R"("post")"), std::vector<double>{280e6});
  EXPECT_EQ(bytes(R"("pre")"), std::vector<double>{320e6});
}

// 16 bytes for each parameter of 4: itself, its gradient and Adam's two moments.
TEST(RunStep, MemoryOfLayersIsParametersStateAndActivations) {
  const auto memory = [](const std::string& scheme, const std::string& more = "") {
    return row_of(step_scenario(four_stages, scheme + R"(, "model": {"layers": [
        {"times": 4, "gradients": "4MB", "activations": "1MB"}]})" +
                                                 more))
        .step->memory;
  };
  EXPECT_EQ(memory(R"("ddp": {})")->bytes, (std::vector<double>{4 * 16e6 + 4e6}));
  EXPECT_EQ(memory(R"("fsdp": {"zero": 1})")->bytes, (std::vector<double>{4 * (8e6 + 2e6) + 4e6}));
  EXPECT_EQ(memory(R"("pipeline": {"microbatches": 8})")->bytes,
            (std::vector<double>{16e6 + 4e6, 16e6 + 3e6, 16e6 + 2e6, 16e6 + 1e6}));
  EXPECT_FALSE(memory(R"("parameter-server": {})"));
  EXPECT_TRUE(memory(R"("ddp": {})", R"(, "device": {"memory": "1GB"})")->runs_out.empty());
  EXPECT_EQ(memory(R"("ddp": {})", R"(, "device": {"memory": "10MB"})")->runs_out,
            "during the step");
}

// Five layers on four stages; the last one has a second table of words, and the logits.
TEST(RunStep, MemoryOfATransformerIsThatOfEachStage) {
  const CaseResult row =
      row_of(step_scenario(four_stages, R"("pipeline": {"microbatches": 8}, "model": {"transformer":
        {"layers": 5, "hidden": 1024, "heads": 16, "seq": 1024, "vocab": 50000}},
        "device": {"flops": "100TFLOP/s"})"));
  const double h = 1024, words = 50'000;
  const double layer = 16 * (12 * h * h + 13 * h), kept = h * h * (34 + 5.0 * 16);
  const std::vector<double>& bytes = row.step->memory->bytes;
  ASSERT_EQ(bytes.size(), 4U);
  EXPECT_NEAR(bytes[0], 2 * layer + 16 * (words + h) * h + 4 * 2 * kept, 1);
  EXPECT_NEAR(bytes[1], layer + 3 * kept, 1);
  EXPECT_NEAR(bytes[3], layer + 16 * words * h + 12 * words * h + kept, 1);
}

// The tables are gathered with the first and with the last layer.
TEST(RunStep, MemoryOfFsdpHasATableWhole) {
  const auto bytes = [](const char* vocabulary) {
    return row_of(step_scenario(four_stages, std::string(R"("fsdp": {}, "model": {"transformer":
        {"layers": 4, "hidden": 1024, "heads": 16, "seq": 1024, "vocab": )") +
                                                 vocabulary +
                                                 R"(}}, "device": {"flops": "100TFLOP/s"})"))
        .step->memory->bytes.front();
  };
  EXPECT_NEAR(bytes("60000") - bytes("50000"), 10'000 * 1024 * (16 / 4 + 2 + 12), 1);
}

// What scatter saves over broadcast, and what all-gather takes.
TEST(RunStep, MemoryOfAProgramIsThatOfItsBuffers) {
  const auto memory = [](const std::string& ops) {
    return row_of(step_scenario(four_stages,
                                R"("data": {"x": [[1, 2, 3, 4], [], [], []], "y": "4B"},
                                   "program": [{"on": "all", "do": [)" +
                                    ops + "]}]"))
        .step->memory->bytes;
  };
  EXPECT_EQ(memory(R"({"broadcast": "x", "root": 0})"), (std::vector<double>{20, 20, 20, 20}));
  EXPECT_EQ(memory(R"({"scatter": "x", "into": "z", "root": 0})"),
            (std::vector<double>{24, 8, 8, 8}));
  EXPECT_EQ(memory(R"({"all-gather": "y", "into": "z"})"), (std::vector<double>{36, 20, 20, 20}));
}

// Compared with what is simulated: assertions stop a step that is faster than its bound.
TEST(RunStep, BoundsAreBelowTheStepAndNearIt) {
  const CaseResult computing = row_of(step_scenario(eight, "\"ddp\": {}, " + like_bert));
  EXPECT_EQ(computing.bound, computing.bounds.compute);
  EXPECT_NEAR(computing.bound.seconds(), 0.218, 1e-12);
  const CaseResult sending = row_of(step_scenario(
      eight, R"("ddp": {}, "model": {"layers": [{"times": 8, "gradients": "256MiB"}]})"));
  EXPECT_EQ(sending.bound, sending.bounds.bandwidth);
  EXPECT_LT(sending.time_s() / sending.bound.seconds(), 1.01);
  EXPECT_GE(sending.time, sending.bound);
}

// Of 64 ranks 15,001 elements become 15,040, 0.3% more, and 150,001 become 150,016.
TEST(RunStep, PartsAreMadeEqualWhereThatHardlyCounts) {
  const auto row = [](const std::string& link, const std::string& gradients,
                      const std::string& more = "") {
    return row_of(step_scenario(
        R"("shape": "switch", "ranks": 64, "link": )" + link,
        R"("ddp": {"bucket": "1B", "first_bucket": "1B"}, "model": {"layers": [{"times": 20,
           "backward": "10us", "gradients": ")" +
            gradients + R"("}]})" + more));
  };
  const std::string plain = R"({"bandwidth": "10GB/s", "latency": "1us"})";
  EXPECT_FALSE(row(plain, "60004B").evened);
  const CaseResult evened = row(plain, "600004B");
  EXPECT_TRUE(evened.evened);
  const CaseResult exact = row(plain, "600004B", R"(, "slow": {"3": "1ns"})");
  EXPECT_FALSE(exact.evened);
  EXPECT_NEAR(evened.time_s(), exact.time_s(), 1e-3 * exact.time_s());
  // 9,376 bytes are a long message here.
  EXPECT_FALSE(row(R"({"segments": [{"up_to": "9375B", "overhead": "1us", "bandwidth": "10GB/s"},
                                    {"overhead": "20us", "bandwidth": "10GB/s"}]})",
                   "600004B")
                   .evened);
}

TEST(RunStep, RanksThatDoNotFitTogetherAreNamedInOneSentence) {
  const auto message = [](const std::string& first, const std::string& second) {
    const Studied studied = study(
        step_scenario(R"("shape": "switch", "ranks": 2, "link": {"bandwidth": "25GB/s"})",
                      R"("groups": {"a": [0, 1], "b": [0, 1]}, "program": [{"on": 0, "do": [)" +
                          first + R"(]}, {"on": 1, "do": [)" + second + "]}]"));
    return studied.messages().empty() ? std::string() : studied.messages()[0];
  };
  const std::string a = R"({"barrier": true, "group": "a"})";
  const std::string b = R"({"barrier": true, "group": "b"})";
  const std::string crossed = message(a + ", " + b, b + ", " + a);
  expect_contains(crossed,
                  "this program never ends: rank 0 waits in call 1 of a (barrier) for "
                  "rank 1; rank 1 waits in call 1 of b (barrier) for rank 0");
  EXPECT_EQ(crossed.find('\n'), std::string::npos);
  const auto sized = [](const char* op, const char* size) {
    return fmt::format(R"({{{}, "size": "{}"}})", op, size);
  };
  expect_contains(message(sized(R"("send": "x", "to": 1)", "1MB"),
                          sized(R"("receive": "x", "from": 0)", "2MB")),
                  "this program does not fit together: rank 0 ");
  expect_contains(message(sized(R"("all-reduce": "x", "group": "a")", "1MB"),
                          sized(R"("all-reduce": "x", "group": "a")", "2MB")),
                  "this program does not fit together: call 1 of a is all-reduce of 250000 f32");
  expect_contains(message(sized(R"("send": "x", "to": 1)", "1MB"), ""),
                  "this program does not fit together: rank 0 ");
}

TEST(RunStep, RanksThatDoNotFitTogetherAreShownWhereTheyAreWritten) {
  const Studied studied = study(step_scenario(
      R"("shape": "switch", "ranks": 2, "link": {"bandwidth": "25GB/s"})", R"("program": [
{"on": 0, "do": [
  {"work": "1us"}, {"send": "x", "to": 1, "size": "1MB"}]},
{"on": 1, "do": [{"receive": "x", "from": 0, "size": "2MB"}]}])"));
  ASSERT_EQ(studied.diagnostics.size(), 1U);
  const auto at = studied.sources.locate(0, studied.diagnostics.sorted()[0].place.begin);
  EXPECT_EQ(at.column, 20U);
}

TEST(RunStep, ExpectationsCanAskForTheIdleTimeOfARank) {
  const Studied studied = results_of(step_scenario(
      R"("shape": "switch", "ranks": 2, "link": {"bandwidth": "25GB/s"})",
      R"("program": [{"on": 0, "do": [{"work": "10ms"}]}, {"on": 1, "do": [{"work": "4ms"}]}])",
      R"j("expect": [{"metric": "idle(1)", "equals": "6ms"}, {"metric": "idle(K - 2)", "at_most": 0},
                    {"metric": "bound", "equals": "10ms"}, {"metric": "idle(2)", "at_least": 0}])j"));
  const auto& expect = studied.results->expect;
  EXPECT_TRUE(expect[0].ok && expect[1].ok && expect[2].ok);
  EXPECT_FALSE(expect[3].ok);
  expect_contains(expect[3].failure, "there is no rank 2");
}

TEST(RunStep, OnlyTransformersHaveMfu) {
  const Studied studied = results_of(step_scenario(
      eight, "\"ddp\": {}, " + like_bert, R"("expect": [{"metric": "mfu", "at_least": 0.1}])"));
  expect_contains(studied.results->expect.front().failure, "whose model is a \"transformer\"");
}

}  // namespace
}  // namespace collsim::testing
