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
