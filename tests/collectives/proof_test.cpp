// SPDX-License-Identifier: Apache-2.0
//
// The checker proves every algorithm of the table with 1 to 17 ranks and 32, 64 and 100, 1 to 9
// chunks and as many slots as there may be from the least that works to 8.  The other knobs take
// turns: counts that do not divide, channels, roots, groups that are some of the ranks in odd
// order, in place or not, radix, aggregation, arrangements.  algorithms_test.cpp runs fewer cases
// on data.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using testing::is_sanitized;
using testing::listed_cases;

// Every third rank, downwards, so that a rank never is its position.
std::vector<Rank> some_ranks(int size) {
  std::vector<Rank> group;
  for (int i = size; i-- > 0;) group.emplace_back(static_cast<std::size_t>(3 * i + 1));
  return group;
}

// {a, ranks / a} for one of the a that divide.
std::vector<int> arrangement(int ranks, int turn) {
  std::vector<int> rows;
  for (int a = 1; a <= ranks; ++a)
    if (ranks % a == 0) rows.push_back(a);
  const int a = rows[static_cast<std::size_t>(turn) % rows.size()];
  return {a, ranks / a};
}

// The knobs that are not swept in full take turns.
Schedule schedule_of(const Algorithm& row, int ranks, int chunks, int turn) {
  Collective collective;
  collective.operation = row.operation;
  collective.type = ElementType::i32;
  const std::int64_t counts[] = {0, 1, 7 * ranks + 3, 1009, 3 * ranks - 1};
  collective.count = row.operation == Operation::barrier ? 0 : counts[turn % 5];
  collective.group =
      turn % 2 == 0 ? some_ranks(ranks) : first_ranks(static_cast<std::size_t>(ranks));
  collective.in_place = has_in_place_form(row.operation) && turn / 2 % 2 == 0;
  const int roots[] = {0, ranks - 1, ranks / 2};
  if (takes_root(row) || row.operation == Operation::barrier)
    collective.root = roots[(ranks + turn) % 3];
  AlgorithmChoice choice;
  choice.name = row.name;
  choice.chunks = chunks;
  choice.channels = 1 + turn % 4 / 3;
  if (row.knobs.radix) choice.radix = 2 + turn % 4;
  if (row.knobs.aggregation && turn % 4 > 0) choice.aggregation = turn % 4;
  if (row.knobs.dims) choice.dims = arrangement(ranks, turn / 2);
  return make_schedule(collective, choice);
}

std::string text_of(const Schedule& schedule) {
  const Collective& collective = schedule.collective();
  return std::string(to_string(collective.operation)) + " " + schedule.algorithm() + ", " +
         std::to_string(schedule.size()) + " ranks, count " + std::to_string(collective.count) +
         ", " + std::to_string(schedule.chunks()) + " chunks, " +
         std::to_string(schedule.channels()) + " channels, root " +
         std::to_string(collective.root) + (collective.in_place ? ", in place" : "");
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
  int turn = 0;
  const std::vector<int> few{1, 2, 3, 4, 5, 8};
  for (const int ranks : nearest_ranks(*GetParam(), is_sanitized ? few : from_to(1, 17))) {
    for (const int chunks : is_sanitized ? std::vector{1, 2, 3} : from_to(1, 9)) {
      expect_proved_with_slots(schedule_of(*GetParam(), ranks, chunks, turn++));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Proof, ManyRanks) {
  int turn = 0;
  for (const int ranks : nearest_ranks(*GetParam(), listed_cases<int>({32}, {64, 100}))) {
    for (const int chunks : listed_cases<int>({1, 3}, {2, 9})) {
      expect_proved(schedule_of(*GetParam(), ranks, chunks, turn++));
      if (HasFatalFailure()) return;
    }
    turn += 3;  // these chunks meet other values with the next number of ranks
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Proof, ::testing::ValuesIn(all_rows()), name_of);

}  // namespace
}  // namespace collsim
