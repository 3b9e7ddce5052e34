// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

// A schedule laid out flat, ready to run for real: the only place where a whole schedule is stored.
// Steps have the simulator's numbers, so the two timelines can be compared.

// The memory of one rank: input, output and scratch, shared as aliasing() says; bytes.
struct PlannedMemory {
  std::uint64_t bytes = 0;
  std::uint64_t input = 0, output = 0,
                scratch = 0;  // where they begin, each on a 256-byte boundary
                              // unless it lies within another
  std::uint64_t input_bytes = 0, output_bytes = 0;
};

struct PlannedLane {
  std::uint32_t position = 0;  // of the rank in the group
  std::uint32_t lane = 0;
  std::uint32_t first_step = 0;
  std::uint32_t step_count = 0;
};

// A connection without its pointers.
struct PlannedWire {
  std::uint32_t sender = 0;    // numbers of lanes in Plan::lanes
  std::uint32_t receiver = 0;  // likewise; equal ranks: signals only
  std::uint32_t messages = 0;
  std::uint32_t slots = 0;  // 0: signals only
  std::uint64_t slot_bytes = 0;
};

struct Plan {
  Schedule schedule;
  Protocol protocol = Protocol::simple;
  std::vector<PlannedMemory> memory;  // by position
  std::vector<PlannedLane> lanes;     // by position, then lane; lanes without steps are omitted
  std::vector<PlannedWire> wires;
  std::vector<LaneStep> steps;            // lane after lane
  std::vector<Instruction> instructions;  // as they were, for timelines and diagnostics

  [[nodiscard]] std::uint64_t bytes() const;  // of all ranks' memory and slots
};

struct PlanLimits {
  std::uint64_t bytes = std::uint64_t{4} << 30U;  // of all ranks' memory and slots together
  std::uint64_t steps = 8'000'000;
};

// A connection has as many slots as the schedule says; without a limit as many as it has messages,
// so that no sender ever waits.
//
// Error{bad_schedule}: a span outside its buffer, a peer that does not exist, messages whose two
// ends differ in size.  Error{too_large}: beyond the limits; the message says which and what would
// help.  Whether the schedule is correct is not checked here (check() of collectives/checker.hpp
// does that), so a plan may wait forever; the backend that runs it must time out.
[[nodiscard]] Plan make_plan(const Schedule& schedule, Protocol protocol,
                             const PlanLimits& limits = {});

// "rank 3 lane 0 step 17 (receive) waited 1 s for message 5 from rank 2 lane 0: 4 had come".  The
// first message of a run has number 0.
[[nodiscard]] std::string describe(const Trouble& trouble, const Plan& plan, double waited_s);

// The measured timeline of a run: times relative to `start` (one per lane, on the lane's clock).
[[nodiscard]] Timeline measured_timeline(const Plan& plan, const std::vector<StepTimes>& times,
                                         const std::vector<std::uint64_t>& starts);

}  // namespace collsim
