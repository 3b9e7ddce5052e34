// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/model.hpp"

#include <gtest/gtest.h>

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
  const Calibration calibration{{{1 << 10, rates(30, 100), 1.0}, {1 << 14, rates(10, 200), 2.0}}};
  EXPECT_EQ(calibration.costs_at(1 << 10, 1).copy_bandwidth, gigabytes_per_second(30));
  EXPECT_EQ(calibration.costs_at(1 << 14, 1).copy_bandwidth, gigabytes_per_second(10));
  // Half way 1/rate is (1/30 + 1/10) / 2 = 1/15.
  EXPECT_EQ(calibration.costs_at(1 << 12, 1).copy_bandwidth, gigabytes_per_second(15));
  EXPECT_EQ(calibration.costs_at(1 << 12, 1).instruction_overhead, nanoseconds(150));
  // ... and 1.5 lanes work at full speed, so 3 work at half of it.
  EXPECT_EQ(calibration.costs_at(1 << 12, 1.5).copy_bandwidth, gigabytes_per_second(15));
  EXPECT_EQ(calibration.costs_at(1 << 12, 3).copy_bandwidth->bytes_per_second(), 7'500'000'000);
  EXPECT_EQ(calibration.costs_at(1 << 12, 3).instruction_overhead, nanoseconds(150));
}

TEST(Calibration, OutsideTheNearestRowHolds) {
  const Calibration calibration{{{1 << 10, rates(30, 100)}, {1 << 14, rates(10, 200)}}};
  EXPECT_EQ(calibration.costs_at(0, 1).copy_bandwidth, gigabytes_per_second(30));
  EXPECT_EQ(calibration.costs_at(1 << 30, 1).copy_bandwidth, gigabytes_per_second(10));
}

TEST(Calibration, WithoutAWordOfLanesTheyDoNotSlowEachOtherDown) {
  const Calibration calibration{{{1 << 10, rates(30, 100)}}};
  EXPECT_EQ(calibration.costs_at(1 << 10, 64).copy_bandwidth, gigabytes_per_second(30));
}

constexpr const char* reduced = R"("op": "all-reduce", "algorithm": "ring", "size": "512B")";

TEST(Calibration, AtLeastOneLaneIsAtFullSpeed) {
  for (const char* lanes : {"0", "0.5", "-1", "\"2\"", "1e999"}) {
    const Loaded loaded =
        load_collective(reduced, R"("model": {"calibration": {"rates": [{"working_set": "1KiB",
                 "lanes_at_full_speed": )" +
                                     std::string(lanes) + "}]}}");
    EXPECT_FALSE(loaded.scenario) << lanes;
  }
}

TEST(Calibration, ExcludesTheRatesThatItGives) {
  const Loaded loaded =
      load_collective(reduced, R"("model": {"copy_bandwidth": "1GB/s", "calibration": {"rates": [
        {"working_set": "1KiB"}]}})");
  EXPECT_FALSE(loaded.scenario);
}

}  // namespace
}  // namespace collsim
