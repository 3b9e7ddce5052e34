// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute.hpp"

#include <gtest/gtest.h>

#include "tests/collectives/schedules_for_tests.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using namespace test_schedules;
using Status = ExecutionResult::Status;
using Buffers = std::vector<std::vector<std::byte>>;

std::vector<double> numbers(ElementType type, const std::vector<std::byte>& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(size_of(type)))
    values.push_back(to_number(type, bytes.data() + at));
  return values;
}

Buffers inputs_of(const std::vector<std::vector<double>>& values, ElementType type) {
  Buffers inputs;
  for (const auto& list : values) {
    auto& input = inputs.emplace_back(list.size() * static_cast<std::size_t>(size_of(type)));
    for (std::size_t i = 0; i < list.size(); ++i)
      from_number(type, list[i], input.data() + i * static_cast<std::size_t>(size_of(type)));
  }
  return inputs;
}

Schedule with(const Schedule& schedule, ElementType type, Reduction reduction) {
  HandMade parts{schedule.collective(), record(schedule), schedule.lanes()};
  parts.collective.type = type;
  parts.collective.reduction = reduction;
  return make(parts);
}

TEST(Execute, AddsByHand) {
  const Schedule ring = ring_all_reduce(3, 4);
  const auto inputs =
      inputs_of({{1, 2, 3, 4}, {10, 20, 30, 40}, {100, 200, 300, 400}}, ElementType::i32);
  const ExecutionResult result = execute(ring, inputs);
  EXPECT_EQ(result.status, Status::completed) << result.problem;
  EXPECT_EQ(result.instructions, 3 * 5);
  EXPECT_EQ(result.finished, std::vector<bool>(3, true));
  for (const auto& output : result.outputs)
    EXPECT_EQ(numbers(ElementType::i32, output), (std::vector<double>{111, 222, 333, 444}));
}

TEST(Execute, EveryTypeAndReductionGivesTheExpectedOutput) {
  for (const ElementType type : all_element_types()) {
    for (const Reduction reduction : all_reductions()) {
      for (const bool in_place : {false, true}) {
        const Schedule ring = with(ring_all_reduce(5, 13, in_place), type, reduction);
        EXPECT_EQ(judge(ring), "") << to_string(type) << " " << to_string(reduction);
        const Schedule lanes = with(two_lane_all_reduce(4, 11, 3), type, reduction);
        EXPECT_EQ(judge(lanes), "") << to_string(type) << " " << to_string(reduction);
      }
    }
  }
}

TEST(Execute, AverageDividesOnceAtTheEnd) {
  const Schedule ring = with(ring_all_reduce(3, 2), ElementType::i32, Reduction::avg);
  const ExecutionResult result =
      execute(ring, inputs_of({{1, -1}, {1, -2}, {3, -5}}, ElementType::i32));
  EXPECT_EQ(numbers(ElementType::i32, result.outputs[2]), (std::vector<double>{1, -2}));
}

TEST(Execute, NoticesWrongData) {
  ListedPrograms programs = record(ring_all_reduce(4, 8));
  programs[2][2].op = Op::receive_send;
  programs[2][2].destination_buffer = Buffer::output;
  expect_contains(judge(replay(ring_all_reduce(4, 8), programs)), "wrong output");
  programs = record(chain_broadcast(3, 5, 2));
  programs[2].pop_back();
  expect_contains(judge(replay(chain_broadcast(3, 5, 2), programs)), "left over");
  programs.back().push_back(receive(at(1), output(0, 2)));
  programs.back().push_back(receive(at(1), output(0, 2)));
  programs[1].push_back(send(at(2), output(0, 3)));
  expect_contains(judge(replay(chain_broadcast(3, 5, 2), programs)), "gets 12 bytes, not 8");
}

TEST(Execute, NamesLanesThatAreStuck) {
  ListedPrograms programs = record(chain_broadcast(3, 6, 2));
  programs[1].pop_back();
  const Schedule schedule = replay(chain_broadcast(3, 6, 2), programs);
  const ExecutionResult result = execute(schedule, make_test_inputs(schedule.collective(), 3));
  EXPECT_EQ(result.status, Status::stuck);
  ASSERT_EQ(result.stuck.size(), 1U);
  EXPECT_EQ(result.stuck[0].position, 2);
  EXPECT_EQ(result.stuck[0].step, 1);
  EXPECT_EQ(result.stuck[0].instruction.op, Op::receive);
  EXPECT_EQ(result.stuck[0].waits_for, "a message from position 1 lane 0");
  EXPECT_EQ(result.finished, (std::vector<bool>{true, true, false}));
}

TEST(Execute, ASenderWaitsForASlot) {
  const Schedule ring = ring_all_reduce(3, 3);
  EXPECT_EQ(judge(ring.with_slots(2)), "");
  const ExecutionResult result =
      execute(ring.with_slots(1), make_test_inputs(ring.collective(), 1));
  EXPECT_EQ(result.status, Status::stuck);
  EXPECT_EQ(result.stuck.size(), 3U);
  EXPECT_EQ(result.stuck[0].waits_for, "a free slot to position 1 lane 0");
}

TEST(Execute, ARankHeldBackHoldsBackWhoNeedsIt) {
  ExecutionOptions options;
  options.held_back = 1;
  const Schedule chain = chain_broadcast(3, 4, 2);
  ExecutionResult result = execute(chain, make_test_inputs(chain.collective(), 1), options);
  EXPECT_EQ(result.finished, (std::vector<bool>{true, false, false}));
  const Schedule barrier = direct_barrier(4);
  EXPECT_EQ(judge(barrier), "");
  ListedPrograms programs = record(barrier);
  programs[0].erase(programs[0].begin() + 1);  // 0 no longer tells 2
  programs[2].erase(programs[2].begin() + 3);  // 2 no longer waits for 0
  EXPECT_EQ(judge(replay(barrier, programs)), "position 2 leaves without 0");
}

TEST(Execute, RefusesWhatCannotBeExecuted) {
  const Schedule right = chain_broadcast(2, 4, 1);
  for (const Instruction& bad :
       {send(at(7), input(0, 1)), send(at(1, 1), input(0, 1)), copy(input(0, 5), output(0, 5)),
        copy(input(-1, 1), output(0, 1)), copy(input(0, -1), output(0, -1)), signal(at(1)),
        wait(at(1)), copy(scratch(0, 1), output(0, 1))}) {
    ListedPrograms programs = record(right);
    programs[0].push_back(bad);
    const ExecutionResult result =
        execute(replay(right, programs), make_test_inputs(right.collective(), 1));
    EXPECT_EQ(result.status, Status::invalid) << to_string(bad.op);
    expect_contains(result.problem, "position 0 lane 0 step 1");
  }
}

TEST(Execute, EndsEndlessPrograms) {
  ExecutionOptions options;
  options.max_instructions = 4;
  const Schedule chain = chain_broadcast(2, 4, 4);
  EXPECT_EQ(execute(chain, make_test_inputs(chain.collective(), 1), options).status,
            Status::too_long);
}

TEST(Execute, ShowsEveryStep) {
  const Schedule chain = chain_broadcast(3, 4, 2);
  std::vector<std::string> steps;
  ExecutionOptions options;
  options.after_each = [&](const ExecutedStep& step) {
    steps.push_back(std::to_string(step.position) + "." + std::to_string(step.step) + " " +
                    to_string(step.instruction.op) + " " +
                    std::to_string(static_cast<int>(to_number(
                        ElementType::i32, step.memory.at(step.instruction.destination())))));
  };
  (void)execute(chain, inputs_of({{7, 0, 9, 0}, {}, {}}, ElementType::i32), options);
  EXPECT_EQ(steps,
            (std::vector<std::string>{"0.0 copy_send 7", "1.0 receive_send 7", "2.0 receive 7",
                                      "0.1 copy_send 9", "1.1 receive_send 9", "2.1 receive 9"}));
}

TEST(Execute, ExpectedOutputsFollowTheRequirements) {
  const auto expected = [](Operation operation, int position, bool in_place = false) {
    Collective collective = in_place_if(in_place, collective_of(operation, 3, 3, ElementType::i32));
    collective.root = 1;
    std::vector<std::vector<double>> values;
    for (int j = 0; j < 3; ++j) {
      auto& list = values.emplace_back();
      for (std::int64_t i = 0; i < input_count(collective, j); ++i)
        list.push_back(static_cast<double>(10 * (j + 1) + i));
    }
    return numbers(ElementType::i32,
                   expected_output(collective, inputs_of(values, ElementType::i32), position));
  };
  using List = std::vector<double>;
  EXPECT_EQ(expected(Operation::broadcast, 2), (List{20, 21, 22}));
  EXPECT_EQ(expected(Operation::reduce, 1), (List{60, 63, 66}));
  EXPECT_EQ(expected(Operation::reduce, 0), List{});
  EXPECT_EQ(expected(Operation::all_reduce, 0, true), (List{60, 63, 66}));
  EXPECT_EQ(expected(Operation::all_gather, 0), (List{10, 20, 30}));
  EXPECT_EQ(expected(Operation::reduce_scatter, 2, true), List{66});
  EXPECT_EQ(expected(Operation::gather, 1), (List{10, 20, 30}));
  EXPECT_EQ(expected(Operation::scatter, 2), List{22});
  EXPECT_EQ(expected(Operation::all_to_all, 1), (List{11, 21, 31}));
  EXPECT_EQ(expected(Operation::barrier, 1), List{});
  EXPECT_EQ(expected(Operation::send_recv, 0), (List{30, 31, 32}));
}

TEST(Execute, TestInputsAddUpExactlyInAnyOrder) {
  for (const ElementType type : all_element_types()) {
    for (const Reduction reduction : all_reductions()) {
      for (const int ranks : {1, 2, 17, 300, 2500}) {
        Collective collective = collective_of(Operation::all_reduce, ranks, 3);
        collective.type = type;
        collective.reduction = reduction;
        const Buffers inputs = make_test_inputs(collective, 5);
        auto forwards = inputs.front();
        for (std::size_t j = 1; j < inputs.size(); ++j)
          reduce_elements(type, reduction, forwards.data(), inputs[j].data(), 3);
        auto backwards = inputs.back();
        for (std::size_t j = inputs.size() - 1; j > 0; --j)
          reduce_elements(type, reduction, backwards.data(), inputs[j - 1].data(), 3);
        EXPECT_EQ(forwards, backwards) << to_string(type) << to_string(reduction) << ranks;
        if (reduction != Reduction::sum) continue;
        std::vector<double> exact(3, 0.0);
        for (const auto& input : inputs)
          for (std::size_t i = 0; i < 3; ++i) exact[i] += numbers(type, input)[i];
        EXPECT_EQ(numbers(type, forwards), exact) << to_string(type) << ranks;
      }
    }
  }
}

TEST(Execute, TestInputsDifferByPositionAndSeed) {
  const Collective collective = collective_of(Operation::all_reduce, 4, 20, ElementType::i32);
  const Buffers inputs = make_test_inputs(collective, 1);
  EXPECT_NE(inputs[0], inputs[1]);
  EXPECT_NE(inputs, make_test_inputs(collective, 2));
  EXPECT_EQ(inputs, make_test_inputs(collective, 1));
}

TEST(Execute, MemoryStartsAsPoisonAndSharesInPlace) {
  for (const bool in_place : {false, true}) {
    Collective collective =
        in_place_if(in_place, collective_of(Operation::all_gather, 2, 4, ElementType::i32));
    HandMade parts{collective, {{}, {}}};
    parts.scratch = 1;
    RankMemory memory(make(parts), 1, inputs_of({{8, 9}}, ElementType::i32)[0]);
    const double poison = 0x7b7b7b7b;
    EXPECT_EQ(
        numbers(ElementType::i32, memory.copy_of(output(0, 4))),
        in_place ? (std::vector<double>{poison, poison, 8, 9}) : std::vector<double>(4, poison));
    EXPECT_EQ(numbers(ElementType::i32, memory.copy_of(scratch(0, 1))),
              std::vector<double>{poison});
    from_number(ElementType::i32, 5, memory.at(output(2, 1)));
    EXPECT_EQ(to_number(ElementType::i32, memory.at(input(0, 1))), in_place ? 5 : 8);
  }
}

TEST(Execute, RefusesInputsThatDoNotFit) {
  const Schedule chain = chain_broadcast(2, 4, 1);
  EXPECT_THROW((void)execute(chain, {}), Error);
  EXPECT_THROW((void)execute(chain, inputs_of({{1, 2, 3}, {}}, ElementType::i32)), Error);
  HandMade parts{collective_of(Operation::barrier, 1, 0), {{}}};
  parts.scratch = std::int64_t{1} << 60;
  EXPECT_THROW((void)execute(make(parts), Buffers(1)), Error);
}

}  // namespace
}  // namespace collsim
