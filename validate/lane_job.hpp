// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "collectives/element.hpp"
#include "collectives/instruction.hpp"

namespace collsim {

// What a lane needs to run: plain data with pointers into memory that it can reach, the same for a
// CPU thread and a GPU thread block.  make_plan() (plan.hpp) knows everything but the pointers; a
// backend lays out the memory and fills them in.

inline constexpr std::uint32_t no_wire = std::numeric_limits<std::uint32_t>::max();

// How a message announces its arrival.
//   simple  The sender writes the data, then counts the message in `tail`; the receiver waits for
//           the count.  Full bandwidth, a round of barriers per message.
//   ll      (low latency) Each 8 bytes of data travel in a line of 16 that also holds the number of
//           the message; the receiver waits for each line separately.  Half the bandwidth, no
//           barrier.
enum class Protocol : std::uint8_t { simple, ll };

// A 16-byte line of `ll`: two words, each 4 bytes of data below and the message's number above.
struct alignas(16) LowLatencyLine {
  std::uint64_t words[2];
};
inline constexpr std::uint64_t low_latency_data = 8;  // bytes of data in a line

// One instruction, with everything looked up.
struct LaneStep {
  std::uint64_t source = 0;        // bytes from the start of the rank's memory
  std::uint64_t destination = 0;   // likewise
  std::uint64_t bytes = 0;         // the same for source, destination and message; of work: ns
  std::uint32_t from = no_wire;    // the wire it receives (or waits) on
  std::uint32_t to = no_wire;      // the wire it sends (or signals) on
  std::uint32_t from_message = 0;  // which message of that wire, from 0
  std::uint32_t to_message = 0;
  Op op = Op::copy;
  ElementType type = ElementType::u8;  // of what is combined, and how
  Reduction reduction = Reduction::sum;
};

// A connection between two lanes.  Each counter has its own 128-byte line in the memory of the lane
// that polls it, and keeps counting from run to run, so that a captured launch can be replayed:
// message k of run r has number r * messages + k, and its data is in slot number % slots.  A
// connection for signals has no slots: its sender never waits.
struct Wire {
  std::uint64_t* tail = nullptr;  // messages written in total; the receiver polls
  std::uint64_t* head = nullptr;  // messages consumed in total; the sender polls
  std::byte* data = nullptr;      // the slots, on the receiver's side
  // Paced, on GPUs, ns: per slot, when its message arrives or, once that has been taken out, when
  // the slot was free again; without slots, when each signal of a run was given.
  std::uint64_t* arrivals = nullptr;
  std::uint64_t slot_bytes = 0;  // from one slot to the next
  std::uint32_t slots = 0;
  std::uint32_t messages = 0;  // of one run
};

// A paced wire, as GPUs know it: no message arrives earlier than over the emulated links of its
// route, one after the other.  A message of n bytes begins on a link when its head is there and the
// link is free, keeps it busy for startup + n ns_per_byte, and its head is at the next link
// `latency` after it began.  A wire's fair links count as one, the last of the route: their startup
// comes first and occupies nothing.
struct PacedLink {
  double startup_ns = 0;
  double ns_per_byte = 0;
  double latency_ns = 0;
  std::uint32_t resource = 0;
  bool startup_is_delay = false;
};
struct PacedWire {
  std::uint32_t first_link = 0;  // in PacedLinks::route_links
  std::uint32_t link_count = 0;
};
struct PacedLinks {
  const PacedWire* wires = nullptr;        // per wire
  const PacedLink* route_links = nullptr;  // links of all routes, one after the other
  double* free_at = nullptr;               // per resource, ns
  std::uint64_t* lock = nullptr;           // taken while free_at is read and written
  double instruction_overhead_ns = 0;      // what instructions cost beyond links
  double copy_ns_per_byte = 0;
  double reduce_ns_per_byte = 0;
  double second_write_ns_per_byte = 0;
};

// When things happened, ns on the lane's own clock; 0: never.
struct StepTimes {
  std::uint64_t reached = 0;   // the lane came to this instruction
  std::uint64_t began = 0;     // message and free slot were available
  std::uint64_t ended = 0;     // the lane goes on
  std::uint64_t departed = 0;  // paced: the message begins on its first link ...
  std::uint64_t left = 0;      // ... has left it ...
  std::uint64_t arrives = 0;   // ... and arrives
};
struct LaneTimes {
  std::uint64_t start = 0;  // all lanes had come together
  std::uint64_t end = 0;
  std::uint64_t left = 0;  // paced: when all that was sent so far has left
  std::uint64_t lag = 0;   // paced: how much earlier the lane ended on the emulated machine
};

// Why a run stalled; written once, by the first lane to time out.
//   lines   a message of `ll`, whose lines arrive one by one: nothing is counted
//   links   the lock of the emulated links
//   gpu     what it had begun there
enum class WaitKind : std::uint32_t { nothing, start, message, lines, slot, signal, links, gpu };
struct Trouble {
  std::uint64_t claimed = 0;  // 1: being written, or written
  WaitKind kind = WaitKind::nothing;
  std::uint32_t lane = 0;  // number of the job
  std::uint32_t step = 0;
  std::uint32_t wire = no_wire;
  std::uint64_t wanted = 0;  // the count waited for ...
  std::uint64_t seen = 0;    // ... and the actual one
};

// What all lanes of a run share.
struct RunShared {
  std::uint64_t arrived = 0;  // lanes that have reached the start, in total
  alignas(128) std::uint64_t runs_started = 0;
  std::uint64_t start_at = 0;            // ns; lanes with one clock start together
  alignas(128) std::uint64_t abort = 0;  // not 0: all lanes stop
  Trouble trouble;
};

// One lane's part of one run.
struct LaneJob {
  const LaneStep* steps = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t number = 0;     // among all lanes
  std::uint32_t lanes = 0;      // of all ranks
  std::byte* memory = nullptr;  // of the rank
  const Wire* wires = nullptr;
  RunShared* shared = nullptr;
  // Whose abort word and trouble apply; null: those of `shared`. A GPU's are in host memory, which
  // the host can read and write while the GPU runs.
  RunShared* verdict = nullptr;
  std::uint64_t* run = nullptr;  // how many runs this lane has ended
  LaneTimes* times = nullptr;
  StepTimes* step_times = nullptr;    // one per step; null: not recorded
  const PacedLinks* paced = nullptr;  // on GPUs; null: unpaced
  std::uint64_t late_ns = 0;          // starts this much later than the others
  std::uint64_t start_lead_ns = 0;    // time for all lanes to wake up before the common start
  std::uint64_t patience_ns = 1'000'000'000;  // the longest legitimate wait
};

}  // namespace collsim
