// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/fitted.hpp"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TEST(ErrorClass, IsThatOfTheSizeAndOfWhatDecidesTheTime) {
  const ErrorClass small = error_class("hopper", "", 1024);
  const ErrorClass large = error_class("hopper", "", Bytes{1} << 30);
  EXPECT_EQ(small.machines, large.machines);
  EXPECT_EQ(small.above, 0);
  EXPECT_EQ(large.up_to, 0);
  EXPECT_LE(small.up_to, large.above);
  EXPECT_GT(small.tables, 0);
  EXPECT_GT(small.half, 0);
  EXPECT_GE(small.most, small.half);
  EXPECT_NE(error_class("hopper", "ib", 1024).machines, small.machines) << "the network's";
}

TEST(ErrorClass, SaysWhenNobodyHasMeasuredSuchMachines) {
  EXPECT_EQ(error_class("common", "", 1024).tables, 0);
  EXPECT_EQ(error_class("hopper", "tcp", 1024).tables, 0);
}

TEST(OutsideOfTables, NamesWhatThereIsNoTableOf) {
  EXPECT_EQ(outside_of_tables("hopper", "", 1, "all-gather"), "");
  EXPECT_EQ(outside_of_tables("hopper", "ib", 2, "all-reduce"), "");
  EXPECT_EQ(outside_of_tables("hopper", "ib", 4, "all-reduce"), "");
  EXPECT_EQ(outside_of_tables("hopper", "ib", 5, "all-reduce"),
            "no published table of all-reduce on more than 4 nodes of NVSwitch Hopper with "
            "InfiniBand");
  EXPECT_EQ(outside_of_tables("a100", "ib", 2, "all-reduce"),
            "no published table of several nodes of NVLink A100 with InfiniBand");
  EXPECT_EQ(outside_of_tables("hopper", "ib", 2, "broadcast"),
            "no published table of broadcast on several nodes of NVSwitch Hopper with InfiniBand");
  EXPECT_EQ(outside_of_tables("hopper", "", 1, "broadcast"),
            "no published table of broadcast on one node of NVSwitch Hopper");
}

}  // namespace
}  // namespace collsim
