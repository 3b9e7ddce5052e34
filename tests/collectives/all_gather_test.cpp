// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "tests/collectives/algorithm_cases.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using testing::expect_right;
using testing::longest_message;
using testing::make_collective;
using testing::pat_messages;
using testing::peers_of;
using testing::Sent;
using testing::sent_by;

Schedule all_gather(const AlgorithmChoice& choice, int ranks, std::int64_t count) {
  return make_schedule(make_collective(Operation::all_gather, ranks, count), choice);
}

Schedule all_gather(const char* name, int ranks, std::int64_t count) {
  AlgorithmChoice choice;
  choice.name = name;
  return all_gather(choice, ranks, count);
}

TEST(AllGather, SendsAsMuchAsTheTextbookSays) {
  for (int position = 0; position < 8; ++position) {
    EXPECT_EQ(sent_by(all_gather("ring", 8, 960), position), (Sent{7, 840}));
    EXPECT_EQ(sent_by(all_gather("direct", 8, 960), position), (Sent{7, 840}));
    EXPECT_EQ(sent_by(all_gather("recursive-doubling", 8, 960), position), (Sent{3, 840}));
    EXPECT_EQ(sent_by(all_gather("bruck", 8, 960), position), (Sent{3, 840}));
    EXPECT_EQ(sent_by(all_gather("pat", 8, 960), position), (Sent{3, 840}));
  }
  for (int position = 0; position < 11; ++position) {
    EXPECT_EQ(sent_by(all_gather("bruck", 11, 1100), position), (Sent{4, 1000}));
    EXPECT_EQ(sent_by(all_gather("pat", 11, 1100), position), (Sent{4, 1000}));
  }
}

// Channels see strided shares of the blocks; the messages stay as few.
TEST(AllGather, ChannelsDoNotCutMessagesIntoBlocks) {
  for (const char* name : {"recursive-doubling", "bruck", "pat", "hierarchical"}) {
    AlgorithmChoice choice;
    choice.name = name;
    const std::int64_t messages = sent_by(all_gather(choice, 8, 960), 5).messages;
    choice.channels = 3;
    EXPECT_EQ(sent_by(all_gather(choice, 8, 960), 5), (Sent{3 * messages, 840})) << name;
  }
}

TEST(AllGather, PatKeepsWithinItsAggregation) {
  for (const int ranks : {2, 5, 8, 13, 16, 32}) {
    for (const int aggregation : {1, 2, 3, 4, 16, 100}) {
      AlgorithmChoice choice;
      choice.name = "pat";
      choice.aggregation = aggregation;
      const Schedule schedule = all_gather(choice, ranks, 10 * ranks);
      EXPECT_EQ(sent_by(schedule, 1), (Sent{pat_messages(ranks, aggregation), 10 * (ranks - 1)}));
      EXPECT_LE(longest_message(schedule, 1), 10 * aggregation);
      for (const std::int64_t count : {0, 5, 83}) {
        for (const int channels : {1, 2}) {
          choice.channels = channels;
          expect_right(make_collective(Operation::all_gather, ranks, count), choice);
        }
      }
    }
  }
  // K'/A - 1 + log2 A
  EXPECT_EQ(pat_messages(16, 1), 15);
  EXPECT_EQ(pat_messages(16, 4), 5);
  EXPECT_EQ(pat_messages(16, 8), 4);
}

// Far hops first, when there is one block to carry; near hops carry most.
TEST(AllGather, PatCarriesLeastFarthest) {
  const Schedule schedule = all_gather("pat", 16, 16);
  Program program = schedule.program(0, Lane(0));
  std::vector<std::pair<std::size_t, std::int64_t>> hops;
  while (const Instruction* instruction = program.next())
    if (sends(instruction->op)) hops.emplace_back(instruction->to.rank.index(), instruction->count);
  EXPECT_EQ(hops,
            (std::vector<std::pair<std::size_t, std::int64_t>>{{8, 1}, {4, 2}, {2, 4}, {1, 8}}));
}

TEST(AllGather, HierarchicalSendsOneMessagePerStep) {
  AlgorithmChoice choice;
  choice.name = "hierarchical";
  choice.dims = {3, 4};
  const Schedule schedule = all_gather(choice, 12, 960);
  // 2 messages of one block along the rail, 3 of three blocks in the node
  EXPECT_EQ(sent_by(schedule, 5), (Sent{2 + 3, 2 * 80 + 3 * 240}));
  EXPECT_EQ(peers_of(schedule, 5), (std::set<int>{4, 6, 1, 9}));
}

TEST(AllGather, HierarchicalTakesAnyNumberOfLevels) {
  for (const std::vector<int>& dims :
       {std::vector<int>{12}, {1, 12}, {12, 1}, {2, 6}, {6, 2}, {2, 3, 2}, {1, 3, 1, 4}}) {
    for (const std::int64_t count : {0, 7, 100}) {
      for (const bool in_place : {false, true}) {
        AlgorithmChoice choice;
        choice.name = "hierarchical";
        choice.channels = 2;
        choice.dims = dims;
        expect_right(make_collective(Operation::all_gather, 12, count, in_place), choice);
      }
    }
  }
}

TEST(AllGather, RecursiveDoublingSaysWhichCountsWork) {
  try {
    (void)all_gather("recursive-doubling", 12, 960);
    FAIL() << "12 is not a power of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_ranks);
    expect_contains(error.what(), "power of two: 1, 2, 4, 8");
  }
}

}  // namespace
}  // namespace collsim
