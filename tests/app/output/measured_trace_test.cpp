// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/output/trace_events.hpp"
#include "collectives/algorithms.hpp"
#include "tests/app/trace_rules.hpp"
#include "tests/collectives/collective_of.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

using Json = nlohmann::json;
using testing::TraceRules;

const LinkParameters slow{Bandwidth(8'000'000), microseconds(200), milliseconds(1)};

struct Recorded {
  Topology topology = make_ring(4, slow);
  Schedule schedule = schedule_of();
  Simulation simulation = simulated();

  static Schedule schedule_of() {
    return make_schedule(collective_of(Operation::all_reduce, 4, 10'000),
                         {.name = "ring", .chunks = 2});
  }
  [[nodiscard]] Simulation simulated() const {
    return simulate(topology, schedule, {}, {.recording = Recording::full});
  }
  // As a paced run records it: nobody says who sent what, or when it was on which link.
  [[nodiscard]] Timeline paced() const {
    Timeline timeline = *simulation.timeline;
    for (Step& step : timeline.steps) {
      step.message_from = step.slot_freed_by = step.queued_behind = Step::none;
      step.first_crossing = Step::none;
      step.links = 0;
    }
    timeline.crossings.clear();
    return timeline;
  }
  // As a run on real memory does: a message is there when it is written.
  [[nodiscard]] Timeline native() const {
    Timeline timeline = paced();
    for (Step& step : timeline.steps)
      if (sends(step.instruction.op)) step.departed = step.left = step.arrived = step.ended;
    return timeline;
  }
  [[nodiscard]] Json trace_of(const Simulation& measured) const {
    std::ostringstream out;
    (void)write_trace(out, {topology, &schedule, measured, "test", "on host"});
    EXPECT_EQ(TraceRules::broken_by(out.str()), std::vector<std::string>{});
    return Json::parse(out.str());
  }
};

long count(const Json& trace, const std::string& category, const std::string& phase = "X") {
  long found = 0;
  for (const Json& event : trace["traceEvents"])
    found += event["ph"] == phase && event.value("cat", "") == category ? 1 : 0;
  return found;
}

TEST(MeasuredTrace, GetsBackWhatARecordedRunLeavesOut) {
  const Recorded recorded;
  const Simulation measured = as_simulation(recorded.schedule, recorded.paced());
  EXPECT_EQ(measured.time, recorded.simulation.time);
  EXPECT_EQ(measured.finished, recorded.simulation.finished);
  ASSERT_EQ(measured.timeline->steps.size(), recorded.simulation.timeline->steps.size());
  for (std::size_t i = 0; i < measured.timeline->steps.size(); ++i) {
    const Step& simulated = recorded.simulation.timeline->steps[i];
    EXPECT_EQ(measured.timeline->steps[i].message_from, simulated.message_from);
    EXPECT_EQ(measured.timeline->steps[i].left, simulated.left);
  }
}

TEST(MeasuredTrace, APacedRunHasItsLinksAndNoCriticalPath) {
  const Recorded recorded;
  const Json trace = recorded.trace_of(as_simulation(recorded.schedule, recorded.paced()));
  EXPECT_EQ(count(trace, "message"), 4 * 2 * 3 * 2);
  EXPECT_EQ(count(trace, "flow", "s"), 4 * 2 * 3 * 2);
  EXPECT_EQ(count(trace, "critical"), 0);
  EXPECT_EQ(trace["otherData"]["measured"], "on host");
}

// Real lanes go on a moment after what they waited for has come.
TEST(MeasuredTrace, AWaitForAMessageIsCalledSoAlthoughTheLaneTookAMoment) {
  const Recorded recorded;
  Timeline timeline = recorded.paced();
  for (Step& step : timeline.steps)
    if (sends(step.instruction.op)) step.arrived = step.arrived - microseconds(1);
  long waits = 0;
  const Json trace = recorded.trace_of(as_simulation(recorded.schedule, timeline));
  for (const Json& event : trace["traceEvents"]) {
    if (!event.contains("args") || !event["args"].contains("waited for")) continue;
    EXPECT_EQ(event["args"]["waited for"], "a message") << event;
    ++waits;
  }
  EXPECT_GT(waits, 20);
}

TEST(MeasuredTrace, ANativeRunHasInstructionsOnly) {
  const Recorded recorded;
  const Json trace = recorded.trace_of(as_simulation(recorded.schedule, recorded.native()));
  EXPECT_EQ(count(trace, "message"), 0);
  EXPECT_EQ(count(trace, "instruction"),
            static_cast<long>(recorded.simulation.timeline->steps.size()));
  for (const Json& event : trace["traceEvents"])
    EXPECT_FALSE(event["name"] == "thread_name" && event["pid"] == 1) << event;
}

TEST(MeasuredTrace, ARunThatWasCutOffShowsTheStepsThatItHas) {
  const Recorded recorded;
  Timeline timeline = recorded.paced();
  timeline.steps.resize(timeline.steps.size() / 2);
  const Json half = recorded.trace_of(as_simulation(recorded.schedule, timeline));
  EXPECT_EQ(count(half, "instruction"), static_cast<long>(timeline.steps.size()));
  EXPECT_GT(count(half, "message"), 0);
  const Json none = recorded.trace_of(as_simulation(recorded.schedule, {}));
  EXPECT_EQ(count(none, "instruction"), 0);
  EXPECT_EQ(count(none, "message"), 0);
  EXPECT_EQ(none["otherData"]["measured"], "on host");
}

}  // namespace
}  // namespace collsim
