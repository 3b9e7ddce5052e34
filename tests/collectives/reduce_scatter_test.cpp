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

Schedule reduce_scatter(const AlgorithmChoice& choice, int ranks, std::int64_t count) {
  return make_schedule(make_collective(Operation::reduce_scatter, ranks, count), choice);
}

Schedule reduce_scatter(const char* name, int ranks, std::int64_t count) {
  AlgorithmChoice choice;
  choice.name = name;
  return reduce_scatter(choice, ranks, count);
}

TEST(ReduceScatter, SendsAsMuchAsTheTextbookSays) {
  for (int position = 0; position < 8; ++position) {
    EXPECT_EQ(sent_by(reduce_scatter("ring", 8, 960), position), (Sent{7, 840}));
    EXPECT_EQ(sent_by(reduce_scatter("direct", 8, 960), position), (Sent{7, 840}));
    EXPECT_EQ(sent_by(reduce_scatter("recursive-halving", 8, 960), position), (Sent{3, 840}));
    EXPECT_EQ(sent_by(reduce_scatter("pat", 8, 960), position), (Sent{3, 840}));
  }
  for (int position = 0; position < 11; ++position)
    EXPECT_EQ(sent_by(reduce_scatter("pat", 11, 1100), position), (Sent{4, 1000}));
}

TEST(ReduceScatter, ChannelsDoNotCutMessagesIntoBlocks) {
  for (const char* name : {"recursive-halving", "pat", "hierarchical"}) {
    AlgorithmChoice choice;
    choice.name = name;
    const std::int64_t messages = sent_by(reduce_scatter(choice, 8, 960), 5).messages;
    choice.channels = 3;
    EXPECT_EQ(sent_by(reduce_scatter(choice, 8, 960), 5), (Sent{3 * messages, 840})) << name;
  }
}

// Every contribution is added exactly once: (K-1)/K of the vector per rank.
TEST(ReduceScatter, AddsNoMoreThanNeeded) {
  for (const Algorithm* row : algorithms(Operation::reduce_scatter)) {
    const Schedule schedule = reduce_scatter(std::string(row->name).c_str(), 8, 960);
    Program program = schedule.program(3, Lane(0));
    std::int64_t added = 0;
    while (const Instruction* instruction = program.next())
      if (reduces(instruction->op)) added += instruction->count;
    EXPECT_EQ(added, 840) << row->name;
  }
}

TEST(ReduceScatter, PatKeepsWithinItsAggregation) {
  for (const int ranks : {2, 5, 8, 13, 16, 32}) {
    for (const int aggregation : {1, 2, 3, 4, 16, 100}) {
      AlgorithmChoice choice;
      choice.name = "pat";
      choice.aggregation = aggregation;
      const Schedule schedule = reduce_scatter(choice, ranks, 10 * ranks);
      EXPECT_EQ(sent_by(schedule, 1), (Sent{pat_messages(ranks, aggregation), 10 * (ranks - 1)}));
      EXPECT_LE(longest_message(schedule, 1), 10 * aggregation);
      for (const std::int64_t count : {0, 5, 83}) {
        for (const int channels : {1, 2}) {
          choice.channels = channels;
          for (const bool in_place : {false, true})
            expect_right(make_collective(Operation::reduce_scatter, ranks, count, in_place),
                         choice);
        }
      }
    }
  }
}

TEST(ReduceScatter, HierarchicalSendsOneMessagePerStep) {
  AlgorithmChoice choice;
  choice.name = "hierarchical";
  choice.dims = {3, 4};
  const Schedule schedule = reduce_scatter(choice, 12, 960);
  // 3 messages of three blocks in the node, 2 of one block along the rail
  EXPECT_EQ(sent_by(schedule, 5), (Sent{3 + 2, 3 * 240 + 2 * 80}));
  EXPECT_EQ(peers_of(schedule, 5), (std::set<int>{4, 6, 1, 9}));
}

TEST(ReduceScatter, HierarchicalTakesAnyNumberOfLevels) {
  for (const std::vector<int>& dims :
       {std::vector<int>{12}, {1, 12}, {12, 1}, {2, 6}, {6, 2}, {2, 3, 2}, {1, 3, 1, 4}}) {
    for (const std::int64_t count : {0, 7, 100}) {
      for (const bool in_place : {false, true}) {
        AlgorithmChoice choice;
        choice.name = "hierarchical";
        choice.channels = 2;
        choice.dims = dims;
        expect_right(make_collective(Operation::reduce_scatter, 12, count, in_place), choice);
      }
    }
  }
}

TEST(ReduceScatter, RecursiveHalvingSaysWhichCountsWork) {
  try {
    (void)reduce_scatter("recursive-halving", 12, 960);
    FAIL() << "12 is not a power of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_ranks);
    expect_contains(error.what(), "power of two: 1, 2, 4, 8");
  }
}

}  // namespace
}  // namespace collsim
