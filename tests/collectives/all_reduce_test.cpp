// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>

#include "tests/collectives/algorithm_cases.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using testing::expect_right;
using testing::peers_of;
using testing::Sent;
using testing::sent_by;

Schedule all_reduce(const char* name, int ranks, std::int64_t count) {
  AlgorithmChoice choice;
  choice.name = name;
  return make_schedule(collective_of(Operation::all_reduce, ranks, count), choice);
}

TEST(AllReduce, IsFoundByTheNamesInTheLiterature) {
  EXPECT_EQ(find_algorithm(Operation::all_reduce, "rabenseifner").name, "halving-doubling");
  EXPECT_EQ(find_algorithm(Operation::all_reduce, "rhd").name, "halving-doubling");
  EXPECT_EQ(find_algorithm(Operation::all_reduce, "tree").name, "double-tree");
}

// Messages and elements as in the textbook, for every position.
TEST(AllReduce, SendsAsMuchAsTheTextbookSays) {
  const std::int64_t n = 960;
  for (int position = 0; position < 8; ++position) {
    EXPECT_EQ(sent_by(all_reduce("ring", 8, n), position), (Sent{14, 14 * n / 8}));
    EXPECT_EQ(sent_by(all_reduce("bidirectional-ring", 8, n), position), (Sent{28, 28 * n / 16}));
    EXPECT_EQ(sent_by(all_reduce("naive", 8, n), position), (Sent{7, 7 * n}));
    EXPECT_EQ(sent_by(all_reduce("one-shot", 8, n), position), (Sent{7, 7 * n}));
    EXPECT_EQ(sent_by(all_reduce("two-shot", 8, n), position), (Sent{14, 14 * n / 8}));
    EXPECT_EQ(sent_by(all_reduce("recursive-doubling", 8, n), position), (Sent{3, 3 * n}));
    EXPECT_EQ(sent_by(all_reduce("halving-doubling", 8, n), position), (Sent{6, 14 * n / 8}));
    EXPECT_EQ(sent_by(all_reduce("swing", 8, n), position), (Sent{6, 14 * n / 8}));
    EXPECT_EQ(sent_by(all_reduce("master", 8, n), position),
              position == 0 ? (Sent{7, 7 * n}) : (Sent{1, n}));
    const bool end = position == 0 || position == 7;
    EXPECT_EQ(sent_by(all_reduce("chain", 8, n), position), end ? (Sent{1, n}) : (Sent{2, 2 * n}));
  }
}

TEST(AllReduce, ChunksAndChannelsMultiplyMessagesNotBytes) {
  AlgorithmChoice choice;
  choice.name = "ring";
  choice.chunks = 3;
  choice.channels = 2;
  const Schedule schedule = make_schedule(collective_of(Operation::all_reduce, 4, 960), choice);
  EXPECT_EQ(sent_by(schedule, 2), (Sent{6 * 3 * 2, 6 * 240}));
}

TEST(AllReduce, EmptyPiecesAreStillMessages) {
  EXPECT_EQ(sent_by(all_reduce("ring", 8, 1), 3).messages, 14);
  EXPECT_EQ(sent_by(all_reduce("halving-doubling", 8, 0), 3), (Sent{6, 0}));
}

// Ranks beyond a power of two fold: 2i + 1 sends its vector to 2i and gets the sum back.
TEST(AllReduce, FoldsWhatExceedsAPowerOfTwo) {
  const std::int64_t n = 960;
  for (const char* name : {"recursive-doubling", "halving-doubling"}) {
    const Schedule schedule = all_reduce(name, 6, n);
    const std::int64_t butterfly = name[0] == 'r' ? 2 * n : 2 * 3 * n / 4;
    const std::int64_t messages = name[0] == 'r' ? 2 : 4;
    for (int position = 0; position < 6; ++position) {
      const bool folded = position == 1 || position == 3;
      const bool acts_for_another = position == 0 || position == 2;
      const Sent expected = folded             ? Sent{1, n}
                            : acts_for_another ? Sent{messages + 1, butterfly + n}
                                               : Sent{messages, butterfly};
      EXPECT_EQ(sent_by(schedule, position), expected) << name << ", position " << position;
    }
    EXPECT_EQ(peers_of(schedule, 3), (std::set<int>{2})) << name;
  }
}

TEST(AllReduce, DoubleTreeMovesEveryHalfUpAndDownEveryEdge) {
  const std::int64_t n = 960;
  for (const int ranks : {2, 3, 8, 13}) {
    const Schedule schedule = all_reduce("double-tree", ranks, n);
    std::int64_t elements = 0;
    for (int position = 0; position < ranks; ++position) {
      const Sent sent = sent_by(schedule, position);
      elements += sent.elements;
      if (ranks % 2 == 1) continue;  // else everybody is a leaf in one of the trees
      EXPECT_LE(sent.elements, 2 * n) << ranks << " ranks, position " << position;
    }
    EXPECT_EQ(elements, 2 * (ranks - 1) * n);
  }
}

TEST(AllReduce, HierarchicalStaysOnRailsAndInNodes) {
  AlgorithmChoice choice;
  choice.name = "hierarchical";
  choice.dims = {3, 4};
  const Schedule schedule = make_schedule(collective_of(Operation::all_reduce, 12, 960), choice);
  // 3 messages of 1/4 in the node each way, 4 of 1/12 along the rail
  EXPECT_EQ(sent_by(schedule, 5), (Sent{2 * 3 + 2 * 2, 2 * 3 * 240 + 2 * 2 * 80}));
  EXPECT_EQ(peers_of(schedule, 5), (std::set<int>{4, 6, 1, 9}));  // node 4..7, rail 1, 5, 9
}

TEST(AllReduce, TorusTakesAnyNumberOfDimensions) {
  for (const char* name : {"torus", "hierarchical"}) {
    for (const std::vector<int>& dims :
         {std::vector<int>{12}, {1, 12}, {12, 1}, {2, 6}, {6, 2}, {2, 3, 2}, {1, 3, 1, 4}}) {
      for (const std::int64_t count : testing::listed_cases<std::int64_t>({100}, {0, 7})) {
        for (const int channels : testing::listed_cases<int>({2}, {7})) {
          AlgorithmChoice choice;
          choice.name = name;
          choice.chunks = 2;
          choice.channels = channels;
          choice.dims = dims;
          for (const bool in_place : {false, true})
            expect_right(in_place_if(in_place, collective_of(Operation::all_reduce, 12, count)),
                         choice);
        }
      }
    }
  }
  AlgorithmChoice choice;
  choice.name = "torus";
  choice.dims = {2, 3, 4};
  const Schedule schedule = make_schedule(collective_of(Operation::all_reduce, 24, 960), choice);
  EXPECT_EQ(sent_by(schedule, 0), (Sent{2 * (3 + 2 + 1), 2 * (3 * 240 + 2 * 80 + 1 * 40)}));
}

// To whom a rank of a 3 x 4 x 5 torus sends first: along each dimension, fastest first, upwards and
// then downwards.
TEST(AllReduce, ChannelsOfATorusBeginInOtherDirections) {
  AlgorithmChoice choice;
  choice.name = "torus";
  choice.channels = 7;
  choice.dims = {3, 4, 5};
  const Schedule schedule = make_schedule(collective_of(Operation::all_reduce, 60, 60 * 7), choice);
  std::vector<int> first;
  for (std::size_t lane = 0; lane < 7; ++lane) {
    LaneProgram program = schedule.program(0, Lane(lane));
    first.push_back(static_cast<int>(program.next()->to.rank.index()));
  }
  EXPECT_EQ(first, (std::vector{1, 5, 20, 4, 15, 40, 1}));
}

// The busiest link of a ring carries (|rho_s| + 1) / 2 messages in step s.
TEST(AllReduce, SwingLoadsLinksAsPublished) {
  for (const int ranks : {4, 8, 16, 64}) {
    const Schedule schedule = all_reduce("swing", ranks, ranks);
    const int steps = std::countr_zero(static_cast<unsigned>(ranks));
    std::vector<std::vector<int>> load(static_cast<std::size_t>(steps),
                                       std::vector<int>(static_cast<std::size_t>(2 * ranks)));
    for (int position = 0; position < ranks; ++position) {
      LaneProgram program = schedule.program(position, Lane(0));
      int step = 0;
      while (const Instruction* instruction = program.next()) {
        if (!sends(instruction->op) || step == steps) continue;
        EXPECT_EQ(instruction->count, ranks >> (step + 1));
        const int peer = static_cast<int>(instruction->to.rank.index());
        const int up = (peer - position + ranks) % ranks;
        const bool upwards = up <= ranks / 2;
        for (int hop = 0; hop < (upwards ? up : ranks - up); ++hop) {
          const int link =
              upwards ? (position + hop) % ranks : ranks + (position - hop + ranks) % ranks;
          ++load[static_cast<std::size_t>(step)][static_cast<std::size_t>(link)];
        }
        ++step;
      }
    }
    for (int step = 0, rho = 1; step + 1 < steps; ++step, rho = 1 - 2 * rho) {
      const auto& links = load[static_cast<std::size_t>(step)];
      EXPECT_EQ(*std::max_element(links.begin(), links.end()), (std::abs(rho) + 1) / 2)
          << ranks << " ranks, step " << step;
    }
  }
}

TEST(AllReduce, SwingSaysWhichCountsWork) {
  try {
    (void)all_reduce("swing", 6, 960);
    FAIL() << "6 is not a power of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_ranks);
    expect_contains(error.what(), "power of two: 1, 2, 4, 8");
  }
}

std::optional<int> slots_needed(const char* name, int chunks) {
  AlgorithmChoice choice;
  choice.name = name;
  choice.chunks = chunks;
  return least_slots(make_schedule(collective_of(Operation::all_reduce, 8, 960), choice));
}

TEST(AllReduce, NeedsSlotsForTheChunksOfAStep) {
  for (const int chunks : {1, 4}) {
    // Everybody passes messages on around a circle: one slot more.
    EXPECT_EQ(slots_needed("ring", chunks), chunks + 1);
    EXPECT_EQ(slots_needed("bidirectional-ring", chunks), chunks + 1);
    for (const char* name :
         {"naive", "one-shot", "two-shot", "recursive-doubling", "halving-doubling", "swing"})
      EXPECT_EQ(slots_needed(name, chunks), chunks) << name;
    // Trees: nobody waits for anybody who waits for it.
    for (const char* name : {"master", "chain", "binomial", "double-tree"})
      EXPECT_EQ(slots_needed(name, chunks), 1) << name;
  }
}

TEST(AllReduce, ClaimsSymmetryWhereItHasIt) {
  EXPECT_EQ(all_reduce("ring", 6, 960).symmetry(), Symmetry::rotation);
  EXPECT_EQ(all_reduce("ring", 7, 960).symmetry(), Symmetry::none);
  EXPECT_EQ(all_reduce("halving-doubling", 8, 960).symmetry(), Symmetry::exchange);
  EXPECT_EQ(all_reduce("halving-doubling", 6, 960).symmetry(), Symmetry::none);
  EXPECT_EQ(all_reduce("chain", 8, 960).symmetry(), Symmetry::none);
}

TEST(AllReduce, MasterIsTheRoot) {
  Collective collective = collective_of(Operation::all_reduce, 5, 10);
  collective.root = 3;
  AlgorithmChoice choice;
  choice.name = "master";
  const Schedule schedule = make_schedule(collective, choice);
  EXPECT_EQ(sent_by(schedule, 3).messages, 4);
  EXPECT_EQ(peers_of(schedule, 0), (std::set<int>{3}));
  expect_right(collective, choice);
}

TEST(AllReduce, WorksInAnyGroupOfRanks) {
  Collective collective = collective_of(Operation::all_reduce, 5, 23);
  const std::vector<Rank> group{Rank(9), Rank(2), Rank(0), Rank(31), Rank(4), Rank(3)};
  for (const Algorithm* row : algorithms(Operation::all_reduce)) {
    collective.group = group;
    collective.group.resize(static_cast<std::size_t>(nearest_ranks(*row, 5)), Rank(100));
    AlgorithmChoice choice;
    choice.name = row->name;
    expect_right(collective, choice);
  }
}

}  // namespace
}  // namespace collsim
