// SPDX-License-Identifier: Apache-2.0
//
// The cost of generating instructions alone: every rank's program is pulled to its end.
#include <benchmark/benchmark.h>

#include "bench/cases.hpp"

namespace collsim::bench {

namespace {

std::int64_t pull_all(const Schedule& schedule) {
  std::int64_t instructions = 0;
  for (int position = 0; position < schedule.size(); ++position) {
    LaneProgram program = schedule.program(position, Lane(0));
    while (const Instruction* instruction = program.next()) {
      benchmark::DoNotOptimize(instruction->count);
      ++instructions;
    }
  }
  return instructions;
}

}  // namespace

std::vector<Case> program_cases() {
  return {{.name = "ring_program/1024",
           .item = "instructions",
           .limit = {.instructions = 104},
           .prepare = [] {
             return [schedule = whole_machine(Operation::all_reduce, 1024, 1 << 24,
                                              {.name = "ring"})] { return pull_all(schedule); };
           }}};
}

}  // namespace collsim::bench
