// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/failures.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace collsim {
namespace {

using nlohmann::json;

json failure_oracle(const std::string& name) {
  std::ifstream file(COLLSIM_TEST_DATA "/programs.json");
  for (const json& entry : json::parse(file))
    if (entry["name"] == name) return entry;
  throw std::runtime_error("no oracle " + name);
}

TEST(FailuresTest, TheBestIntervalIsTheOracles) {
  for (const char* name : {"failures_llama3_like", "failures_bad_day"}) {
    const json oracle = failure_oracle(name);
    const json& params = oracle["params"];
    const Failures failures{params["mtbf_s"], params["checkpoint_s"], params["restart_s"]};
    const json& expected = oracle["expected_other"];
    EXPECT_NEAR(young_interval(failures), expected["young_tau_s"], 1e-6);
    EXPECT_NEAR(best_interval(failures), expected["best_tau_s"], 1e-2);
    EXPECT_NEAR(useful_fraction(failures, best_interval(failures)),
                expected["useful_fraction_at_best"], 1e-12);
    EXPECT_NEAR(useful_fraction(failures, young_interval(failures)),
                expected["useful_fraction_at_young"], 1e-12);
    EXPECT_NEAR(useful_fraction(failures, 3600), expected["useful_fraction_hourly"], 1e-12);
  }
}

TEST(FailuresTest, AJobGoesBackToItsLastCheckpoint) {
  for (const char* name : {"restart_deterministic_one", "restart_deterministic_none"}) {
    const json oracle = failure_oracle(name);
    const json& params = oracle["params"];
    const auto time = [&](const char* key) { return Time(params[key].get<std::int64_t>()); };
    Job job;
    job.steps = params["steps"];
    job.step = time("step_ps");
    job.checkpoint_every = params["checkpoint_every"];
    job.checkpoint = time("checkpoint_ps");
    job.restart = time("restart_ps");
    for (const json& failure : params["failures_at_ps"])
      job.failures.push_back({.at = Time(failure.get<std::int64_t>())});
    const JobResult result = run_job(job);
    EXPECT_EQ(result.time.ps(), oracle["expected_ps"]) << name;
    EXPECT_EQ(result.steps_done_twice, oracle["expected_other"]["steps_done_twice"]);
    EXPECT_DOUBLE_EQ(result.useful_fraction(), oracle["expected_other"]["useful_fraction"]);
  }
}

// 16 ranks until 40 of 100 steps are done, 12 from then on.
TEST(FailuresTest, FewerRanksGoOn) {
  Job job{.steps = 100, .step = Time(100), .checkpoint_every = 20, .checkpoint = Time(7)};
  job.restart = Time(3000);
  job.failures = {{.after_steps = 40, .step = Time(90)}};
  const JobResult elastic = run_job(job);
  EXPECT_EQ(elastic.time, Time(40 * 100 + 60 * 90 + 4 * 7 + 3000));
  EXPECT_EQ(elastic.useful, Time(40 * 100 + 60 * 90));
  EXPECT_EQ(elastic.checkpoints, Time(4 * 7));
  EXPECT_EQ(elastic.restarts, Time(3000));
  EXPECT_EQ(elastic.steps_done_twice, 0);
  // Two steps and a half behind the checkpoint, and once more while it restarts.
  job.failures = {{.at = Time(4264), .step = Time(90)}, {.at = Time(5000)}};
  const JobResult behind = run_job(job);
  EXPECT_EQ(behind.time, Time(5000 + 3000 + 60 * 90 + 2 * 7));
  EXPECT_EQ(behind.steps_done_twice, 2);
  EXPECT_EQ(behind.useful, Time(40 * 100 + 60 * 90));
  EXPECT_EQ(behind.checkpoints, Time(4 * 7));
  EXPECT_EQ(behind.restarts, Time(8000 - 4264));
}

TEST(FailuresTest, ManyRanksHaveATail) {
  EXPECT_NEAR(chance_of_a_slow_rank(0.01, 100),
              failure_oracle("tail_at_scale_K100")["expected_other"]["probability"], 1e-12);
  EXPECT_NEAR(expected_maximum(100e9, 2e9, 8),
              failure_oracle("expected_maximum_K8")["expected_other"]["expected_ps"], 1);
}

}  // namespace
}  // namespace collsim
