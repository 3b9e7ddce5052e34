// SPDX-License-Identifier: Apache-2.0
//
// Every row of the table, proved by the checker and run by the executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "tests/collectives/algorithm_cases.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

struct Case {
  Collective collective;
  AlgorithmChoice choice;
};

Case make_case(const Algorithm& row, int ranks, std::int64_t count) {
  Case test;
  test.collective.operation = row.operation;
  test.collective.count = row.operation == Operation::barrier ? 0 : count;
  test.collective.type = ElementType::i32;
  // Ranks that are not positions: 2 K + 1, 2 K - 1, ...
  for (int i = 0; i < ranks; ++i)
    test.collective.group.emplace_back(static_cast<std::size_t>(2 * (ranks - i) + 1));
  test.choice.name = row.name;
  return test;
}

void expect_right(const Case& test) {
  testing::expect_right(test.collective, test.choice);
}

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {
 protected:
  [[nodiscard]] const Algorithm& row() const { return *GetParam(); }
};

class InPlaceAlgorithm : public EveryAlgorithm {};  // those that have the form
class RootedAlgorithm : public EveryAlgorithm {};   // those that have a root

// All rank counts with counts of elements around them: none, one, fewer than ranks, not divisible.
TEST_P(EveryAlgorithm, IsRightForAnyRanksAndCount) {
  const std::vector<int> few{1, 2, 3, 5, 8};
  for (const int ranks : nearest_ranks(row(), testing::is_sanitized ? few : from_to(1, 17))) {
    for (const std::int64_t count : {0, 1, 7, 2 * ranks, 5 * ranks + 3}) {
      expect_right(make_case(row(), ranks, count));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(InPlaceAlgorithm, IsRightInPlace) {
  const std::vector<int> few{2, 5};
  for (const int ranks : nearest_ranks(row(), testing::is_sanitized ? few : from_to(1, 9))) {
    for (const std::int64_t count : {0, 1, 5 * ranks + 3}) {
      for (const int channels : {1, 2}) {
        Case test = make_case(row(), ranks, count);
        test.collective.in_place = true;
        test.collective.root = ranks / 2;
        test.choice.channels = channels;
        expect_right(test);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(RootedAlgorithm, IsRightFromAnyRoot) {
  for (const int ranks : nearest_ranks(row(), {2, 3, 5, 8, 9, 13})) {
    for (int root = 0; root < ranks; ++root) {
      for (const int channels : {1, 3}) {
        Case test = make_case(row(), ranks, 3 * ranks + 2);
        test.collective.root = root;
        test.choice.channels = channels;
        expect_right(test);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EveryAlgorithm, IsRightInChunksOnChannels) {
  for (const int ranks :
       nearest_ranks(row(), testing::listed_cases<int>({1, 2, 3, 8}, {4, 6, 7, 12, 16}))) {
    for (const std::int64_t count :
         testing::listed_cases<std::int64_t>({6 * ranks + 5}, {1, 6 * ranks})) {
      for (const int chunks : {1, 4}) {
        for (const int channels : {2, 5}) {
          Case test = make_case(row(), ranks, count);
          test.choice.chunks = chunks;
          test.choice.channels = channels;
          expect_right(test);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// With one message per step no algorithm needs more than two slots: a ring, where every rank passes
// on what it gets, needs one for what waits and one for what comes.
TEST_P(EveryAlgorithm, TwoSlotsAreEnoughWithoutChunks) {
  for (const int ranks : nearest_ranks(row(), {2, 3, 8, 9})) {
    Case test = make_case(row(), ranks, 6 * ranks + 5);
    test.choice.channels = 2;
    test.choice.slots = 2;
    expect_right(test);
    if (HasFatalFailure()) return;
  }
}

TEST_P(EveryAlgorithm, IsRightForAnyArrangement) {
  const int ranks = nearest_ranks(row(), 12);
  std::vector<std::vector<int>> arrangements{{2, ranks / 4, 2}};
  for (int rows = 1; rows <= ranks; ++rows)
    if (ranks % rows == 0) arrangements.push_back({rows, ranks / rows});
  ASSERT_GE(arrangements.size(), 5U);
  for (const std::vector<int>& dims : arrangements) {
    for (const std::int64_t count : testing::listed_cases<std::int64_t>({61}, {5, ranks})) {
      Case test = make_case(row(), ranks, count);
      test.choice.dims = dims;
      test.choice.channels = 2;
      test.choice.chunks = 2;
      expect_right(test);
      if (HasFatalFailure()) return;
    }
  }
}

// What two runs of the same program yield is the same, and the schedule may be asked in any order.
TEST_P(EveryAlgorithm, YieldsTheSameAgain) {
  const Case test = make_case(row(), nearest_ranks(row(), 8), 50);
  const Schedule schedule = make_schedule(test.collective, test.choice);
  for (int position = schedule.size() - 1; position >= 0; --position)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram first = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      LaneProgram second = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      while (const Instruction* expected = first.next()) {
        const Instruction* found = second.next();
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->op, expected->op);
        ASSERT_EQ(found->from, expected->from);
        ASSERT_EQ(found->to, expected->to);
        ASSERT_EQ(found->source(), expected->source());
        ASSERT_EQ(found->destination(), expected->destination());
      }
      ASSERT_EQ(second.next(), nullptr);
    }
}

std::int64_t longest_message(const Case& test) {
  const Schedule schedule = make_schedule(test.collective, test.choice);
  std::int64_t longest = 0;
  for (int position = 0; position < schedule.size(); ++position)
    longest = std::max(longest, testing::longest_message(schedule, position));
  return longest;
}

TEST_P(EveryAlgorithm, SendsNothingLongerThanTheChunkSize) {
  for (const int ranks : nearest_ranks(row(), {2, 3, 5, 8, 9, 12, 16})) {
    for (const int channels : {1, 3}) {
      Case test = make_case(row(), ranks, 37 * ranks + 5);
      test.choice.channels = channels;
      test.choice.chunk_size = 16 * size_of(test.collective.type);
      EXPECT_LE(longest_message(test), 16) << ranks << " ranks, " << channels << " channels";
    }
  }
}

TEST_P(EveryAlgorithm, SaysWhetherMessagesExceedABlock) {
  const int ranks = nearest_ranks(row(), 8);
  EXPECT_EQ(longest_message(make_case(row(), ranks, 37 * ranks)) > 37,
            row().messages_exceed_a_block);
}

std::vector<const Algorithm*> rows_where(bool (*wanted)(const Algorithm&)) {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& row : algorithms())
    if (wanted(row)) rows.push_back(&row);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(all_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Table, InPlaceAlgorithm,
                         ::testing::ValuesIn(rows_where([](const Algorithm& row) {
                           return has_in_place_form(row.operation);
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Table, RootedAlgorithm, ::testing::ValuesIn(rows_where(takes_root)),
                         name_of);

TEST(KNomial, IsRightForEveryRadix) {
  const Algorithm& row = find_algorithm(Operation::broadcast, "k-nomial");
  for (const int radix : {2, 3, 5, 8, 17, 1024})
    for (int ranks = 1; ranks <= 30; ++ranks) {
      Case test = make_case(row, ranks, 9);
      test.choice.radix = radix;
      test.collective.root = ranks / 3;
      ASSERT_NO_FATAL_FAILURE(expect_right(test));
    }
}

TEST(SendRecv, IsRightForEveryPattern) {
  const Algorithm& row = find_algorithm(Operation::send_recv, "");
  for (const int ranks : {1, 2, 3, 6, 7}) {
    for (int distance = -ranks; distance <= ranks; ++distance) {
      Case test = make_case(row, ranks, 11);
      test.collective.pattern.distance = distance;
      test.choice.channels = 2;
      test.choice.slots = 1;  // sending and receiving do not wait for each other
      test.choice.chunks = 3;
      ASSERT_NO_FATAL_FAILURE(expect_right(test));
    }
    Case test = make_case(row, ranks, 11);
    test.collective.pattern.kind = Pattern::Kind::exchange;
    ASSERT_NO_FATAL_FAILURE(expect_right(test));
  }
  Case test = make_case(row, 5, 11);
  test.collective.pattern.kind = Pattern::Kind::pairs;
  test.collective.pattern.pairs = {{0, 3}, {3, 3}};
  EXPECT_THROW((void)make_schedule(test.collective, test.choice), Error);
  test.collective.pattern.pairs = {{0, 4}, {4, 2}, {3, 3}};
  ASSERT_NO_FATAL_FAILURE(expect_right(test));
}

}  // namespace
}  // namespace collsim
