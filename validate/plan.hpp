// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"
#include "collectives/workload.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

// A schedule laid out flat, ready to run for real: the only place where a whole schedule is stored.
// Steps have the simulator's numbers, so the two timelines can be compared.

// The memory of one rank, bytes: of a collective input, output and scratch, shared as aliasing()
// says; of a step that of its streams, one after the other.
struct PlannedMemory {
  std::uint64_t bytes = 0;
  std::uint64_t input = 0, output = 0,
                scratch = 0;  // where they begin, each on a 256-byte boundary
                              // unless it lies within another
  std::uint64_t input_bytes = 0, output_bytes = 0, scratch_bytes = 0;
};
[[nodiscard]] PlannedMemory memory_of(const Schedule& schedule, int position);
[[nodiscard]] int position_in(const std::vector<Rank>& group, Rank rank);

struct PlannedLane {
  std::uint32_t position = 0;  // of the rank in the group
  std::uint32_t lane = 0;
  std::uint32_t first_step = 0;
  std::uint32_t step_count = 0;
  std::uint32_t first_line = 0;  // of a step
  std::uint32_t line_count = 0;
};

// A connection without its pointers.
struct PlannedWire {
  std::uint32_t sender = 0;    // numbers of lanes in Plan::lanes
  std::uint32_t receiver = 0;  // likewise; equal ranks: signals only
  std::uint32_t messages = 0;
  std::uint32_t slots = 0;  // 0: signals only
  std::uint64_t slot_bytes = 0;

  // For how many messages or signals a paced run writes down a time.
  [[nodiscard]] std::uint64_t moments() const { return slots > 0 ? slots : messages; }
};

// A line of a script and the steps with which a lane carries it out, [first, end): the part of a
// call that is a communicator's lane's, too.
struct PlannedLine {
  StreamLine line;         // with the steps of its stream
  std::uint32_t call = 0;  // a call: which of its communicator on this rank, from 1
  std::uint32_t first = 0, end = 0;
  std::uint64_t at = 0;  // where its data are in the memory of the rank
};

struct Plan {
  Programs programs;
  std::optional<Schedule> schedule;  // of one collective ...
  std::optional<Workload> workload;  // ... or a step
  Protocol protocol = Protocol::simple;
  std::vector<PlannedMemory> memory;  // by position
  std::vector<PlannedLane> lanes;     // by position, then lane; lanes without steps are omitted
  std::vector<PlannedWire> wires;
  std::vector<LaneStep> steps;            // lane after lane
  std::vector<Instruction> instructions;  // as they were, for timelines and diagnostics
  std::vector<PlannedLine> lines;         // of a step, lane after lane

  [[nodiscard]] std::uint64_t bytes() const;  // of all ranks' memory and slots
};

struct PlanLimits {
  std::uint64_t bytes = std::uint64_t{4} << 30U;  // of all ranks' memory and slots together
  std::uint64_t steps = 8'000'000;
};

// A connection has as many slots as the schedule says; without a limit as many as it has messages,
// so that no sender ever waits.
//
// Error{bad_schedule}: a span outside its buffer, a peer that does not exist or never does
// anything, messages whose two ends differ in size.  Error{too_large}: beyond the limits; the
// message says which and what would help.  Whether the schedule is correct is not checked here
// (check() of collectives/checker.hpp and workload_checker.hpp does that), so a plan may wait
// forever; the backend that runs it must time out.
[[nodiscard]] Plan make_plan(const Schedule& schedule, Protocol protocol,
                             const PlanLimits& limits = {});
[[nodiscard]] Plan make_plan(const Workload& workload, Protocol protocol,
                             const PlanLimits& limits = {});

// "rank 3 lane 0 step 17 (receive) waited 1 s for message 5 from rank 2 lane 0: 4 had come".  The
// first message of a run has number 0.  Of a step: "rank 3 stream comm, all-reduce of world (call
// 2), step 17 (receive) waited 1 s for ..."
[[nodiscard]] std::string describe(const Trouble& trouble, const Plan& plan, double waited_s);

// "rank 3 stream comm, all-reduce of world (call 2)".
[[nodiscard]] std::string name_of_line(const Plan& plan, int position, const PlannedLine& line);

// The measured timeline of a run: times relative to `start` (one per lane, on the lane's clock).
[[nodiscard]] Timeline measured_timeline(const Plan& plan, const std::vector<StepTimes>& times,
                                         const std::vector<std::uint64_t>& starts);

}  // namespace collsim
