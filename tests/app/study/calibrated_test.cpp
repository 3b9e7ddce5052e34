// SPDX-License-Identifier: Apache-2.0
#include "app/study/run_case.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/app/scenario/loading.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using testing::load_collective;
using testing::Loaded;

constexpr const char* reduced = R"("op": "all-reduce", "algorithm": "ring", "size": "512B")";

// 4 ranks, in and out 512 B each, and slots for 6 messages of 128 B: 7168 B.
TEST(Calibrated, GivesTheCostsOfACaseByWhatItTouches) {
  const Loaded loaded =
      load_collective(reduced, R"("model": {"launch": "1us", "calibration": {"rates": [
        {"working_set": "3584B", "copy_bandwidth": "1GB/s"},
        {"working_set": "7168B", "copy_bandwidth": "2GB/s", "reduce_bandwidth": "3GB/s",
         "second_write_bandwidth": "4GB/s", "instruction_overhead": "5ns"}]}})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const CostModel costs = with_calibrated_costs(*case_of(loaded)).costs;
  EXPECT_EQ(costs.copy_bandwidth, gigabytes_per_second(2));
  EXPECT_EQ(costs.reduce_bandwidth, gigabytes_per_second(3));
  EXPECT_EQ(costs.second_write_bandwidth, gigabytes_per_second(4));
  EXPECT_EQ(costs.instruction_overhead, nanoseconds(5));
  EXPECT_EQ(costs.launch, microseconds(1));
}

TEST(Calibrated, IsReadFromAFileBesideTheScenario) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "collsim-calibration-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "machine.json")
      << R"({"scenario": 1, "cluster": {}, "model": {"calibration": {"rates": [
            {"working_set": "1KiB", "copy_bandwidth": "7GB/s"}]}}})";
  std::ofstream(folder / "empty.json") << "{}";
  const auto load = [&](const std::string& file) {
    return testing::load_text(
        testing::scenario_text(reduced, R"("model": {"calibration": ")" + file + R"("})"), {},
        (folder / "scenario.json").string());
  };
  const Loaded right = load("machine.json");
  ASSERT_TRUE(right.scenario) << right.mistake();
  EXPECT_EQ(with_calibrated_costs(*case_of(right)).costs.copy_bandwidth, gigabytes_per_second(7));
  expect_contains(load("empty.json").mistake(), "holds no calibration at /model/calibration");
  expect_contains(load("none.json").mistake(), "no such file");
  std::filesystem::remove_all(folder);
}

// A chain hands its message on: one lane works at a time, whatever the number of ranks.  In a ring
// all do.
TEST(Calibrated, LanesSlowEachOtherDownOnlyWhileTheyWork) {
  const auto copy_rate = [](const std::string& collective) {
    const Loaded loaded = load_collective(collective, R"("model": {"calibration": {"rates": [
          {"working_set": "1KiB", "copy_bandwidth": "8GB/s", "lanes_at_full_speed": 2}]}})");
    EXPECT_TRUE(loaded.scenario) << loaded.mistake();
    return static_cast<double>(
        with_calibrated_costs(*case_of(loaded)).costs.copy_bandwidth->bytes_per_second());
  };
  EXPECT_EQ(copy_rate(R"("op": "broadcast", "algorithm": "chain", "size": "64MiB")"), 8e9);
  EXPECT_NEAR(copy_rate(R"("op": "all-gather", "algorithm": "ring", "size": "64MiB")"), 4e9, 2e9);
  EXPECT_LT(copy_rate(R"("op": "all-gather", "algorithm": "ring", "size": "64MiB")"), 7e9);
}

}  // namespace
}  // namespace collsim
