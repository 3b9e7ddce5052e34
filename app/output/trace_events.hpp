// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <variant>

#include "collectives/timeline.hpp"
#include "sim/simulate.hpp"

namespace collsim {

class Workload;

// A simulated run as a trace that chrome://tracing and ui.perfetto.dev draw:
//
//   Summary   the whole collective; the critical path, cause by cause
//   Links     every link that carried something, each direction by itself: who held it, when, and
//             with which piece of the data (collectives/pieces.hpp).
//             Messages that share a fair link overlap and are drawn below each other
//   Ranks     (one process per node where there are nodes) one thread per lane: every instruction
//             from the moment the lane came to it until it ended; inside, what it waited for and
//             when it worked, where it did both.  Around them the collective, with the arguments
//             that PyTorch's profiler gives ("Collective name", "In msg nelems", ...)
//
// A workload has a thread for every stream, with what the rank asked for as slices, and one for
// every lane of a communicator, with the instructions inside of the collective.  These, and
// messages, are left out where there would be too many events.
//
// A measured run (measured_trace.hpp) has no critical path, and links only where they were
// emulated.
//
// Arrows lead from the instruction that sent a message to the one that received it.
enum class Arrows : std::uint8_t { none, critical, all };  // critical: of messages on that path

struct TraceOptions {
  Arrows arrows = Arrows::critical;
  // Names do not count.  Where there are more events, what begins late is left out; an instruction
  // that sends belongs to the moment at which its message starts.
  std::uint64_t max_events = 1'000'000;
};

struct TraceInput {
  const Topology& topology;
  std::variant<const Schedule*, const Workload*> of;
  const Simulation& simulation;  // fully recorded, or Error{invalid_argument}
  std::string title;             // of the scenario
  std::string measured = {};     // how it was measured; empty: it was simulated
};

struct TraceSummary {
  std::uint64_t events = 0;      // written
  std::uint64_t left_out = 0;    // by max_events
  bool inside_left_out = false;  // of a workload: what is inside of collectives, and messages
  Time shown_until;              // what begins at this moment or later was left out
};

// Writes as it goes: never the whole trace in memory.  The same bytes every time.
TraceSummary write_trace(std::ostream& out, const TraceInput& input,
                         const TraceOptions& options = {});

// A measured timeline in the form in which write_trace() takes simulated ones: each message with
// its receiver, and the time at which every rank had finished.  Everything else of a simulation is
// empty.
[[nodiscard]] Simulation as_simulation(const Programs& programs, Timeline timeline);

}  // namespace collsim
