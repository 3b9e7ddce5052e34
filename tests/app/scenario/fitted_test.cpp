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

}  // namespace
}  // namespace collsim
