// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule.hpp"

#include <gtest/gtest.h>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"

namespace collsim {
namespace {

Schedule schedule(Operation operation, const char* algorithm, int ranks, bool in_place = false,
                  int chunks = 1) {
  // Elements of 4 bytes.
  return make_schedule(in_place_if(in_place, collective_of(operation, ranks, 1200)),
                       {.name = algorithm, .chunks = chunks});
}

// The root reads 1200 and stores nothing or the same, the others store; each hop has its slots.
TEST(WorkingSet, IsBuffersAndSlots) {
  const Schedule broadcast = schedule(Operation::broadcast, "chain", 3, true);
  EXPECT_EQ(working_set(broadcast), 4 * (3 * 1200 + 2 * 1200));
}

TEST(WorkingSet, FewerSlotsAreUsedAgain) {
  const Schedule broadcast = schedule(Operation::broadcast, "chain", 3, true, 10);
  EXPECT_EQ(working_set(broadcast), 4 * (3 * 1200 + 2 * 1200));
  EXPECT_EQ(working_set(broadcast.with_slots(2)), 4 * (3 * 1200 + 2 * 2 * 120));
  EXPECT_EQ(working_set(broadcast.with_slots(100)), 4 * (3 * 1200 + 2 * 1200));
}

// Two ranks: input and output of 1200 each, two messages of a half in each direction.
TEST(WorkingSet, WhatIsTouchedTwiceCountsOnce) {
  EXPECT_EQ(working_set(schedule(Operation::all_reduce, "ring", 2)), 4 * 2 * (2 * 1200 + 1200));
  EXPECT_EQ(working_set(schedule(Operation::all_reduce, "ring", 2, true)), 4 * 2 * (1200 + 1200));
}

TEST(WorkingSet, SignalsTouchNothing) {
  EXPECT_EQ(working_set(schedule(Operation::barrier, "dissemination", 4)), 0);
}

}  // namespace
}  // namespace collsim
