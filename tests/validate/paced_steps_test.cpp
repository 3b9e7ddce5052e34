// SPDX-License-Identifier: Apache-2.0
// Steps of training on threads, their links emulated, take as long as the simulator says.  As in
// paced_test.cpp the bar is for a machine on which much else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"
#include "validate/backend.hpp"

namespace collsim {
namespace {

struct PacedStep {
  const char* name;
  Topology topology;
  Workload workload;
};

std::vector<PacedStep> paced_steps() {
  const LinkParameters link{Bandwidth(8'000'000), {}, milliseconds(1)};
  Model model;
  model.optimizer = milliseconds(2);
  for (int i = 0; i < 4; ++i)
    model.layers.push_back({"", milliseconds(5), milliseconds(10), 65'536, 8192});
  const Ddp ddp{.bucket = 65'536, .first_bucket = 65'536};
  Ddp at_the_end = ddp;
  at_the_end.overlap = false;
  const auto pipeline = [&](PipelineSchedule schedule) {
    return make_workload(Train{.tp = 1, .pp = 4, .dp = 1, .microbatches = 4, .schedule = schedule},
                         model);
  };
  return {{"ddp", make_switch(4, link), make_workload(ddp, model, 4)},
          {"ddp without overlap", make_switch(4, link), make_workload(at_the_end, model, 4)},
          {"gpipe", make_chain(4, link), pipeline(PipelineSchedule::gpipe)},
          {"1f1b", make_chain(4, link), pipeline(PipelineSchedule::one_f_one_b)}};
}

// How much longer the fastest run took than predicted, relative.
double excess_of(const PacedStep& step) {
  const CostModel costs;
  const double predicted = simulate(step.topology, step.workload, costs, {}).time.seconds();
  RunOptions options;
  options.iterations = 5;
  const RunOutcome outcome =
      find_backend("host")->run({std::make_shared<const Workload>(step.workload), Protocol::simple,
                                 EmulatedMachine{step.topology, costs, {}}},
                                options);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) {
    ADD_FAILURE() << step.name << ": " << none->reason;
    return 0;
  }
  const auto& measured = std::get<Measurement>(outcome);
  EXPECT_EQ(measured.data, DataVerdict::right) << measured.wrong_data;
  const Summary summary = summary_of(measured.times_s);
  EXPECT_GT(summary.min_s, predicted * 0.999) << step.name;
  std::printf("%-20s predicted %8.3f ms, measured %8.3f [%.3f .. %.3f] ms\n", step.name,
              predicted * 1e3, summary.median_s * 1e3, summary.min_s * 1e3, summary.max_s * 1e3);
  return summary.min_s / predicted - 1;
}

// Steps that were disturbed get two more chances; a sanitizer adds time to every run.
TEST(Paced, StepsTakeAsLongAsTheSimulationSays) {
  constexpr double bar = 0.2;
  constexpr int attempts = testing::is_sanitized ? 1 : 3;
  for (const PacedStep& step : paced_steps()) {
    double excess = excess_of(step);
    for (int attempt = 1; attempt < attempts && excess >= bar; ++attempt)
      excess = std::min(excess, excess_of(step));
    if (testing::is_sanitized) continue;
    EXPECT_LT(excess, bar) << step.name;
  }
}

}  // namespace
}  // namespace collsim
