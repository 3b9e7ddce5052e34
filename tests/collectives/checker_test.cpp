// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "collectives/checker/interval_map.hpp"
#include "tests/collectives/schedules_for_tests.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

using namespace test_schedules;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

// The schedule must be refused for this reason, and this instruction blamed.
void expect_fault(const Schedule& schedule, FaultKind kind, int rank, int lane, std::int64_t step,
                  const std::string& words = "") {
  for (const bool exact : {false, true}) {
    const CheckReport report = check(schedule, {.exact = exact});
    ASSERT_FALSE(report.ok);
    ASSERT_TRUE(report.fault.has_value());
    const Fault& fault = *report.fault;
    EXPECT_EQ(to_string(fault.kind), to_string(kind)) << fault.text;
    EXPECT_EQ(fault.rank.index(), static_cast<std::size_t>(rank)) << fault.text;
    EXPECT_EQ(fault.lane.index(), static_cast<std::size_t>(lane)) << fault.text;
    EXPECT_EQ(fault.step, step) << fault.text;
    expect_contains(fault.text, words);
  }
}

void expect_accepted(const Schedule& schedule) {
  for (const bool exact : {false, true}) {
    const CheckReport report = check(schedule, {.exact = exact});
    EXPECT_TRUE(report.ok) << report.fault->text;
    EXPECT_FALSE(report.fault.has_value());
  }
}

// Two ranks that both want the sum of two elements; right as it stands.
ListedPrograms exchange_programs() {
  return {{send(at(1), input(0, 2)), receive_reduce(at(1), input(0, 2), output(0, 2))},
          {send(at(0), input(0, 2)), receive_reduce(at(0), input(0, 2), output(0, 2))}};
}
HandMade exchange(ListedPrograms programs = exchange_programs()) {
  return {collective_of(Operation::all_reduce, 2, 2), std::move(programs)};
}

TEST(Checker, AcceptsRightSchedules) {
  for (const std::int64_t count : {0, 1, 2, 7, 64}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      expect_accepted(ring_all_reduce(ranks, count));
      expect_accepted(ring_all_reduce(ranks, count, true));
      for (const int chunks : {1, 3, 5}) {
        expect_accepted(chain_broadcast(ranks, count, chunks));
        if (ranks > 1) expect_accepted(two_lane_all_reduce(ranks, count, chunks));
      }
    }
  }
  for (int ranks = 1; ranks <= 5; ++ranks) expect_accepted(direct_barrier(ranks));
  expect_accepted(make(exchange()));
}

TEST(Checker, CountsMessagesAndBytes) {
  const CheckReport report = check(ring_all_reduce(5, 20));
  EXPECT_TRUE(report.ok);
  EXPECT_EQ(report.messages, 5 * 8);
  EXPECT_EQ(report.wire_bytes, 5 * 8 * 4 * 4);
  EXPECT_EQ(report.instructions, 5 * 9);
  EXPECT_GE(report.most_queued, 1);
}

TEST(Checker, NamesRanksNotPositions) {
  HandMade parts = exchange();
  parts.collective.group = {Rank(9'000'000), Rank(4)};
  const Endpoint a = at(9'000'000);
  const Endpoint b = at(4);
  parts.programs = {{send(b, input(0, 2)), receive_reduce(b, input(0, 2), output(0, 2))},
                    {send(a, input(0, 2)), receive_reduce(a, input(0, 2), output(0, 2))}};
  expect_accepted(make(parts));
  parts.programs[0][1] = receive(b, output(0, 2));
  expect_fault(make(parts), FaultKind::wrong_result, 9'000'000, 0, 1,
               "element 0 of rank 4's input");
}

TEST(Checker, RefusesPeersThatDoNotExist) {
  for (const Endpoint& peer : {at(2), at(1, 1), at(0), at(1, 65535)}) {
    ListedPrograms programs = exchange_programs();
    programs[0][0].to = peer;
    expect_fault(make(exchange(programs)), FaultKind::bad_peer, 0, 0, 0);
    programs = exchange_programs();
    programs[0][1].from = peer;
    expect_fault(make(exchange(programs)), FaultKind::bad_peer, 0, 0, 1);
  }
  expect_fault(make(exchange({{send(at(7), input(0, 2))}, {}})), FaultKind::bad_peer, 0, 0, 0,
               "rank 0 lane 0 step 0 (send input[0..1], to rank 7 lane 0): names rank 7 lane 0");
}

TEST(Checker, RefusesSignalsThatLeaveTheRank) {
  for (const Endpoint& other : {at(1, 1), at(0, 0), at(0, 2)}) {
    HandMade parts = exchange({{signal(other)}, {}, {}, {}});
    parts.lanes = 2;
    expect_fault(make(parts), FaultKind::bad_peer, 0, 0, 0, "another lane of the same rank");
    parts.programs = {{}, {}, {copy(input(0, 2), output(0, 2)), wait(other)}, {}};
    if (other != at(1, 1)) expect_fault(make(parts), FaultKind::bad_peer, 1, 0, 1);
  }
}

TEST(Checker, RefusesSpansOutsideTheirBuffers) {
  for (const Span& span : {input(0, 3), input(1, 2), input(-1, 2), input(0, -1), input(3, 0),
                           input(huge, 2), input(2, huge), input(-huge, huge), scratch(0, 2)}) {
    ListedPrograms programs = exchange_programs();
    programs[0][0] = send(at(1), span);
    expect_fault(make(exchange(programs)), FaultKind::bad_span, 0, 0, 0, "reads ");
    programs = exchange_programs();
    const Buffer buffer = span.buffer == Buffer::input ? Buffer::output : span.buffer;
    programs[1].push_back(receive(at(0), span.in(buffer)));
    expect_fault(make(exchange(programs)), FaultKind::bad_span, 1, 0, 2, "writes ");
  }
}

TEST(Checker, TakesNegativeScratchForNone) {
  HandMade parts = exchange();
  parts.scratch = -5;
  expect_accepted(make(parts));
  parts.programs[0].push_back(copy(input(0, 1), scratch(0, 1)));
  expect_fault(make(parts), FaultKind::bad_span, 0, 0, 2, "scratch has 0 elements");
}

TEST(Checker, RefusesInstructionsThatDoNotExist) {
  for (const int code : {0, 1, 2, 4, 9, 15 + 128, 255}) {
    ListedPrograms programs = exchange_programs();
    programs[1][1].op = static_cast<Op>(code);
    expect_fault(make(exchange(programs)), FaultKind::bad_instruction, 1, 0, 1);
  }
  ListedPrograms programs = exchange_programs();
  programs[1][1].destination_buffer = static_cast<Buffer>(3);
  expect_fault(make(exchange(programs)), FaultKind::bad_instruction, 1, 0, 1);
}

TEST(Checker, RefusesPartialOverlap) {
  HandMade parts = exchange();
  parts.scratch = 3;
  auto& list = parts.programs[0];
  list.insert(list.begin(), {copy(input(0, 2), scratch(0, 2)), copy(scratch(0, 2), scratch(0, 2)),
                             copy(scratch(0, 2), scratch(1, 2))});
  expect_fault(make(parts), FaultKind::overlap, 0, 0, 2, "overlaps in part");
}

TEST(Checker, RefusesMessagesOfAnotherSize) {
  ListedPrograms programs = exchange_programs();
  programs[1][0].count = 1;
  expect_fault(make(exchange(programs)), FaultKind::size_mismatch, 0, 0, 1,
               "expects 2 elements, but the message, sent at step 0 of rank 1 lane 0, holds 1");
}

TEST(Checker, RefusesMessagesThatNeverComeOrGo) {
  ListedPrograms programs = exchange_programs();
  programs[1].erase(programs[1].begin());
  expect_fault(make(exchange(programs)), FaultKind::missing_message, 0, 0, 1,
               "waits for a message from rank 1 lane 0, which has ended after 1 instructions");
  programs = exchange_programs();
  programs[0].insert(programs[0].begin() + 1, send(at(1), input(0, 1)));
  expect_fault(make(exchange(programs)), FaultKind::unreceived_message, 0, 0, 1, "never received");
  HandMade limited = exchange(programs);
  limited.slots = 1;
  limited.programs[0].push_back(send(at(1), input(0, 1)));
  expect_fault(make(limited), FaultKind::unreceived_message, 0, 0, 3, "free slot");
}

TEST(Checker, RefusesSignalsThatNeverComeOrGo) {
  HandMade parts{collective_of(Operation::all_reduce, 1, 1), {}, 2};
  parts.programs = {{copy(input(0, 1), output(0, 1)), signal(at(0, 1))}, {wait(at(0, 0))}};
  expect_accepted(make(parts));
  ListedPrograms more_waits = parts.programs;
  more_waits[1].push_back(wait(at(0, 0)));
  ListedPrograms more_signals = parts.programs;
  more_signals[0].push_back(signal(at(0, 1)));
  parts.programs = more_waits;
  expect_fault(make(parts), FaultKind::missing_signal, 0, 1, 1);
  parts.programs = more_signals;
  expect_fault(make(parts), FaultKind::unreceived_signal, 0, 0, 2);
}

TEST(Checker, NamesTheCircleOfADeadlock) {
  ListedPrograms programs;
  for (int me = 0; me < 3; ++me) {
    const Endpoint next = at((me + 1) % 3);
    const Endpoint previous = at((me + 2) % 3);
    programs.push_back({receive(previous, output(0, 1)), send(next, output(0, 1))});
  }
  const Schedule schedule = make({collective_of(Operation::all_reduce, 3, 1), programs});
  expect_fault(schedule, FaultKind::deadlock, 0, 0, 0,
               "deadlock: waits for a message from rank 2 lane 0, which at step 0 (receive from "
               "rank 1 lane 0, output[0]) waits for a message from rank 1 lane 0, which at step 0");
  EXPECT_EQ(least_slots(schedule), std::nullopt);
  expect_fault(schedule.with_slots(2), FaultKind::deadlock, 0, 0, 0, "would not help");
}

// Everybody sends `ahead` messages before receiving any.
Schedule all_send_first(int ranks, int ahead) {
  ListedPrograms programs;
  for (int me = 0; me < ranks; ++me) {
    auto& list = programs.emplace_back();
    for (int i = 0; i < ahead; ++i) list.push_back(send(at((me + 1) % ranks), input(i, 1)));
    for (int i = 0; i < ahead; ++i)
      list.push_back(receive(at((me + ranks - 1) % ranks), output(i, 1)));
  }
  return make({collective_of(Operation::send_recv, ranks, ahead), programs});
}

TEST(Checker, FindsTheLeastNumberOfSlots) {
  // With one slot all connections of a ring fill up, and nobody can receive and send at once.
  EXPECT_EQ(least_slots(ring_all_reduce(6, 12)), 2);
  EXPECT_EQ(least_slots(ring_all_reduce(1, 12)), 1);
  EXPECT_EQ(least_slots(chain_broadcast(4, 12, 6)), 1);
  EXPECT_EQ(least_slots(make(exchange({{receive(at(1), output(0, 2))}, {}}))), std::nullopt);
  for (int ahead = 1; ahead <= 21; ++ahead) {
    const Schedule schedule = all_send_first(3, ahead);
    ASSERT_EQ(least_slots(schedule), ahead);
    EXPECT_TRUE(check(schedule.with_slots(ahead)).ok);
    if (ahead == 1) continue;
    const std::string advice = "With " + std::to_string(ahead - 1) +
                               " slots per connection; it needs at least " + std::to_string(ahead);
    expect_fault(schedule.with_slots(ahead - 1), FaultKind::deadlock, 0, 0, ahead - 1, advice);
  }
}

TEST(Checker, RefusesReadsOfMemoryThatNobodyWrote) {
  HandMade parts = exchange();
  parts.scratch = 4;
  auto& list = parts.programs[1];
  list.insert(list.begin(), {copy(input(0, 1), scratch(1, 1)), copy(scratch(0, 3), scratch(0, 3))});
  expect_fault(make(parts), FaultKind::unwritten_read, 1, 0, 1, "reads scratch[0]");
  list[1] = copy(output(0, 2), scratch(2, 2));
  expect_fault(make(parts), FaultKind::unwritten_read, 1, 0, 1, "reads output[0..1]");
  parts.collective.in_place = true;
  list[1] = copy(output(0, 2), scratch(2, 2));
  expect_accepted(make(parts));
}

TEST(Checker, RefusesWritesToTheInput) {
  HandMade parts = exchange();
  parts.programs[0].push_back(copy(output(0, 2), input(0, 2)));
  expect_fault(make(parts), FaultKind::input_write, 0, 0, 2);
  parts.collective.in_place = true;
  expect_accepted(make(parts));
}

// In place, the output of a reduce-scatter is a part of the input; the rest must stay as it is.
TEST(Checker, KnowsWhichPartOfTheInputIsOutput) {
  ListedPrograms programs{
      {send(at(1), input(1, 1)), receive_reduce(at(1), input(0, 1), output(0, 1))},
      {send(at(0), input(0, 1)), receive_reduce(at(0), input(1, 1), input(1, 1))}};
  HandMade parts{in_place_if(true, collective_of(Operation::reduce_scatter, 2, 2)), programs};
  expect_accepted(make(parts));
  parts.programs[1][1] = receive_reduce(at(0), input(1, 1), input(0, 1));
  expect_fault(make(parts), FaultKind::input_write, 1, 0, 1);
  parts.programs = programs;
  parts.collective.in_place = false;
  expect_fault(make(parts), FaultKind::input_write, 1, 0, 1);
}

TEST(Checker, NamesTheInstructionThatAddsTwice) {
  ListedPrograms programs = record(ring_all_reduce(4, 8));
  // Rank 2 adds what it receives to a sum that already holds rank 2's contribution.
  programs[2].insert(programs[2].begin() + 4, local_reduce(input(6, 2), output(6, 2)));
  const Schedule schedule = replay(ring_all_reduce(4, 8), programs);
  expect_fault(schedule, FaultKind::double_contribution, 2, 0, 4,
               "rank 2 lane 0 step 4 (local_reduce input[6..7] to output[6..7]): adds rank 2's "
               "contribution a second time");
}

TEST(Checker, NamesTheInstructionThatMixesElements) {
  ListedPrograms programs = record(ring_all_reduce(4, 8));
  programs[3][1].source_offset += 1;
  expect_fault(replay(ring_all_reduce(4, 8), programs), FaultKind::mixed_elements, 3, 0, 1,
               "adds element 5 of rank 3's input to element 4 of rank 2's input");
}

TEST(Checker, NamesTheInstructionThatStoredAWrongResult) {
  ListedPrograms programs = record(ring_all_reduce(4, 8));
  programs[3][2].op = Op::receive_send;  // forwards instead of adding
  programs[3][2].destination_buffer = Buffer::output;
  expect_fault(replay(ring_all_reduce(4, 8), programs), FaultKind::wrong_result, 0, 0, 3,
               "output[2..3] must start with element 2 of the sum over all 4 ranks but starts with "
               "element 2 of the sum over ranks 0 to 2");
}

TEST(Checker, RefusesOutputsThatNobodyWrote) {
  ListedPrograms programs = exchange_programs();
  programs[1][1] = receive_reduce(at(0), input(0, 1), output(0, 1));
  programs[0][0] = send(at(1), input(0, 1));
  expect_fault(make(exchange(programs)), FaultKind::unwritten_output, 1, 0, -1,
               "rank 1: output[1] must start with element 1 of the sum over all 2 ranks but it was "
               "never written");
}

// 2^61 = 1 modulo the prime: the number alone would look right.
TEST(Checker, IsNotFooledByMultiplesOfThePrime) {
  HandMade parts{collective_of(Operation::all_reduce, 1, 1), {{copy(input(0, 1), output(0, 1))}}};
  for (int doubling = 0; doubling < 61; ++doubling)
    parts.programs[0].push_back(local_reduce(output(0, 1), output(0, 1)));
  expect_fault(make(parts), FaultKind::double_contribution, 0, 0, 1);
}

TEST(Checker, FindsRacesBetweenLanes) {
  const Schedule right = two_lane_all_reduce(3, 9, 3);
  ListedPrograms programs = record(right);
  // The last rank, lanes 4 and 5: one signal and one wait for all three chunks, too early.
  for (const std::ptrdiff_t step : {5, 3}) programs[4].erase(programs[4].begin() + step);
  for (const std::ptrdiff_t step : {4, 2}) programs[5].erase(programs[5].begin() + step);
  expect_fault(replay(right, programs), FaultKind::race, 2, 1, 2,
               "rank 2 lane 1 step 2 (send output[3..5], to rank 1 lane 1): reads output[3..5], "
               "which lane 0 step 2 writes too, and no signal and wait order the two");
}

// Lane 0 of rank 0 writes, lane 1 reads after a message that went round through rank 1.
HandMade round_trip(bool signalled) {
  HandMade parts{collective_of(Operation::send_recv, 2, 1), {}, 2};
  parts.scratch = 1;
  parts.collective.pattern.kind = Pattern::Kind::exchange;
  parts.programs = {
      {copy(input(0, 1), scratch(0, 1)), send(at(1, 0), scratch(0, 1)),
       receive(at(1, 0), output(0, 1))},
      {receive(at(1, 1), scratch(0, 1))},
      {receive(at(0, 0), output(0, 1)), send(at(0, 0), input(0, 1)), signal(at(1, 1))},
      {wait(at(1, 0)), send(at(0, 1), input(0, 1))}};
  if (signalled) {
    parts.programs[0].push_back(signal(at(0, 1)));
    parts.programs[1].insert(parts.programs[1].begin(), wait(at(0, 0)));
  }
  return parts;
}

TEST(Checker, ARoundTripOrdersNoMemory) {
  expect_accepted(make(round_trip(true)));
  expect_fault(make(round_trip(false)), FaultKind::race, 0, 1, 0,
               "writes scratch[0], which lane 0 step 0 writes too");
}

TEST(Checker, SignalsOrderAlongChainsOfLanes) {
  HandMade parts{collective_of(Operation::all_reduce, 1, 1), {}, 3};
  parts.scratch = 1;
  parts.programs = {{copy(input(0, 1), scratch(0, 1)), signal(at(0, 1))},
                    {wait(at(0, 0)), signal(at(0, 2))},
                    {wait(at(0, 1)), copy(scratch(0, 1), output(0, 1))}};
  expect_accepted(make(parts));
  // A signal says nothing about what comes after it.
  std::swap(parts.programs[0][0], parts.programs[0][1]);
  const CheckReport report = check(make(parts));
  ASSERT_FALSE(report.ok);
  EXPECT_EQ(report.fault->kind, FaultKind::race);
  // Two lanes may read the same memory.
  parts.programs = {{copy(input(0, 1), scratch(0, 1)), signal(at(0, 1)), signal(at(0, 2))},
                    {wait(at(0, 0)), copy(scratch(0, 1), output(0, 1))},
                    {wait(at(0, 0)), copy(scratch(0, 1), scratch(0, 1))}};
  expect_fault(make(parts), FaultKind::race, 0, 2, 1, "lane 1 step 1 reads too");
  parts.programs[2].pop_back();
  expect_accepted(make(parts));
}

TEST(Checker, FindsBarriersThatLetSomebodyGo) {
  ListedPrograms programs = record(direct_barrier(4));
  programs[1].erase(programs[1].begin() + 2);  // 1 no longer sends to 3
  programs[3].erase(programs[3].begin() + 4);  // nor does 3 wait for it
  // 0 and 2 send before they receive: 3 hears of 1 from nobody.
  expect_fault(replay(direct_barrier(4), programs), FaultKind::early_exit, 3, 0, -1,
               "rank 3: may leave the barrier before rank 1 has come");
}

Program endless(Endpoint peer) {
  while (true) co_yield send(peer, Span{Buffer::input, 0, 1});
}

TEST(Checker, EndsEndlessPrograms) {
  const Schedule schedule =
      make(exchange()).with_programs([](int position, Lane) { return endless(at(1 - position)); });
  const CheckReport report = check(schedule, {.max_instructions = 1000});
  ASSERT_FALSE(report.ok);
  EXPECT_EQ(report.fault->kind, FaultKind::too_long);
  EXPECT_EQ(report.fault->step, 1000);
  EXPECT_EQ(report.instructions, 1000);
  EXPECT_EQ(least_slots(schedule, {.max_instructions = 1000}), std::nullopt);
  EXPECT_TRUE(check(ring_all_reduce(4, 4), {.max_instructions = 7}).ok);
  EXPECT_FALSE(check(ring_all_reduce(4, 4), {.max_instructions = 6}).ok);
}

TEST(Checker, NeedsNoMemoryForElements) {
  expect_accepted(ring_all_reduce(7, std::int64_t{1} << 55));
}

TEST(Checker, RefusesTooManyLanes) {
  Schedule::Parts parts;
  parts.collective = collective_of(Operation::barrier, 5000, 0);
  parts.lanes = 65536;
  parts.program = [](int, Lane) { return Program(); };
  try {
    (void)check(Schedule(parts));
    FAIL() << "327 million lanes were checked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::too_large);
  }
}

// ---- the map of memory against one value per element

struct Counter {
  using Value = std::int64_t;
  static Value advanced(Value value, std::int64_t n) { return value + n; }
  static bool continues(Value value, std::int64_t length, Value following) {
    return value + length == following;
  }
};

TEST(IntervalMap, HoldsWhatWasWrittenLast) {
  std::mt19937_64 random(7);
  for (const std::int64_t size : {1, 5, 40, 3000}) {
    checker::IntervalMap<Counter> map;
    std::vector<std::int64_t> plain(static_cast<std::size_t>(size), -1);
    for (int round = 0; round < testing::random_cases(4000); ++round) {
      std::int64_t begin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
      std::int64_t end = begin + static_cast<std::int64_t>(random() % 9);
      if (round % 100 == 0) end = begin + size;
      end = std::min(end, size);
      const auto value = static_cast<std::int64_t>(random() % 4) * 10'000 + begin;
      map.write(begin, end, value);
      for (std::int64_t i = begin; i < end; ++i)
        plain[static_cast<std::size_t>(i)] = value + (i - begin);
      begin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
      end = std::min(size, begin + static_cast<std::int64_t>(random() % 50));
      std::int64_t seen = begin;
      map.visit(begin, end, [&](std::int64_t from, std::int64_t to, const auto* segment) {
        ASSERT_EQ(from, seen);
        ASSERT_LT(from, to);
        for (std::int64_t i = from; i < to; ++i)
          ASSERT_EQ(plain[static_cast<std::size_t>(i)],
                    segment ? segment->value + (i - segment->begin) : -1);
        seen = to;
      });
      ASSERT_EQ(seen, end);
    }
  }
}

TEST(IntervalMap, JoinsWhatBelongsTogether) {
  checker::IntervalMap<Counter> map;
  for (std::int64_t block = 999; block >= 0; --block) map.write(block, block + 1, block);
  EXPECT_EQ(map.segments(), 1U);
  map.write(500, 510, 0);
  EXPECT_EQ(map.segments(), 3U);
  map.write(500, 510, 500);
  EXPECT_EQ(map.segments(), 1U);
  for (std::int64_t block = 0; block < 1000; block += 2) map.write(block, block + 1, -1);
  EXPECT_EQ(map.segments(), 1000U);
}

}  // namespace
}  // namespace collsim
