// SPDX-License-Identifier: Apache-2.0
#include "sim/radix_heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace collsim {
namespace {

using Heap = RadixHeap<std::uint32_t>;

TEST(RadixHeap, StartsEmpty) {
  Heap heap;
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeap, LeavesInOrderOfTime) {
  Heap heap;
  heap.push(30, 1);
  heap.push(10, 2);
  heap.push(20, 3);
  for (const std::uint32_t expected : {2U, 3U, 1U}) {
    ASSERT_FALSE(heap.empty());
    EXPECT_EQ(heap.top_time(), 10 * (expected == 2 ? 1 : expected == 3 ? 2 : 3));
    EXPECT_EQ(heap.pop(), expected);
  }
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeap, EqualTimesLeaveInOrderOfValue) {
  Heap heap;
  for (const std::uint32_t value : {5U, 1U, 4U, 2U, 3U}) heap.push(7, value);
  for (std::uint32_t expected = 1; expected <= 5; ++expected) EXPECT_EQ(heap.pop(), expected);
}

TEST(RadixHeap, ValuePushedAtTheCurrentTimeTakesItsPlaceAmongThoseLeft) {
  Heap heap;
  heap.push(7, 2);
  heap.push(7, 9);
  heap.push(7, 4);
  EXPECT_EQ(heap.pop(), 2U);
  heap.push(7, 5);  // between 4 and 9, which are still there
  heap.push(7, 1);  // smaller than all
  for (const std::uint32_t expected : {1U, 4U, 5U, 9U}) EXPECT_EQ(heap.pop(), expected);
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeap, LookingAtTheNextTimeDoesNotForbidAnEarlierPush) {
  Heap heap;
  heap.push(100, 1);
  EXPECT_EQ(heap.top_time(), 100);
  heap.push(40, 2);  // nothing was popped yet: 40 is not the past
  EXPECT_EQ(heap.top_time(), 40);
  EXPECT_EQ(heap.pop(), 2U);
  EXPECT_EQ(heap.pop(), 1U);
}

TEST(RadixHeap, HoldsTheWholeRangeOfTimes) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  Heap heap;
  heap.push(last, 1);
  heap.push(0, 2);
  heap.push(last - 1, 3);
  EXPECT_EQ(heap.pop(), 2U);
  EXPECT_EQ(heap.pop(), 3U);
  EXPECT_EQ(heap.top_time(), last);
  EXPECT_EQ(heap.pop(), 1U);
}

TEST(RadixHeap, ClearStartsAgainAtTimeZero) {
  Heap heap;
  heap.push(50, 1);
  heap.push(50, 2);
  heap.push(60, 3);
  EXPECT_EQ(heap.pop(), 1U);
  heap.clear();
  EXPECT_TRUE(heap.empty());
  heap.push(3, 8);  // before the 50 popped earlier: fine after clear
  EXPECT_EQ(heap.top_time(), 3);
  EXPECT_EQ(heap.pop(), 8U);
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeapDeathTest, RefusesThePastAndAnEmptyPop) {
  Heap heap;
  EXPECT_DEATH((void)heap.pop(), "empty");
  EXPECT_DEATH((void)heap.top_time(), "empty");
  heap.push(50, 1);
  (void)heap.pop();
  EXPECT_DEATH(heap.push(49, 2), "49 ps lies before the last popped time 50 ps");
}

// Against the standard library's heap of (time, value) pairs, on random simulations: pops mixed
// with pushes at, just after and far after the current time.
TEST(RadixHeap, AgreesWithAStandardHeapOnRandomSimulations) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const int spread = static_cast<int>(random() % 40);
    Heap heap;
    using Pair = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> expected;
    std::int64_t now = 0;
    for (int step = 0; step < 1000; ++step) {
      const bool grow = step < 500 ? random() % 3 != 0 : random() % 3 == 0;
      if (grow || expected.empty()) {
        const auto delay = static_cast<std::int64_t>(random() % (std::uint64_t{1} << spread));
        const auto value = static_cast<std::uint32_t>(random() % 50);
        heap.push(now + delay, value);
        expected.emplace(now + delay, value);
      } else {
        ASSERT_EQ(heap.top_time(), expected.top().first) << "seed " << seed << " step " << step;
        ASSERT_EQ(heap.pop(), expected.top().second) << "seed " << seed << " step " << step;
        now = expected.top().first;
        expected.pop();
      }
      ASSERT_EQ(heap.empty(), expected.empty());
    }
  }
}

}  // namespace
}  // namespace collsim
