// SPDX-License-Identifier: Apache-2.0
#include "tests/collectives/schedules_for_tests.hpp"

#include <memory>
#include <utility>

#include "collectives/execute.hpp"

namespace collsim::test_schedules {

namespace {

Program play(std::shared_ptr<const ListedPrograms> programs, std::size_t lane) {
  for (const Instruction& instruction : (*programs)[lane]) co_yield instruction;
}

Schedule::ProgramFactory player(ListedPrograms programs, int lanes) {
  auto shared = std::make_shared<const ListedPrograms>(std::move(programs));
  return [shared, lanes](int position, Lane lane) {
    return play(shared, static_cast<std::size_t>(position) * static_cast<std::size_t>(lanes) +
                            lane.index());
  };
}

Schedule::Parts parts_of(const Schedule& schedule) {
  Schedule::Parts parts;
  parts.collective = schedule.collective();
  parts.algorithm = schedule.algorithm();
  parts.lanes = schedule.lanes();
  parts.slots = schedule.slots();
  parts.scratch_count = [schedule](int position) { return schedule.scratch_count(position); };
  parts.program = [schedule](int position, Lane lane) { return schedule.program(position, lane); };
  return parts;
}

std::string judge_data(const Schedule& schedule) {
  const Collective& collective = schedule.collective();
  const auto inputs = make_test_inputs(collective, 1);
  for (const std::uint64_t seed : {0, 1, 2}) {
    ExecutionOptions options;
    if (seed > 0) options.visit_seed = seed;
    options.max_instructions = 1'000'000;
    const ExecutionResult result = execute(schedule, inputs, options);
    if (!result.problem.empty()) return result.problem;
    for (int position = 0; position < schedule.size(); ++position)
      if (result.outputs[static_cast<std::size_t>(position)] !=
          expected_output(collective, inputs, position))
        return "wrong output at position " + std::to_string(position);
  }
  return "";
}

std::string judge_barrier(const Schedule& schedule) {
  for (int absent = 0; absent < schedule.size(); ++absent) {
    ExecutionOptions options;
    options.held_back = absent;
    const auto inputs = make_test_inputs(schedule.collective(), 1);
    const ExecutionResult result = execute(schedule, inputs, options);
    for (int position = 0; position < schedule.size(); ++position)
      if (result.finished[static_cast<std::size_t>(position)])
        return "position " + std::to_string(position) + " leaves without " + std::to_string(absent);
  }
  return "";
}

}  // namespace

Schedule make(HandMade hand_made) {
  Schedule::Parts parts;
  parts.collective = std::move(hand_made.collective);
  parts.algorithm = "hand-made";
  parts.lanes = hand_made.lanes;
  parts.slots = hand_made.slots;
  parts.scratch_count = [scratch = hand_made.scratch](int) { return scratch; };
  parts.program = player(std::move(hand_made.programs), hand_made.lanes);
  return Schedule(std::move(parts));
}

ListedPrograms record(const Schedule& schedule) {
  ListedPrograms programs;
  for (int position = 0; position < schedule.size(); ++position) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      auto& list = programs.emplace_back();
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      while (const Instruction* instruction = program.next()) list.push_back(*instruction);
    }
  }
  return programs;
}

Schedule replay(const Schedule& like, ListedPrograms programs) {
  return like.with_programs(player(std::move(programs), like.lanes()));
}

Schedule pretend_in_place(const Schedule& schedule, bool in_place) {
  Schedule::Parts parts = parts_of(schedule);
  parts.collective.in_place = in_place;
  return Schedule(std::move(parts));
}

Schedule ring_all_reduce(int ranks, std::int64_t count, bool in_place) {
  ListedPrograms programs;
  for (int me = 0; me < ranks; ++me) {
    const Endpoint next = at((me + 1) % ranks);
    const Endpoint previous = at((me + ranks - 1) % ranks);
    const auto block = [&](int i) { return input(0, count).piece((i + 2 * ranks) % ranks, ranks); };
    auto& list = programs.emplace_back();
    if (ranks == 1) {
      list = {copy(block(0), output(0, count))};
      continue;
    }
    list.push_back(send(next, block(me)));
    for (int hop = 1; hop < ranks - 1; ++hop)
      list.push_back(receive_reduce_send(previous, block(me - hop), next));
    const Span mine = block(me + 1);
    list.push_back(receive_reduce_store_send(previous, mine, mine.in(Buffer::output), next));
    for (int hop = 0; hop < ranks - 2; ++hop)
      list.push_back(receive_send(previous, block(me - hop).in(Buffer::output), next));
    list.push_back(receive(previous, block(me + 2).in(Buffer::output)));
  }
  return make(
      {in_place_if(in_place, collective_of(Operation::all_reduce, ranks, count, ElementType::i32)),
       programs});
}

Schedule chain_broadcast(int ranks, std::int64_t count, int chunks) {
  ListedPrograms programs(static_cast<std::size_t>(ranks));
  for (int me = 0; me < ranks; ++me) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Span from = input(0, count).piece(chunk, chunks);
      const Span to = from.in(Buffer::output);
      auto& list = programs[static_cast<std::size_t>(me)];
      if (me == 0)
        list.push_back(ranks == 1 ? copy(from, to) : copy_send(from, to, at(1)));
      else if (me == ranks - 1)
        list.push_back(receive(at(me - 1), to));
      else
        list.push_back(receive_send(at(me - 1), to, at(me + 1)));
    }
  }
  return make({collective_of(Operation::broadcast, ranks, count, ElementType::i32), programs});
}

Schedule two_lane_all_reduce(int ranks, std::int64_t count, int chunks) {
  ListedPrograms programs;
  for (int me = 0; me < ranks; ++me) {
    std::vector<Instruction> up;
    std::vector<Instruction> down;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Span mine = input(0, count).piece(chunk, chunks);
      const Span sum = mine.in(Buffer::output);
      if (me == ranks - 1) {
        up.push_back(receive_reduce(at(me - 1), mine, sum));
        up.push_back(signal(at(me, 1)));
        down.push_back(wait(at(me, 0)));
        down.push_back(send(at(me - 1, 1), sum));
      } else {
        up.push_back(me == 0 ? send(at(1), mine)
                             : receive_reduce_send(at(me - 1), mine, at(me + 1)));
        down.push_back(me == 0 ? receive(at(1, 1), sum)
                               : receive_send(at(me + 1, 1), sum, at(me - 1, 1)));
      }
    }
    programs.push_back(up);
    programs.push_back(down);
  }
  return make({collective_of(Operation::all_reduce, ranks, count, ElementType::i32), programs, 2});
}

Schedule direct_barrier(int ranks) {
  ListedPrograms programs(static_cast<std::size_t>(ranks));
  for (int me = 0; me < ranks; ++me) {
    auto& list = programs[static_cast<std::size_t>(me)];
    for (int other = 0; other < ranks; ++other)
      if (other != me) list.push_back(send(at(other), input(0, 0)));
    for (int other = 0; other < ranks; ++other)
      if (other != me) list.push_back(receive(at(other), output(0, 0)));
  }
  return make({collective_of(Operation::barrier, ranks, 0), programs});
}

std::string judge(const Schedule& schedule) {
  const std::string wrong = judge_data(schedule);
  if (!wrong.empty() || schedule.collective().operation != Operation::barrier) return wrong;
  return judge_barrier(schedule);
}

}  // namespace collsim::test_schedules
