// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/app/scenario/loading.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/contains.hpp"

namespace collsim::testing {
namespace {

std::string call_on_hopper(int nodes, const std::string& call, const std::string& size,
                           const std::string& protocol = "") {
  return R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": )" + std::to_string(nodes) +
         R"(}, "workload": {"data": {"x": {"size": ")" + size + "\"}}, " +
         (protocol.empty() ? "" : "\"protocol\": \"" + protocol + "\", ") +
         R"("program": [{"on": "all", "do": [{")" + call + R"(": "x"}]}]}})";
}

CaseResult call_row(const std::string& scenario) {
  return results_of(scenario).results->rows.front();
}

// What `algorithm: nccl` says of the same ring, less what it adds: the kernel's start and the last
// pass over a rank's block.
TEST(StepProtocol, ACallTakesWhatItsRingTakesAlone) {
  for (const int nodes : {1, 2})
    for (const char* protocol : {"LL", "LL128", "Simple"})
      for (const char* size : {"64KiB", "16MiB"}) {
        SCOPED_TRACE(std::string(protocol) + " " + size + " " + std::to_string(nodes));
        const CaseResult step = call_row(call_on_hopper(nodes, "all-reduce", size, protocol));
        EXPECT_EQ(step.protocol ? to_string(*step.protocol) : "none", std::string(protocol));
        const CaseResult alone = call_row(
            R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": )" +
            std::to_string(nodes) + R"(}, "model": {"launch": {"base": "0s", "host": "0s"}}, )" +
            R"("collective": {"op": "all-reduce", "algorithm": "nccl", "nccl_algo": "Ring", )" +
            R"("nccl_proto": ")" + protocol + R"(", "size": ")" + size + "\"}}");
        EXPECT_LE(step.time, alone.time);
        EXPECT_GT(step.time_s(), 0.9 * alone.time_s());
      }
}

TEST(StepProtocol, TheFastestIsTakenOrOneNearly) {
  for (const int nodes : {1, 2, 4})
    for (const char* call : {"all-reduce", "all-gather", "reduce-scatter"})
      for (const char* size : {"8KiB", "256KiB", "4MiB", "64MiB", "1GiB"}) {
        SCOPED_TRACE(std::string(call) + " " + size + " " + std::to_string(nodes));
        Time best = Time::never();
        for (const char* protocol : {"LL", "LL128", "Simple"})
          best = std::min(best, call_row(call_on_hopper(nodes, call, size, protocol)).time);
        const Time taken = call_row(call_on_hopper(nodes, call, size)).time;
        EXPECT_GE(taken, best);
        EXPECT_LE(taken.seconds(), 1.15 * best.seconds());
      }
}

std::string program_on(const std::string& cluster, const std::string& rest) {
  return R"({"scenario": 1, "cluster": {)" + cluster + R"(}, "workload": {)" + rest + "}}";
}

// Whatever is sent, by whomever, and however groups lie in their nodes.
TEST(StepProtocol, ShortMessagesTakeLowLatency) {
  const std::string two = R"("preset": "dgx-a100", "nodes": 2)";
  const std::string small = R"("data": {"x": {"size": "8KiB"}}, )";
  for (const char* call : {"all-to-all", "broadcast", "all-gather"}) {
    const std::string from = std::string(call) == "broadcast" ? R"(, "root": 0)" : "";
    EXPECT_EQ(call_row(program_on(two, small + R"("program": [{"on": "all", "do": [{")" + call +
                                           R"(": "x")" + from + "}]}]"))
                  .protocol,
              LinkProtocol::ll)
        << call;
  }
  EXPECT_EQ(call_row(program_on(two, R"("data": {"x": {"size": "8B"}}, "program": [)"
                                     R"({"on": 3, "do": [{"send": "x", "to": 12}]},)"
                                     R"({"on": 12, "do": [{"receive": "x", "from": 3}]}])"))
                .protocol,
            LinkProtocol::ll);
  EXPECT_EQ(call_row(program_on(two, small + R"("groups": {"some": [[4, 5, 6, 7]]}, )"
                                             R"("program": [{"on": [4, 5, 6, 7], )"
                                             R"("do": [{"all-reduce": "x", "group": "some"}]}])"))
                .protocol,
            LinkProtocol::ll);
}

TEST(StepProtocol, UnevenGroupsKnowWhichOfTheirLinksLeaveNodes) {
  const auto row_with = [](const std::string& protocol) {
    return call_row(program_on(
        R"("preset": "dgx-h100", "nodes": 2)",
        protocol + R"("data": {"x": {"size": "16MiB"}}, "groups": {"some": [[0, 1, 2, 3, 4, 5, )"
                   R"(6, 7, 8, 9, 10]]}, "program": [{"on": "rank <= 10", )"
                   R"("do": [{"all-reduce": "x", "group": "some"}]}])"));
  };
  Time best = Time::never();
  for (const char* protocol : {"LL", "LL128", "Simple"})
    best = std::min(best, row_with(R"("protocol": ")" + std::string(protocol) + "\", ").time);
  EXPECT_EQ(row_with("").time, best);
}

// Where links join GPUs directly, rings go along them; some links carry only some protocols.
TEST(StepProtocol, RingsOfDirectLinksAndOfPcie) {
  for (const char* preset : {"mi300x", "dgx-1-v100", "gh200-quad", "rtx-4090"}) {
    SCOPED_TRACE(preset);
    const std::string cluster = R"("preset": ")" + std::string(preset) + "\"";
    const CaseResult step = call_row(
        program_on(cluster, R"("data": {"x": {"size": "64MiB"}}, "program": [{"on": "all", "do": [)"
                            R"({"all-reduce": "x"}]}])"));
    const CaseResult alone =
        call_row(R"({"scenario": 1, "cluster": {)" + cluster +
                 R"(}, "collective": {"op": "all-reduce", "algorithm": "nccl", )"
                 R"("nccl_algo": "Ring", "size": "64MiB"}})");
    EXPECT_LE(step.time, alone.time);
    EXPECT_GT(step.time_s(), 0.9 * alone.time_s());
  }
}

// With fewer ranks a step has a protocol of its own.
TEST(StepProtocol, AJobThatShrinksTakesWhatItsStepsTakeAlone) {
  const std::string model =
      R"("ddp": {}, "model": {"layers": [{"forward": "1us", "backward": "2us", )"
      R"("gradients": "2MiB"}]})";
  const std::string two = R"("preset": "dgx-h100", "nodes": 2)";
  const CaseResult job = call_row(
      program_on(two, model + R"(, "failures": {"at": [{"steps": 40, "ranks": 8}], "steps": 100, )"
                              R"("checkpoint_every": 20, "checkpoint": "0s", "restart": "1s"})"));
  const double large = call_row(program_on(two, model)).time_s();
  const double small = call_row(program_on(two, model + R"(, "ranks": 8)")).time_s();
  ASSERT_TRUE(job.step && job.step->job && job.step->job->time_s);
  EXPECT_NEAR(*job.step->job->time_s, 1 + 40 * large + 60 * small, 1e-9);
}

TEST(StepProtocol, WithoutLinksThereIsNone) {
  EXPECT_FALSE(
      call_row(program_on(R"("shape": "chain", "ranks": 1, "link": {"bandwidth": "1GB/s"})",
                          R"("program": [{"do": [{"work": "1ms"}]}])"))
          .protocol);
}

TEST(StepProtocol, NoneTakesLinksAsTheyAre) {
  const CaseResult row = call_row(call_on_hopper(2, "all-reduce", "1MiB", "none"));
  EXPECT_FALSE(row.protocol);
  EXPECT_LT(row.time, call_row(call_on_hopper(2, "all-reduce", "1MiB")).time);
}

TEST(StepProtocol, LinksThatKnowOfNoneHaveNone) {
  const std::string before = R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 4,
    "link": {"bandwidth": "25GB/s"}}, "workload": {"data": {"x": {"size": "1MiB"}}, )";
  const std::string after = R"("program": [{"on": "all", "do": [{"all-reduce": "x"}]}]}})";
  EXPECT_FALSE(call_row(before + after).protocol);
  EXPECT_FALSE(call_row(before + R"("protocol": "none", )" + after).protocol);
  const Loaded forced = load_text(before + R"("protocol": "LL", )" + after, {.workloads = true});
  EXPECT_FALSE(forced.scenario);
  expect_contains(forced.mistake(), "the links of this cluster do not say what LL costs");
}

}  // namespace
}  // namespace collsim::testing
