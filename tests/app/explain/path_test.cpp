// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "app/explain/explanation.hpp"
#include "tests/app/study/testing.hpp"
#include "topo/shapes.hpp"

namespace collsim::testing {
namespace {

const LinkParameters slow_cable{gigabytes_per_second(10), microseconds(2), microseconds(3)};

// What follows a start on the path may be anybody's, and is told by itself.
TEST(ExplanationPath, AStartIsALineOfItsOwn) {
  Case point =
      case_on(make_switch(6, slow_cable), Operation::all_reduce, 48'000'000, "halving-doubling");
  point.costs.launch = microseconds(4);
  point.costs.copy_bandwidth = gigabytes_per_second(100);
  point.costs.reduce_bandwidth = gigabytes_per_second(50);
  point.costs.instruction_overhead = microseconds(1);
  const Explanation e = explain(point);
  ASSERT_FALSE(e.breakdown.lines.empty());
  const PathLine& first = e.breakdown.lines.front();
  EXPECT_EQ(first.shape, PathLine::Shape::start);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.to, microseconds(4));
  EXPECT_EQ(first.shares.wire, Time{});
  for (const PathLine& line : e.breakdown.lines) {
    if (line.shape == PathLine::Shape::start) {
      EXPECT_EQ(line.shares.total(), line.shares.start);
    } else {
      EXPECT_EQ(line.shares.start, Time{});
    }
  }
}

}  // namespace
}  // namespace collsim::testing
