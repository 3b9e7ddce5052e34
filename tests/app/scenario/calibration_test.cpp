// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/calibration.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/app/scenario/loading.hpp"

namespace collsim {
namespace {

using testing::load_collective;
using testing::Loaded;

CostModel rates(std::int64_t copy, std::int64_t overhead_ns) {
  CostModel costs;
  costs.copy_bandwidth = gigabytes_per_second(copy);
  costs.instruction_overhead = nanoseconds(overhead_ns);
  return costs;
}

TEST(Calibration, BetweenSizesTheTimePerByteIsInterpolatedOverTheLogarithm) {
  const Calibration calibration{{{1 << 10, rates(30, 100)}, {1 << 14, rates(10, 200)}}};
  EXPECT_EQ(calibration.costs_at(1 << 10).copy_bandwidth, gigabytes_per_second(30));
  EXPECT_EQ(calibration.costs_at(1 << 14).copy_bandwidth, gigabytes_per_second(10));
  // Half way 1/rate is (1/30 + 1/10) / 2 = 1/15.
  EXPECT_EQ(calibration.costs_at(1 << 12).copy_bandwidth, gigabytes_per_second(15));
  EXPECT_EQ(calibration.costs_at(1 << 12).instruction_overhead, nanoseconds(150));
}

TEST(Calibration, OutsideTheNearestRowHolds) {
  const Calibration calibration{{{1 << 10, rates(30, 100)}, {1 << 14, rates(10, 200)}}};
  EXPECT_EQ(calibration.costs_at(0).copy_bandwidth, gigabytes_per_second(30));
  EXPECT_EQ(calibration.costs_at(1 << 30).copy_bandwidth, gigabytes_per_second(10));
}

TEST(Calibration, BuffersAreInputAndOutputOfTheRankThatHasMost) {
  Collective collective;
  collective.group = first_ranks(4);
  collective.count = 1000;
  collective.operation = Operation::all_reduce;
  EXPECT_EQ(buffer_bytes(collective), 8000);
  collective.in_place = true;
  EXPECT_EQ(buffer_bytes(collective), 4000);
  collective.in_place = false;
  collective.operation = Operation::all_gather;
  EXPECT_EQ(buffer_bytes(collective), 5000);
  for (collective.root = 0; collective.root < 4; ++collective.root) {
    collective.operation = Operation::broadcast;
    EXPECT_EQ(buffer_bytes(collective), 8000) << collective.root;
    collective.operation = Operation::gather;
    EXPECT_EQ(buffer_bytes(collective), 5000) << collective.root;
  }
}

constexpr const char* reduced = R"("op": "all-reduce", "size": "512B")";

TEST(Calibration, GivesTheCostsOfACaseByItsBuffers) {
  const Loaded loaded =
      load_collective(reduced, R"("model": {"launch": "1us", "calibration": {"rates": [
        {"buffers": "256B", "copy_bandwidth": "1GB/s"},
        {"buffers": "1024B", "copy_bandwidth": "2GB/s", "reduce_bandwidth": "3GB/s",
         "second_write_bandwidth": "4GB/s", "instruction_overhead": "5ns"}]}})");
  ASSERT_TRUE(loaded.scenario) << loaded.mistake();
  const CostModel costs = case_of(loaded)->costs;
  EXPECT_EQ(costs.copy_bandwidth, gigabytes_per_second(2));
  EXPECT_EQ(costs.reduce_bandwidth, gigabytes_per_second(3));
  EXPECT_EQ(costs.second_write_bandwidth, gigabytes_per_second(4));
  EXPECT_EQ(costs.instruction_overhead, nanoseconds(5));
  EXPECT_EQ(costs.launch, microseconds(1));
}

TEST(Calibration, IsReadFromAFileBesideTheScenario) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "collsim-calibration-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "machine.json")
      << R"({"scenario": 1, "cluster": {}, "model": {"calibration": {"rates": [
            {"buffers": "1KiB", "copy_bandwidth": "7GB/s"}]}}})";
  std::ofstream(folder / "empty.json") << "{}";
  const auto load = [&](const std::string& file) {
    return testing::load_text(
        testing::scenario_text(reduced, R"("model": {"calibration": ")" + file + R"("})"), {},
        (folder / "scenario.json").string());
  };
  const Loaded right = load("machine.json");
  ASSERT_TRUE(right.scenario) << right.mistake();
  EXPECT_EQ(case_of(right)->costs.copy_bandwidth, gigabytes_per_second(7));
  EXPECT_NE(load("empty.json").mistake().find("holds no calibration at /model/calibration"),
            std::string::npos);
  EXPECT_NE(load("none.json").mistake().find("there is no such file"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Calibration, ExcludesTheRatesThatItGives) {
  const Loaded loaded =
      load_collective(reduced, R"("model": {"copy_bandwidth": "1GB/s", "calibration": {"rates": [
        {"buffers": "1KiB"}]}})");
  EXPECT_FALSE(loaded.scenario);
}

}  // namespace
}  // namespace collsim
