// SPDX-License-Identifier: Apache-2.0
#include "collectives/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

constexpr Span at(std::int64_t offset) {
  return {Buffer::output, offset, 1};
}

Program numbers(int from, int to) {
  for (int i = from; i < to; ++i) co_yield copy(at(i), at(i));
}

std::vector<std::int64_t> offsets_of(LaneProgram& program) {
  std::vector<std::int64_t> offsets;
  while (const Instruction* instruction = program.next())
    offsets.push_back(instruction->source_offset);
  return offsets;
}

// Counts how many of it are alive: a local of a program, to see that frames are destroyed.
struct Alive {
  explicit Alive(int* count) : count_(count) { ++*count_; }
  Alive(const Alive& other) : count_(other.count_) { ++*count_; }
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --*count_; }
  int* count_;
};

Program holding(int* alive, int length) {
  const Alive guard(alive);
  for (int i = 0; i < length; ++i) co_yield copy(at(i), at(i));
}

Program holding_with_inner(int* alive) {
  const Alive guard(alive);
  co_yield copy(at(100), at(100));
  co_yield holding(alive, 3);
  co_yield copy(at(101), at(101));
}

TEST(Program, YieldsItsInstructionsAndEnds) {
  LaneProgram program = numbers(3, 6);
  EXPECT_EQ(offsets_of(program), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(program.next(), nullptr);
  EXPECT_EQ(program.next(), nullptr);
}

TEST(Program, WithoutInstructionsEndsAtOnce) {
  LaneProgram none;
  EXPECT_EQ(none.next(), nullptr);
  Program empty = numbers(0, 0);
  EXPECT_EQ(empty.next(), nullptr);
  EXPECT_EQ(empty.next(), nullptr);
}

TEST(Program, DoesNothingUntilPulled) {
  int alive = 0;
  {
    const LaneProgram program = holding(&alive, 2);
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

Program outer() {
  co_yield copy(at(0), at(0));
  co_yield numbers(10, 12);
  co_yield Program();  // nothing
  co_yield numbers(0, 0);
  co_yield numbers(20, 21);
  co_yield copy(at(1), at(1));
}

TEST(Program, RunsInnerProgramsInTheirPlace) {
  LaneProgram program = outer();
  EXPECT_EQ(offsets_of(program), (std::vector<std::int64_t>{0, 10, 11, 20, 1}));
  EXPECT_EQ(program.next(), nullptr);
}

Program nested(int depth) {
  co_yield copy(at(depth), at(depth));
  if (depth > 0) co_yield nested(depth - 1);
  co_yield copy(at(-depth), at(-depth));
}

TEST(Program, NestsToAnyDepth) {
  constexpr int depth = 1000;
  LaneProgram program = nested(depth);
  const std::vector<std::int64_t> offsets = offsets_of(program);
  ASSERT_EQ(offsets.size(), 2U * (depth + 1));
  EXPECT_EQ(offsets.front(), depth);
  EXPECT_EQ(offsets[depth], 0);
  EXPECT_EQ(offsets.back(), -depth);
}

Program only_inner(int depth) {
  if (depth > 0) co_yield only_inner(depth - 1);
}

// Many empty programs in a row yield nothing to the caller in between.
Program many_empty(int count) {
  for (int i = 0; i < count; ++i) co_yield only_inner(2);
  co_yield copy(at(7), at(7));
}

TEST(Program, PassesOverManyEmptyInnerPrograms) {
  LaneProgram program = many_empty(200);
  EXPECT_EQ(offsets_of(program), (std::vector<std::int64_t>{7}));
}

TEST(Program, MayBeDroppedAtAnyPoint) {
  for (int pulls = 0; pulls <= 6; ++pulls) {
    int alive = 0;
    {
      LaneProgram program = holding_with_inner(&alive);
      for (int i = 0; i < pulls; ++i) (void)program.next();
      const int expected = pulls == 0 || pulls == 6 ? 0 : pulls >= 2 && pulls <= 4 ? 2 : 1;
      EXPECT_EQ(alive, expected) << pulls;
    }
    EXPECT_EQ(alive, 0) << pulls;
  }
}

TEST(Program, MovesInTheMiddleOfItsRun) {
  int alive = 0;
  LaneProgram first = holding_with_inner(&alive);
  EXPECT_EQ(first.next()->source_offset, 100);
  EXPECT_EQ(first.next()->source_offset, 0);
  LaneProgram second = std::move(first);
  EXPECT_EQ(first.next(), nullptr);  // NOLINT: moved from, and empty by contract
  EXPECT_EQ(second.next()->source_offset, 1);
  EXPECT_EQ(alive, 2);
  second = numbers(5, 6);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(offsets_of(second), (std::vector<std::int64_t>{5}));
  LaneProgram& same = second;
  second = std::move(same);
  EXPECT_EQ(second.next(), nullptr);
}

Program throws_after(int count) {
  for (int i = 0; i < count; ++i) co_yield copy(at(i), at(i));
  throw std::runtime_error("broken program");
}

Program passes_on(int* alive) {
  const Alive guard(alive);
  co_yield throws_after(1);
  co_yield copy(at(9), at(9));
}

TEST(Program, LetsExceptionsOutOfNext) {
  LaneProgram program = throws_after(1);
  EXPECT_NE(program.next(), nullptr);
  EXPECT_THROW((void)program.next(), std::runtime_error);
  EXPECT_EQ(program.next(), nullptr);
}

TEST(Program, ThatFailsInsideAnotherCanBeDropped) {
  int alive = 0;
  {
    LaneProgram program = passes_on(&alive);
    EXPECT_EQ(program.next()->source_offset, 0);
    EXPECT_THROW((void)program.next(), std::runtime_error);
  }
  EXPECT_EQ(alive, 0);
}

// --- cutting ------------------------------------------------------------------------------------

constexpr Endpoint rank_one{Rank(1), Lane(0)};

Program two_messages_and_a_copy(Span data) {
  co_yield send(rank_one, data);
  co_yield copy(data, data.in(Buffer::scratch));
  co_yield receive_reduce(rank_one, data, data.in(Buffer::scratch));
}

Program in_step(Span data) {
  co_yield chunk_by_chunk(wait(rank_one), receive(rank_one, data), send(rank_one, data));
}

Program uncut(Span data) {
  co_yield whole(send(rank_one, data));
}

std::vector<Instruction> all_of(LaneProgram program) {
  std::vector<Instruction> all;
  while (const Instruction* instruction = program.next()) all.push_back(*instruction);
  return all;
}

bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.from == b.from && a.to == b.to && a.source() == b.source() &&
         a.destination() == b.destination();
}

TEST(LaneProgram, CutsMessagesAndNothingElse) {
  for (const std::int64_t count : {0, 1, 5, 12})
    for (const int chunks : {1, 2, 5, 7}) {
      const Span data{Buffer::input, 3, count};
      const std::vector<Instruction> all = all_of({two_messages_and_a_copy(data), chunks});
      const auto size = static_cast<std::size_t>(chunks);
      ASSERT_EQ(all.size(), 2 * size + 1);
      EXPECT_TRUE(same(all[size], copy(data, data.in(Buffer::scratch))));
      for (int c = 0; c < chunks; ++c) {
        const Span piece = data.piece(c, chunks);
        EXPECT_TRUE(same(all[static_cast<std::size_t>(c)], send(rank_one, piece)));
        EXPECT_TRUE(same(all[size + 1 + static_cast<std::size_t>(c)],
                         receive_reduce(rank_one, piece, piece.in(Buffer::scratch))));
      }
    }
}

TEST(LaneProgram, InterleavesWhatGoesChunkByChunk) {
  for (const int chunks : {1, 2, 5}) {
    const Span data{Buffer::output, 0, 7};
    const std::vector<Instruction> all = all_of({in_step(data), chunks});
    ASSERT_EQ(all.size(), 3 * static_cast<std::size_t>(chunks));
    for (int c = 0; c < chunks; ++c) {
      const auto first = 3 * static_cast<std::size_t>(c);
      EXPECT_EQ(all[first].op, Op::wait);
      EXPECT_TRUE(same(all[first + 1], receive(rank_one, data.piece(c, chunks))));
      EXPECT_TRUE(same(all[first + 2], send(rank_one, data.piece(c, chunks))));
    }
  }
}

TEST(LaneProgram, LeavesWhatIsToStayWhole) {
  const Span data{Buffer::input, 0, 9};
  const std::vector<Instruction> all = all_of({uncut(data), 4});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(same(all[0], send(rank_one, data)));
}

Program again_and_again(Span data, std::int64_t stride, int times) {
  Repeated steps{receive_send(rank_one, data, rank_one), stride, times};
  co_yield steps;
  co_yield send(rank_one, data);
}

Program as_often_by_hand(Span data, std::int64_t stride, int times) {
  for (int time = 0; time < times; ++time) {
    const Span further{data.buffer, data.offset + time * stride, data.count};
    co_yield receive_send(rank_one, further, rank_one);
  }
  co_yield send(rank_one, data);
}

TEST(LaneProgram, RepeatsAsIfYieldedAsOften) {
  for (const std::int64_t count : {0, 1, 5, 12})
    for (const std::int64_t stride : {-12, 20})
      for (const int times : {0, 1, 2, 5})
        for (const int chunks : {1, 2, 5, 7}) {
          const Span data{Buffer::input, 60, count};
          const auto all = all_of({again_and_again(data, stride, times), chunks});
          const auto wanted = all_of({as_often_by_hand(data, stride, times), chunks});
          EXPECT_TRUE(std::equal(all.begin(), all.end(), wanted.begin(), wanted.end(), same))
              << count << " elements, " << times << " times, " << chunks << " chunks";
        }
}

TEST(LaneProgram, MayMoveBetweenTwoChunks) {
  const Span data{Buffer::input, 0, 9};
  LaneProgram first(two_messages_and_a_copy(data), 3);
  (void)first.next();
  LaneProgram second = std::move(first);
  EXPECT_EQ(first.next(), nullptr);  // NOLINT: moved from, and empty by contract
  EXPECT_EQ(second.next()->source(), data.piece(1, 3));
}

Program one_message(Endpoint to, Span data) {
  co_yield send(to, data);
}

TEST(Program, KeepsItsParameters) {
  LaneProgram program;
  {
    const std::vector<Rank> ranks = {Rank(4), Rank(2), Rank(9)};
    const Group group(ranks.data(), 3, 2, Lane(5));
    const Endpoint next = group[3];
    program = one_message(next, at(3));
  }
  const Instruction* instruction = program.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->to, (Endpoint{Rank(4), Lane(5)}));
  EXPECT_EQ(instruction->source(), at(3));
}

TEST(Group, WrapsTurnsAndDivides) {
  const std::vector<Rank> ranks = {Rank(10), Rank(11), Rank(12), Rank(13), Rank(14), Rank(15)};
  const Group all(ranks.data(), 6, 4, Lane(1));
  EXPECT_EQ(all[-1].rank, Rank(15));
  EXPECT_EQ(all[7].rank, Rank(11));
  EXPECT_EQ(all.self().rank, Rank(14));
  const Group turned = all.turned_to(5);
  EXPECT_EQ(turned.me(), 5);
  EXPECT_EQ(turned[0].rank, Rank(15));
  EXPECT_EQ(turned[1].rank, Rank(10));
  EXPECT_EQ(turned.self().rank, Rank(14));
  const Group odd = all.every(2, 0, 3);  // 10, 12, 14
  EXPECT_EQ(odd.me(), 2);
  EXPECT_EQ(odd[1].rank, Rank(12));
  EXPECT_EQ(odd[odd.me() + 1].rank, Rank(10));
  const Group last = odd.every(1, 1, 2);  // 12, 14
  EXPECT_EQ(last[0].rank, Rank(12));
  EXPECT_EQ(last.turned_to(1)[0].rank, Rank(14));
  EXPECT_DEATH((void)all.every(2, 1, 3), "sub-group");
}

}  // namespace
}  // namespace collsim
