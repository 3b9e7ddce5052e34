// SPDX-License-Identifier: Apache-2.0
//
// A schedule that claims a symmetry must run the same program at every position, but for the names
// of the peers.
#include <gtest/gtest.h>

#include <string>

#include "collectives/algorithms.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

Schedule schedule_of(const Algorithm& row, int ranks, std::int64_t count, int chunks,
                     int channels) {
  return make_schedule(collective_of(row.operation, ranks, count),
                       {.name = std::string(row.name), .chunks = chunks, .channels = channels});
}

// Whose place somebody has after turns: of digits that may turn by 1, position 0's.
int first_alike(const std::vector<TurnDigit>& digits, int position) {
  std::uint32_t result = 0, weight = 1;
  auto me = static_cast<std::uint32_t>(position);
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    result += weight * (me % digit->size % digit->step);
    weight *= digit->size;
    me /= digit->size;
  }
  return static_cast<int>(result);
}

// Who a peer is for somebody at `position`: what the peer would be for the first of those that are
// alike, digit by digit.
std::size_t relative(const std::vector<TurnDigit>& digits, const Endpoint& peer, int position) {
  std::size_t place = peer.rank.index();
  auto me = static_cast<std::size_t>(position);
  std::size_t result = 0;
  std::size_t weight = 1;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const std::size_t size = digit->size;
    const std::size_t turn = me % size / digit->step * digit->step;
    result += weight * ((place % size + size - turn) % size);
    weight *= size;
    place /= size;
    me /= size;
  }
  return result;
}

// Empty when both lanes do the same under the renaming, else what differs.
std::string difference(const Schedule& schedule, const std::vector<TurnDigit>& digits, int position,
                       int lane) {
  const Lane which(static_cast<std::size_t>(lane));
  const int first = first_alike(digits, position);
  LaneProgram reference = schedule.program(first, which);
  LaneProgram program = schedule.program(position, which);
  for (int step = 0;; ++step) {
    const Instruction* expected = reference.next();
    const Instruction* found = program.next();
    const std::string place = "step " + std::to_string(step);
    if (expected == nullptr || found == nullptr)
      return expected == found ? "" : place + ": one has ended";
    if (found->op != expected->op) return place + ": operation";
    if (found->count != expected->count) return place + ": size";
    const auto differ = [&](const Endpoint& mine, const Endpoint& its) {
      return relative(digits, mine, position) != relative(digits, its, first) ||
             mine.lane != its.lane;
    };
    if (sends(found->op) && differ(found->to, expected->to)) return place + ": target";
    if (receives(found->op) && differ(found->from, expected->from)) return place + ": source";
  }
}

std::string difference(const Schedule& schedule, const std::vector<TurnDigit>& digits) {
  for (int position = 1; position < schedule.size(); ++position)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      const std::string found = difference(schedule, digits, position, lane);
      if (!found.empty())
        return "position " + std::to_string(position) + " lane " + std::to_string(lane) + ", " +
               found;
    }
  return {};
}

TEST(Symmetry, IsClaimedOnlyWhereAllProgramsAreTheSame) {
  int claimed = 0;
  for (const Algorithm& row : algorithms())
    for (const int ranks :
         nearest_ranks(row, testing::listed_cases<int>({1, 2, 3, 4, 8}, {5, 7, 12, 16, 32}))) {
      for (std::int64_t count = 0; count <= 8 * ranks; ++count)
        for (const int channels : {1, 2, 3})
          for (const int chunks : {1, 3}) {
            const Schedule schedule = schedule_of(row, ranks, count, chunks, channels);
            if (schedule.symmetry() == Symmetry::none) continue;
            ++claimed;
            ASSERT_EQ(schedule.symmetry(), row.symmetry);
            ASSERT_EQ(difference(schedule, schedule.turns()), "")
                << to_string(row.operation) << " " << row.name << " K=" << ranks
                << " count=" << count << " channels=" << channels << " chunks=" << chunks;
          }
    }
  EXPECT_GT(claimed, 1000);
}

// Where it holds for all practical sizes it is also claimed: it is what makes large cases fast.
TEST(Symmetry, IsClaimedForEvenSizes) {
  int rows = 0;
  for (const Algorithm& row : algorithms()) {
    if (row.symmetry == Symmetry::none) continue;
    ++rows;
    for (const int ranks : {2, 8, 16, 64})
      EXPECT_EQ(schedule_of(row, ranks, std::int64_t{64} * 1024, 4, 2).symmetry(), row.symmetry)
          << row.name;
  }
  EXPECT_GE(rows, 4);
}

TEST(Symmetry, ExchangesInRoundsAreWhatTheyClaim) {
  int rows = 0;
  for (const Algorithm& row : algorithms()) {
    rows += row.exchanges_in_rounds ? 1 : 0;
    for (const int ranks : nearest_ranks(row, {3, 5, 8}))
      for (const int chunks : {1, 3})
        for (const int channels : {1, 2}) {
          const Schedule even = schedule_of(row, ranks, std::int64_t{12} * ranks, chunks, channels);
          EXPECT_EQ(even.exchanges_in_rounds(), row.exchanges_in_rounds) << row.name;
          EXPECT_TRUE(!even.exchanges_in_rounds() || programs_exchange_in_rounds(even)) << row.name;
          EXPECT_FALSE(even.with_slots(2).exchanges_in_rounds());
          EXPECT_FALSE(schedule_of(row, ranks, std::int64_t{12} * ranks + 1, chunks, channels)
                           .exchanges_in_rounds());
        }
  }
  EXPECT_EQ(rows, 5);
  EXPECT_FALSE(programs_exchange_in_rounds(
      schedule_of(find_algorithm(Operation::all_to_all, "pairwise"), 5, 20, 1, 1)));
  EXPECT_FALSE(programs_exchange_in_rounds(
      schedule_of(find_algorithm(Operation::all_to_all, "direct"), 5, 21, 1, 1)));
}

// The comparison itself tells programs apart.
TEST(Symmetry, IsNotSeenWhereThereIsNone) {
  EXPECT_NE(
      difference(schedule_of(find_algorithm(Operation::broadcast, "chain"), 4, 8, 1, 1), {{4}}),
      "");
  EXPECT_NE(
      difference(schedule_of(find_algorithm(Operation::all_to_all, "pairwise"), 4, 9, 1, 1), {{4}}),
      "");
  EXPECT_NE(difference(schedule_of(find_algorithm(Operation::all_to_all, "pairwise"), 4, 8, 1, 1),
                       {{2}, {2}}),
            "");
  EXPECT_NE(difference(schedule_of(find_algorithm(Operation::all_reduce, "swing"), 8, 64, 1, 1),
                       {{.size = 8, .step = 1}}),
            "");
}

// A sub-group or another order of the ranks is not the topology's symmetry.
TEST(Symmetry, IsNotClaimedForOtherRanks) {
  Collective collective;
  collective.operation = Operation::all_to_all;
  collective.count = 8;
  collective.group = {Rank(0), Rank(1), Rank(3), Rank(2)};
  EXPECT_EQ(make_schedule(collective).symmetry(), Symmetry::none);
  collective.group = {Rank(1), Rank(2), Rank(3), Rank(4)};
  EXPECT_EQ(make_schedule(collective).symmetry(), Symmetry::none);
  collective.group = first_ranks(4);
  EXPECT_EQ(make_schedule(collective).symmetry(), Symmetry::rotation);
  collective.count = 9;
  EXPECT_EQ(make_schedule(collective).symmetry(), Symmetry::none);
}

}  // namespace
}  // namespace collsim
