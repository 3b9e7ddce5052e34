// SPDX-License-Identifier: Apache-2.0
//
// The checker proves every algorithm of the table over the whole range of knobs: 1 to 17 ranks and 32, 64 and 100, counts
// that do not divide, 1 to 9 chunks, as many slots as there may be from the least that works to 8, several roots, groups
// that are some of the ranks in odd order.  algorithms_test.cpp runs fewer of them on data.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "tests/collectives/rows.hpp"

namespace collsim {
namespace {

// Every third rank, downwards, so that a rank never is its position.
std::vector<Rank> some_ranks(int size) {
  std::vector<Rank> group;
  for (int i = size; i-- > 0;) group.emplace_back(static_cast<std::size_t>(3 * i + 1));
  return group;
}

// The knobs that are not swept in full take turns, so that every value meets every other.
Schedule schedule_of(const Algorithm& row, int ranks, int chunks) {
  Collective collective;
  collective.operation = row.operation;
  collective.type = ElementType::i32;
  const std::int64_t counts[] = {0, 1, 7 * ranks + 3, 1009, 3 * ranks - 1};
  collective.count = row.operation == Operation::barrier ? 0 : counts[(ranks + chunks) % 5];
  collective.group =
      chunks % 2 == 0 ? some_ranks(ranks) : first_ranks(static_cast<std::size_t>(ranks));
  const bool rooted = has_root(row.operation) || row.operation == Operation::barrier;
  const int roots[] = {0, ranks - 1, ranks / 2};
  if (rooted) collective.root = roots[chunks % 3];
  AlgorithmChoice choice;
  choice.name = row.name;
  choice.chunks = chunks;
  choice.channels = 1 + (ranks + chunks) % 4 / 3;
  return make_schedule(collective, choice);
}

std::string text_of(const Schedule& schedule) {
  const Collective& collective = schedule.collective();
  return std::string(to_string(collective.operation)) + " " + schedule.algorithm() + ", " +
         std::to_string(schedule.size()) + " ranks, count " + std::to_string(collective.count) +
         ", " + std::to_string(schedule.chunks()) + " chunks, " +
         std::to_string(schedule.channels()) + " channels, root " + std::to_string(collective.root);
}

void expect_proved(const Schedule& schedule) {
  const CheckReport report = check(schedule);
  ASSERT_TRUE(report.ok) << text_of(schedule) << ": " << report.fault->text;
}

// With unlimited slots, with every number from the least that works to 8, and not with one fewer.
void expect_proved_with_slots(const Schedule& schedule) {
  expect_proved(schedule);
  const std::optional<int> least = least_slots(schedule);
  ASSERT_TRUE(least) << text_of(schedule);
  for (int slots = *least; slots <= std::max(8, *least); ++slots) {
    expect_proved(schedule.with_slots(slots));
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (*least == 1) return;
  const CheckReport too_few = check(schedule.with_slots(*least - 1));
  ASSERT_FALSE(too_few.ok) << text_of(schedule);
  ASSERT_EQ(too_few.fault->kind, FaultKind::deadlock) << text_of(schedule);
}

class Proof : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(Proof, UpTo17RanksWithAnyChunksAndSlots) {
  for (const int ranks : nearest_ranks(*GetParam(), from_to(1, 17))) {
    for (int chunks = 1; chunks <= 9; ++chunks) {
      expect_proved_with_slots(schedule_of(*GetParam(), ranks, chunks));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Proof, ManyRanks) {
  for (const int ranks : nearest_ranks(*GetParam(), {32, 64, 100})) {
    for (const int chunks : {1, 2, 3, 9}) {
      expect_proved(schedule_of(*GetParam(), ranks, chunks));
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Proof, ::testing::ValuesIn(all_rows()), name_of);

}  // namespace
}  // namespace collsim
