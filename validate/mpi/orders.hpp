// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/backend.hpp"
#include "validate/lane_job.hpp"
#include "validate/mpi/mpi_team.hpp"
#include "validate/mpi/processes.hpp"
#include "validate/note.hpp"
#include "validate/plan.hpp"

namespace collsim {

// Process 0 is the program: it reads the files, predicts, and gives orders to all processes,
// itself included.  Each carries one out and reports.

enum class OrderKind : std::uint32_t {
  end,        // end with `exit_code`
  load,       // the note is a PlanPart, the report's the names of the GPUs if there are any; what
              // was loaded before is gone
  fill,       // inputs of `seed`, everything else poison
  run,        // begin at start_ns; with `record`, write down the times of steps
  check,      // the outputs; the report's note is the first difference, or empty
  timeline,   // the report's note is a PartTimes
  answer,     // so many notes with the time, from which process 0 learns how clocks are set
  own,        // the collective of the MPI library itself, at start_ns
  check_own,  // as check, of what that gave
  on_gpus     // the note is a GpuWork, for which processes talk to each other
};

struct Order {
  OrderKind kind = OrderKind::end;
  Idle idle = Idle::spin;
  std::uint32_t record = 0;
  std::int32_t exit_code = 0;
  std::uint32_t answers = 0;
  std::uint64_t seed = 0;
  std::uint64_t start_ns = 0;  // on the clock of the process that gets the order
  std::uint64_t patience_ns = 0;
  std::uint64_t note_bytes = 0;  // of the note that follows
};

enum class Outcome : std::uint32_t {
  done,
  stuck,  // `trouble` says where
  failed  // the note says why
};

struct Report {
  Outcome outcome = Outcome::done;
  std::uint64_t late_ns = 0;  // after start_ns, when the order came: the run says nothing
  std::uint64_t took_ns = 0;  // from start_ns to the end of the last lane
  Trouble trouble;
  NoMeasurement::Why why = NoMeasurement::Why::failed;  // if it has
  std::uint64_t note_bytes = 0;                         // of the note that follows
};

// What a process says about itself at the start.
struct Introduction {
  std::string program;  // version and arguments
  std::string host, clock;
  std::int64_t pid = 0;
  std::uint64_t cores = 0;
};

// What one process needs of a plan: of the steps those of its own lanes, which first_step counts;
// a lane of another process has none.
struct PlanPart {
  Collective collective;
  int processes = 1;  // that have ranks
  std::vector<PlannedMemory> memory;
  std::vector<PlannedLane> lanes;
  std::vector<PlannedWire> wires;
  std::vector<LaneStep> steps;
  std::vector<TeamMember> on_gpus;  // all of the job; empty: data are in memory of the host
};

// Neighbouring ranks live in the same process when there are more ranks than processes.
[[nodiscard]] int process_of(std::size_t position, std::size_t ranks, int processes);

void put(NoteWriter& writer, const Collective& collective);
[[nodiscard]] Collective get_collective(NoteReader& reader);
void put(NoteWriter& writer, const std::vector<TeamMember>& members);
[[nodiscard]] std::vector<TeamMember> get_members(NoteReader& reader);
[[nodiscard]] Note note_of(const Introduction& introduction);
[[nodiscard]] Introduction introduction_from(const Note& note);
[[nodiscard]] Note note_of_part(const Plan& plan, int process, int processes,
                                const std::vector<TeamMember>& on_gpus);
[[nodiscard]] PlanPart part_from(const Note& note);

// All of a plan but what its instructions were.
void put(NoteWriter& writer, const Plan& plan);
[[nodiscard]] Plan get_plan(NoteReader& reader);

}  // namespace collsim
