// SPDX-License-Identifier: Apache-2.0
//
// What schedules cost without a network: generating their instructions (every rank's program is
// pulled to its end), proving them right, and the sums of real runs.
#include <benchmark/benchmark.h>

#include <span>

#include "bench/cases.hpp"
#include "collectives/checker.hpp"
#include "collectives/element.hpp"

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
           .prepare =
               [] {
                 return [schedule = whole_machine(Operation::all_reduce, 1024, 1 << 24,
                                                  {.name = "ring", .slots = 8})] {
                   const CheckReport report = check(schedule);
                   COLLSIM_CHECK(report.ok,
                                 report.fault ? report.fault->text : "no fault is given");
                   return report.instructions;
                 };
               }},
          {.name = "sum/f32", .item = "elements", .limit = {.instructions = 1.9}, .prepare = [] {
             const auto values = std::make_shared<std::vector<float>>(4096, 1.0F);
             return [values] {
               constexpr std::int64_t rounds = 1000, half = 2048;
               const std::span<std::byte> bytes = std::as_writable_bytes(std::span(*values));
               for (std::int64_t round = 0; round < rounds; ++round)
                 reduce_elements(ElementType::f32, Reduction::sum, bytes.data(),
                                 bytes.data() + bytes.size() / 2, half);
               return rounds * half;
             };
           }}};
}

}  // namespace collsim::bench
