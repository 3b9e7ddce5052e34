// SPDX-License-Identifier: Apache-2.0
//
// All-gather and reduce-scatter: the same hops of the same blocks, forwards and backwards.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/collectives/algorithm_cases.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using testing::expect_right;
using testing::longest_message;
using testing::pat_messages;
using testing::peers_of;
using testing::Sent;
using testing::sent_by;

class BlockExchange : public ::testing::TestWithParam<Operation> {
 protected:
  [[nodiscard]] static Schedule schedule(const AlgorithmChoice& choice, int ranks,
                                         std::int64_t count) {
    return make_schedule(collective_of(GetParam(), ranks, count), choice);
  }
  [[nodiscard]] static Schedule schedule(const std::string& name, int ranks, std::int64_t count) {
    return schedule(AlgorithmChoice{.name = name}, ranks, count);
  }
  [[nodiscard]] static bool gathers() { return GetParam() == Operation::all_gather; }
  // The one for powers of two.
  [[nodiscard]] static std::string recursive() {
    return gathers() ? "recursive-doubling" : "recursive-halving";
  }
  // Those whose messages are several blocks.
  [[nodiscard]] static std::vector<std::string> of_several_blocks() {
    std::vector<std::string> names{recursive(), "pat", "hierarchical"};
    if (gathers()) names.emplace_back("bruck");
    return names;
  }
};

TEST_P(BlockExchange, SendsAsMuchAsTheTextbookSays) {
  for (int position = 0; position < 8; ++position) {
    for (const char* name : {"ring", "direct"})
      EXPECT_EQ(sent_by(schedule(name, 8, 960), position), (Sent{7, 840})) << name;
    EXPECT_EQ(sent_by(schedule(recursive(), 8, 960), position), (Sent{3, 840}));
    EXPECT_EQ(sent_by(schedule("pat", 8, 960), position), (Sent{3, 840}));
    if (gathers()) {
      EXPECT_EQ(sent_by(schedule("bruck", 8, 960), position), (Sent{3, 840}));
    }
  }
  for (int position = 0; position < 11; ++position) {
    EXPECT_EQ(sent_by(schedule("pat", 11, 1100), position), (Sent{4, 1000}));
    if (gathers()) {
      EXPECT_EQ(sent_by(schedule("bruck", 11, 1100), position), (Sent{4, 1000}));
    }
  }
}

// Channels see strided shares of the blocks; the messages stay as few.
TEST_P(BlockExchange, ChannelsDoNotCutMessagesIntoBlocks) {
  for (const std::string& name : of_several_blocks()) {
    AlgorithmChoice choice{.name = name};
    const std::int64_t messages = sent_by(schedule(choice, 8, 960), 5).messages;
    choice.channels = 3;
    EXPECT_EQ(sent_by(schedule(choice, 8, 960), 5), (Sent{3 * messages, 840})) << name;
  }
}

TEST_P(BlockExchange, PatKeepsWithinItsAggregation) {
  for (const int ranks : testing::listed_cases<int>({2, 5, 16}, {8, 13, 32})) {
    for (const int aggregation : {1, 2, 3, 4, 16, 100}) {
      AlgorithmChoice choice{.name = "pat", .aggregation = aggregation};
      const Schedule pat = schedule(choice, ranks, 10 * ranks);
      EXPECT_EQ(sent_by(pat, 1), (Sent{pat_messages(ranks, aggregation), 10 * (ranks - 1)}));
      EXPECT_LE(longest_message(pat, 1), 10 * aggregation);
      for (const std::int64_t count : {0, 5, 83}) {
        for (const int channels : {1, 2}) {
          choice.channels = channels;
          for (const bool in_place : {false, true})
            expect_right(in_place_if(in_place, collective_of(GetParam(), ranks, count)), choice);
        }
      }
    }
  }
}

TEST_P(BlockExchange, HierarchicalSendsOneMessagePerStep) {
  const Schedule levels =
      schedule(AlgorithmChoice{.name = "hierarchical", .dims = {3, 4}}, 12, 960);
  // 2 messages of one block along the rail, 3 of three blocks in the node
  EXPECT_EQ(sent_by(levels, 5), (Sent{2 + 3, 2 * 80 + 3 * 240}));
  EXPECT_EQ(peers_of(levels, 5), (std::set<int>{4, 6, 1, 9}));
}

TEST_P(BlockExchange, HierarchicalTakesAnyNumberOfLevels) {
  for (const std::vector<int>& dims :
       {std::vector<int>{12}, {1, 12}, {12, 1}, {2, 6}, {6, 2}, {2, 3, 2}, {1, 3, 1, 4}}) {
    for (const std::int64_t count : {0, 7, 100}) {
      for (const bool in_place : {false, true})
        expect_right(in_place_if(in_place, collective_of(GetParam(), 12, count)),
                     {.name = "hierarchical", .channels = 2, .dims = dims});
    }
  }
}

TEST_P(BlockExchange, RecursiveSaysWhichCountsWork) {
  try {
    (void)schedule(recursive(), 12, 960);
    FAIL() << "12 is not a power of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_ranks);
    expect_contains(error.what(), "power of two: 1, 2, 4, 8");
  }
}

INSTANTIATE_TEST_SUITE_P(Both, BlockExchange,
                         ::testing::Values(Operation::all_gather, Operation::reduce_scatter),
                         [](const auto& one) {
                           return one.param == Operation::all_gather ? "AllGather"
                                                                     : "ReduceScatter";
                         });

// K'/A - 1 + log2 A messages, with K' the next power of two.
TEST(Pat, MessagesOfATestAreThoseOfTheFormula) {
  EXPECT_EQ(pat_messages(16, 1), 15);
  EXPECT_EQ(pat_messages(16, 4), 5);
  EXPECT_EQ(pat_messages(16, 8), 4);
}

// Far hops first, when there is one block to carry; near hops carry most.
TEST(AllGather, PatCarriesLeastFarthest) {
  const Schedule schedule =
      make_schedule(collective_of(Operation::all_gather, 16, 16), {.name = "pat"});
  LaneProgram program = schedule.program(0, Lane(0));
  std::vector<std::pair<std::size_t, std::int64_t>> hops;
  while (const Instruction* instruction = program.next())
    if (sends(instruction->op)) hops.emplace_back(instruction->to.rank.index(), instruction->count);
  EXPECT_EQ(hops,
            (std::vector<std::pair<std::size_t, std::int64_t>>{{8, 1}, {4, 2}, {2, 4}, {1, 8}}));
}

// Every contribution is added exactly once: (K-1)/K of the vector per rank, wherever that is.
TEST(ReduceScatter, AddsNoMoreThanNeeded) {
  for (const Algorithm* row : algorithms(Operation::reduce_scatter)) {
    const Schedule schedule = make_schedule(collective_of(Operation::reduce_scatter, 8, 960),
                                            {.name = std::string(row->name)});
    std::int64_t added = 0;
    for (int position = 0; position < 8; ++position)
      for (int lane = 0; lane < schedule.lanes(); ++lane) {
        LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
        while (const Instruction* instruction = program.next())
          if (reduces(instruction->op)) added += instruction->count;
      }
    EXPECT_EQ(added, 8 * 840) << row->name;
  }
}

}  // namespace
}  // namespace collsim
