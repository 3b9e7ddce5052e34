// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "app/explain/explanation.hpp"
#include "tests/app/study/testing.hpp"
#include "tests/contains.hpp"
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

// What waits for a half duplex cable relays nothing of what it waits for.
TEST(ExplanationPath, AQueueForAHalfDuplexCableIsNoRelay) {
  LinkParameters both_ways{gigabytes_per_second(10)};
  both_ways.half_duplex = true;
  for (const auto& network :
       {make_switch(4, both_ways),
        make_tree({.ends = 8, .ends_per_leaf = 4, .spines = 2, .links = {both_ways, both_ways}})}) {
    const Explanation e = explain(case_on(network, Operation::all_to_all, 40'000'000, "direct"));
    bool queued = false;
    for (const PathLine& line : e.breakdown.lines) {
      EXPECT_NE(line.shape, PathLine::Shape::relay) << to_text(e);
      queued = queued || line.waited_for_others;
    }
    EXPECT_TRUE(queued);
    EXPECT_EQ(e.formula.why_not, "none is known for half duplex links");
  }
}

TEST(ExplanationPath, ASprayedMessageKeepsItsLinkBusyUntilItsLastPart) {
  const Topology network = make_tree({.ends = 2,
                                      .ends_per_leaf = 1,
                                      .spines = 4,
                                      .links = {LinkParameters{gigabytes_per_second(10)},
                                                LinkParameters{gigabytes_per_second(10)}}});
  Topology::Parts parts = network.parts();
  parts.routing = Routing::spray;
  Case point = case_on(Topology(std::move(parts)), Operation::broadcast, 40'000'000, "chain");
  const Explanation e = explain(point);
  ASSERT_TRUE(e.breakdown.busiest && e.breakdown.busiest->drain);
  const BusiestLink& link = *e.breakdown.busiest;
  EXPECT_EQ(*link.fill + link.busy + *link.gaps + *link.drain, e.row.time);
  EXPECT_EQ(*link.drain, Time{});
  expect_contains(to_text(e), "4 parts of");
}

}  // namespace
}  // namespace collsim::testing
