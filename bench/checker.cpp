// SPDX-License-Identifier: Apache-2.0
//
// Proving the ring all-reduce right.
#include "collectives/checker.hpp"

#include "bench/cases.hpp"
#include "topo/error.hpp"

namespace collsim::bench {

std::vector<Case> checker_cases() {
  return {{.name = "checker/ring_all_reduce_1024",
           .item = "instructions",
           .limit = {.loops = 4},
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
