// SPDX-License-Identifier: Apache-2.0
#include "app/show/buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/study/testing.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using Lists = std::vector<std::vector<double>>;

// 64 MiB.
Case case_of(Operation operation, std::size_t ranks, const std::string& algorithm = "") {
  return testing::connected_case(operation, ranks, algorithm, 1 << 24);
}

Case with_data(Case point, std::int64_t count, Lists data) {
  point.collective.count = count;
  point.data = std::move(data);
  return point;
}

Lists pieces_of(const std::optional<ShownBuffer>& shown) {
  Lists lists;
  if (!shown) return lists;
  for (const Numbers& piece : shown->pieces) {
    lists.emplace_back();
    for (const auto& number : piece) lists.back().push_back(number.value_or(-1));
  }
  return lists;
}

Lists after(const Buffers& buffers, std::size_t rank) {
  return pieces_of(buffers.ranks[rank].after);
}

TEST(ShowBuffers, BroadcastOfTheTutorial) {
  const Buffers shown =
      show_buffers(with_data(case_of(Operation::broadcast, 3), 5, {{1, 2, 3, 4, 5}, {}, {}}));
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(after(shown, rank), (Lists{{1, 2, 3, 4, 5}}));
  EXPECT_FALSE(shown.ranks[1].before);
  EXPECT_TRUE(shown.right);
}

TEST(ShowBuffers, ReduceOfTheTutorialLeavesTheOthersUnchanged) {
  const Lists data{{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}};
  const Buffers shown = show_buffers(with_data(case_of(Operation::reduce, 3), 5, data));
  EXPECT_EQ(after(shown, 0), (Lists{{6, 6, 6, 6, 6}}));
  EXPECT_EQ(after(shown, 2), (Lists{{3, 3, 3, 3, 3}}));
  EXPECT_FALSE(shown.ranks[0].unchanged);
  EXPECT_TRUE(shown.ranks[1].unchanged);
}

TEST(ShowBuffers, GatherAndScatterOfTheTutorial) {
  const Lists pieces{{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}};
  const Buffers gathered = show_buffers(with_data(case_of(Operation::gather, 3), 15, pieces));
  EXPECT_EQ(after(gathered, 0), pieces);
  EXPECT_TRUE(gathered.ranks[0].after->in_pieces);
  EXPECT_TRUE(gathered.ranks[1].unchanged);

  const Lists root{{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}, {}, {}};
  const Buffers scattered = show_buffers(with_data(case_of(Operation::scatter, 3), 15, root));
  EXPECT_EQ(pieces_of(scattered.ranks[0].before), pieces);
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(after(scattered, rank), (Lists{pieces[rank]}));
}

TEST(ShowBuffers, ReduceScatterOfTheTutorial) {
  Lists data(3);
  for (int rank = 0; rank < 3; ++rank)
    for (int part = 0; part < 3; ++part)
      for (const int i : {1, 2})
        data[static_cast<std::size_t>(rank)].push_back(std::pow((rank + 1) * i, part + 1));
  for (const char* algorithm : {"ring", "direct", "pat"}) {
    const Buffers shown =
        show_buffers(with_data(case_of(Operation::reduce_scatter, 3, algorithm), 6, data));
    EXPECT_EQ(after(shown, 0), (Lists{{6, 12}})) << algorithm;
    EXPECT_EQ(after(shown, 1), (Lists{{14, 56}})) << algorithm;
    EXPECT_EQ(after(shown, 2), (Lists{{36, 288}})) << algorithm;
    EXPECT_EQ(pieces_of(shown.ranks[1].before), (Lists{{2, 4}, {4, 16}, {8, 64}}));
  }
}

TEST(ShowBuffers, RanksOutsideTheGroupTakeNoPart) {
  Case point = case_of(Operation::all_reduce, 4);
  point.collective.group = {Rank(1), Rank(3)};
  const Buffers shown = show_buffers(with_data(point, 4, {{1, 1, 1, 1}, {1, 1, 1, 1}}));
  EXPECT_EQ(after(shown, 1), (Lists{{2, 2, 2, 2}}));
  EXPECT_EQ(after(shown, 3), (Lists{{2, 2, 2, 2}}));
  for (const std::size_t outside : {0U, 2U}) {
    EXPECT_FALSE(shown.ranks[outside].takes_part);
    EXPECT_FALSE(shown.ranks[outside].before);
    EXPECT_FALSE(shown.ranks[outside].after);
  }
}

TEST(ShowBuffers, MaximumOfLogits) {
  Case point = case_of(Operation::all_reduce, 4);
  point.collective.reduction = Reduction::max;
  const Buffers shown = show_buffers(with_data(point, 1, {{0.1}, {-2.5}, {3.75}, {1e-3}}));
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(after(shown, rank), (Lists{{3.75}}));
}

TEST(ShowBuffers, WithoutDataOneSeesWhoContributed) {
  const Buffers shown = show_buffers(case_of(Operation::all_gather, 3));
  EXPECT_EQ(after(shown, 2), (Lists{{10, 11}, {20, 21}, {30, 31}}));
  ASSERT_EQ(shown.notes.size(), 1U);
  expect_text(shown.notes.front(), "6 elements instead of 16,777,216");
}

TEST(ShowBuffers, ElementsAreEnoughForEveryChunk) {
  Case point = case_of(Operation::all_reduce, 4, "ring");
  point.choice.chunks = 3;
  EXPECT_EQ(show_buffers(point).collective.count, 12);
  point.choice.chunks = 1;
  point.choice.chunk_size = Bytes{8} << 20U;  // of 16 MiB per rank: 2 chunks
  EXPECT_EQ(show_buffers(point).collective.count, 8);
  EXPECT_EQ(show_buffers(point, {.steps = false, .elements = 5}).collective.count, 5);
}

TEST(ShowBuffers, ThousandsOfChunksBecomeAFewAndItIsSaid) {
  Case point = case_of(Operation::broadcast, 3, "chain");
  point.choice.chunks = 4096;
  const Buffers shown = show_buffers(point);
  EXPECT_EQ(shown.notes, (std::vector<std::string>{"64 elements instead of 16,777,216",
                                                   "64 chunks instead of 4,096"}));
}

TEST(ShowBuffers, SmallCasesAreShownAsTheyAre) {
  Case point = case_of(Operation::all_reduce, 3);
  point.collective.count = 2;
  const Buffers shown = show_buffers(point);
  EXPECT_EQ(shown.collective.count, 2);
  EXPECT_TRUE(shown.notes.empty());
  EXPECT_EQ(after(shown, 0), (Lists{{60, 63}}));
}

TEST(ShowBuffers, EveryAlgorithmOfEveryOperationIsShownRight) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const int ranks : nearest_ranks(algorithm, {1, 2, 4, 5, 8})) {
      Case point = case_of(algorithm.operation, static_cast<std::size_t>(ranks),
                           std::string(algorithm.name));
      point.choice.chunks = 2;
      for (const ElementType type : {ElementType::f32, ElementType::i8, ElementType::bf16}) {
        point.collective.type = type;
        const Buffers shown = show_buffers(point, {.steps = true, .elements = {}});
        EXPECT_TRUE(shown.right) << text_of(algorithm) << " " << ranks << " " << shown.problem;
      }
    }
  }
}

// The picture after the last step is the result, and nothing was there before it came.
TEST(ShowBuffers, StepsLeadToTheResult) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const bool in_place : {false, true}) {
      Case point = case_of(algorithm.operation, 4, std::string(algorithm.name));
      const bool has_in_place = algorithm.operation != Operation::all_to_all &&
                                algorithm.operation != Operation::send_recv;
      point.collective.in_place = in_place && has_in_place;
      point.choice.channels = 2;
      const Buffers shown = show_buffers(point, {.steps = true, .elements = {}});
      std::vector<std::optional<Lists>> last(4);
      std::int64_t step = 0;
      for (const BufferStep& now : shown.steps) {
        EXPECT_GE(now.step, step);
        step = now.step;
        if (now.after) last[now.rank.index()] = pieces_of(now.after);
      }
      for (std::size_t rank = 0; rank < 4; ++rank)
        if (last[rank]) {
          EXPECT_EQ(*last[rank], after(shown, rank))
              << to_string(algorithm.operation) << " " << algorithm.name << " rank " << rank
              << (in_place ? " in place" : "");
        }
    }
  }
}

struct Textbook {
  Operation operation;
  const char* algorithm;
  std::size_t ranks;
  int chunks;
  std::int64_t steps;
};

TEST(ShowBuffers, StepsAreThoseOfTheTextbook) {
  for (const Textbook& known : {Textbook{Operation::broadcast, "chain", 5, 1, 4},
                                Textbook{Operation::broadcast, "chain", 5, 4, 7},  // S + K - 2
                                Textbook{Operation::broadcast, "binomial", 8, 1, 3},
                                Textbook{Operation::broadcast, "flat", 5, 1, 4},
                                Textbook{Operation::reduce, "flat", 5, 1, 4},
                                Textbook{Operation::all_reduce, "ring", 4, 1, 6},  // 2 (K - 1)
                                Textbook{Operation::all_reduce, "recursive-doubling", 8, 1, 3},
                                Textbook{Operation::all_reduce, "master", 4, 1, 6},
                                Textbook{Operation::all_gather, "ring", 4, 1, 3},
                                Textbook{Operation::all_gather, "bruck", 8, 1, 3},
                                Textbook{Operation::reduce_scatter, "ring", 4, 1, 3},
                                Textbook{Operation::barrier, "dissemination", 5, 1, 3}}) {
    Case point = case_of(known.operation, known.ranks, known.algorithm);
    point.choice.chunks = known.chunks;
    EXPECT_EQ(show_buffers(point, {.steps = true, .elements = {}}).last_step, known.steps)
        << known.algorithm << " " << to_string(known.operation);
  }
}

TEST(ShowBuffers, AMessageNeedsNothingThatComesLater) {
  Case point = case_of(Operation::broadcast, 4, "chain");
  point.choice.slots = 1;
  point.choice.chunks = 3;
  const Buffers shown = show_buffers(point, {.steps = true, .elements = {}});
  std::set<std::pair<std::size_t, std::vector<std::optional<double>>>> known;
  for (const BufferStep& step : shown.steps) {
    ASSERT_TRUE(step.from || step.step == 0);
    if (step.from && step.from->index() != 0) {
      EXPECT_TRUE(known.count({step.from->index(), step.message}));
    }
    known.insert({step.rank.index(), step.message});
  }
}

TEST(ShowBuffers, RoundingOfSumsInAnotherOrderIsNotAMistake) {
  Case point = case_of(Operation::all_reduce, 3, "ring");
  const Lists data{{0.1, 1e8, 0.3}, {0.2, -1e8, 0.7}, {0.3, 0.125, 1e-9}};
  EXPECT_TRUE(show_buffers(with_data(point, 3, data)).right);
}

TEST(ShowBuffers, DataWithTheirOwnNumberOfElements) {
  const Case point = with_data(case_of(Operation::all_reduce, 2), 1, {{1}, {2}});
  try {
    (void)show_buffers(point, {.steps = false, .elements = 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the scenario has its own data; the number of elements cannot be changed");
  }
}

TEST(ShowBuffers, MoreThanCanBeShownIsAnError) {
  const Case point = case_of(Operation::all_reduce, 4);
  try {
    (void)show_buffers(point, {.steps = false, .elements = max_shown_numbers});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::too_large);
    EXPECT_STREQ(error.what(),
                 "20,000,000 elements on 4 ranks are more than can be shown; at most 5,000,000");
  }
}

TEST(ShowBuffers, BarrierHasStepsWithoutData) {
  const Buffers shown = show_buffers(case_of(Operation::barrier, 4));
  EXPECT_TRUE(shown.right);
  EXPECT_FALSE(shown.steps.empty());
  for (const RankBuffers& rank : shown.ranks) EXPECT_FALSE(rank.before || rank.after);
}

}  // namespace
}  // namespace collsim
