// SPDX-License-Identifier: Apache-2.0
// A backend that answers with simulated times is a machine whose numbers are known.
#include "app/calibrate/calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/calibrate/probe_cases.hpp"
#include "app/json/value.hpp"
#include "app/scenario/model.hpp"
#include "app/study/run_case.hpp"
#include "collectives/schedule.hpp"
#include "sim/simulate.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

constexpr double latency_s = 4e-7;
constexpr int few = 3, many = 24;  // halves of lanes at full speed

CostModel true_costs() {
  CostModel costs;
  costs.instruction_overhead = nanoseconds(150);
  costs.copy_bandwidth = gigabytes_per_second(12);
  costs.reduce_bandwidth = gigabytes_per_second(5);
  costs.second_write_bandwidth = gigabytes_per_second(30);
  return costs;
}

template <int halves>
RunOutcome run_simulated(const RunCase& run_case, const RunOptions& options) {
  const Topology topology = shared_memory(run_case.schedule().size(), latency_s);
  Measurement measured;
  measured.device = "a simulator";
  const Calibration truth{{{1, true_costs(), halves / 2.0}}};
  const CostModel costs =
      calibrated_costs(topology, run_case.schedule(), working_set(run_case.schedule()), truth);
  const double time = simulate(topology, run_case.schedule(), costs).time.seconds();
  measured.times_s.assign(static_cast<std::size_t>(options.iterations), time);
  return measured;
}
RunOutcome run_nothing(const RunCase&, const RunOptions&) {
  return NoMeasurement{NoMeasurement::Why::unavailable, "no machine"};
}
std::optional<std::string> always() {
  return std::nullopt;
}

template <int halves>
CalibratedMachine calibrated(int ranks, int lanes = 1) {
  static constexpr Backend simulated{"simulated", "", always, run_simulated<halves>};
  CalibrateOptions options;
  options.backend = &simulated;
  options.ranks = ranks;
  options.lanes = lanes;
  options.smallest = 1 << 18;
  options.largest = 1 << 20;
  const auto outcome = calibrate(options);
  EXPECT_TRUE(std::holds_alternative<CalibratedMachine>(outcome));
  return std::get<CalibratedMachine>(outcome);
}

TEST(Calibrate, FindsTheNumbersOfAKnownMachine) {
  for (const int ranks : testing::listed_cases<int>({2}, {3, 4})) {
    const CalibratedMachine machine = calibrated<few>(ranks);
    EXPECT_NEAR(machine.latency_s.value, latency_s, 0.01 * latency_s);
    EXPECT_NEAR(machine.overhead_s.value, 150e-9, 2e-9);
    ASSERT_EQ(machine.rows.size(), 3U);
    for (const CalibratedMachine::Row& row : machine.rows) {
      EXPECT_NEAR(row.copy_bytes_per_s.value, 12e9, 0.2e9);
      EXPECT_NEAR(row.reduce_bytes_per_s.value, 5e9, 0.1e9);
      EXPECT_NEAR(row.second_write_bytes_per_s.value, 30e9, 1.5e9);
      EXPECT_NEAR(row.lanes_at_full_speed.value, few / 2.0, 0.05);
    }
    EXPECT_LT(machine.worst_error, 0.01);
  }
}

// A lane of each rank is no trouble to the others there.
TEST(Calibrate, ManyLanesShowHowManyAreAtFullSpeed) {
  for (const CalibratedMachine::Row& row : calibrated<many>(2, 16).rows)
    EXPECT_NEAR(row.lanes_at_full_speed.value, many / 2.0, 0.3);
}

// A latency of nearly nothing, as GPUs have where an instruction costs a microsecond, is easily
// multiplied.
TEST(Calibrate, OnlyPairsThatAreFartherThanMostHaveALineOfTheirOwn) {
  CalibratedMachine machine = calibrated<few>(2);
  machine.ranks = 3;
  machine.latency_s.value = 1e-12;
  machine.overhead_s.value = 1e-6;
  machine.pair_latency_s = {{0, 4e-7, 4e-7}, {4e-7, 0, 5e-7}, {4e-7, 2e-6, 0}};
  const JsonValue file = machine_value(machine, "0.1.0", "2026-01-02");
  const JsonValue* overrides = file.find("cluster")->find("links_override");
  ASSERT_NE(overrides, nullptr);
  ASSERT_EQ(overrides->items().size(), 1U);
  EXPECT_EQ(overrides->items()[0].find("from")->string(), "gpu2");
  EXPECT_EQ(overrides->items()[0].find("to")->string(), "gpu1");
  EXPECT_EQ(overrides->items()[0].find("latency")->string(), "1.6us");
}

TEST(Calibrate, TheFileIsAMachineThatScenariosRead) {
  const JsonValue file = machine_value(calibrated<few>(2), "0.1.0", "2026-01-02");
  Diagnostics diagnostics;
  JsonValue resolved;
  const JsonValue* model = file.find("model");
  ASSERT_NE(model, nullptr);
  const auto read =
      read_calibration(*model->find("calibration"), "/model/calibration", diagnostics, resolved);
  ASSERT_TRUE(read) << to_text(diagnostics, Sources{});
  EXPECT_EQ(read->rows.size(), 3U);
  EXPECT_EQ(resolved.find("device")->string(), "a simulator");
}

TEST(Calibrate, SaysWhyNothingWasMeasured) {
  static constexpr Backend nothing{"nothing", "", always, run_nothing};
  CalibrateOptions options;
  options.backend = &nothing;
  const auto outcome = calibrate(options);
  ASSERT_TRUE(std::holds_alternative<NoMeasurement>(outcome));
  EXPECT_EQ(std::get<NoMeasurement>(outcome).reason, "no machine");
}

}  // namespace
}  // namespace collsim
