// SPDX-License-Identifier: Apache-2.0
//
// What schedules cost without a network: generating their instructions (every rank's program is
// pulled to its end) and proving them right.
#include <benchmark/benchmark.h>

#include "bench/cases.hpp"
#include "collectives/checker.hpp"

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
           .limit = {.instructions = 23.5},
           .prepare =
               [] {
                 return [schedule = whole_machine(Operation::all_reduce, 1024, 1 << 24,
                                                  {.name = "ring"})] { return pull_all(schedule); };
               }},
          {.name = "checker/ring_all_reduce_1024",
           .item = "instructions",
           .limit = {.loops = 6},
           .prepare = [] {
             return [schedule = whole_machine(Operation::all_reduce, 1024, 1 << 24,
                                              {.name = "ring", .slots = 8})] {
               const CheckReport report = check(schedule);
               COLLSIM_CHECK(report.ok, report.fault ? report.fault->text : "no fault is given");
               return report.instructions;
             };
           }}};
}

}  // namespace collsim::bench
