// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/schedule.hpp"

namespace collsim {

// Proves a schedule correct, or names the first instruction that is wrong.  No time is involved: a
// schedule is a deterministic process network, so one complete execution in any order proves that
// every execution completes, with the same data, whatever the timing.
//
// What is proved:
//   matching   peers exist and are other ranks, spans lie inside their buffers, the k-th send of a
//              connection and its k-th receive have the same size, nothing is left over at the end
//              (neither messages nor signals)
//   progress   no deadlock with the schedule's slots
//   data       every element of every output holds exactly the contributions that requirements()
//              asks for, each once; no lane reads unwritten memory; no lane writes an input unless
//              it is also the output.  avg, min, max and prod count as sum.
//   races      conflicting accesses of two lanes of a rank (at least one a write) are ordered by
//              signals and waits of that rank.  A round trip through another rank does not count,
//              because no executor needs to make it order memory.
//   overlap    source and destination of one instruction are the same memory or disjoint, because
//              executors work on the elements of a span in any order
//   barrier    (that operation only) the end of every rank follows the start of every rank, through
//              messages and signals; waiting for a free slot does not count
//
// How data is tracked: every position j has two secret numbers A_j and B_j modulo the prime p =
// 2^61 - 1, element o of its input is the number A_j + o B_j, and a reduction adds.  A stretch of
// memory then holds V, V + W, V + 2 W, ..., whatever it is the sum of, and can be cut anywhere: two
// numbers and a count of terms per stretch, O(1) per instruction.  The right numbers with the right
// count of terms have exactly the right contributions, except with a probability below 2^-60 per
// comparison (Schwartz-Zippel: the count excludes multiples of p).  A schedule found wrong is run
// once more with lists of contributors instead of numbers, and that run produces the report;
// `exact` uses the lists from the start.
//
// Cost O(instructions) + O(size of the requirements); memory O(lanes + messages in flight +
// stretches of memory with different contributors), never the whole schedule.  A barrier costs K/64
// words per message and lane.
enum class FaultKind : std::uint8_t {
  bad_instruction,      // an operation or a buffer that does not exist
  bad_peer,             // a rank or lane that does not exist or is the wrong one
  bad_span,             // a stretch that does not lie inside its buffer
  overlap,              // source and destination overlap but are not the same
  size_mismatch,        // a message of another size than its receiver expects
  missing_message,      // a receive whose sender has ended
  unreceived_message,   // a send whose receiver has ended
  missing_signal,       // a wait whose signaller has ended
  unreceived_signal,    // a signal without a wait
  deadlock,             // lanes that wait for each other
  unwritten_read,       // reads unwritten memory
  input_write,          // writes an input that is not also the output
  race,                 // conflicting accesses of two lanes without an order
  double_contribution,  // a reduction that adds a contribution a second time
  mixed_elements,       // a reduction of element i of one input with element j of another
  unwritten_output,     // an output element that was never written
  wrong_result,         // an output element with other contributions than required
  early_exit,           // a barrier that a rank may leave before another has come
  too_long,             // a program beyond max_instructions
};
[[nodiscard]] std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind{};
  Rank rank;
  Lane lane;
  std::int64_t step = -1;                  // place in the lane's program, from 0; -1: none to blame
  std::optional<Instruction> instruction;  // at that step
  std::string expected;
  std::string found;
  std::string text;  // one sentence for the author of the program
};

struct CheckReport {
  bool ok = false;
  std::optional<Fault> fault;     // the first one; none when ok
  std::int64_t instructions = 0;  // executed before the fault or the end
  std::int64_t messages = 0;      // sent
  Bytes wire_bytes = 0;           // in these messages
  std::int64_t most_queued = 0;  // messages on one connection at a time, in the order of this check
};

struct CheckOptions {
  bool exact = false;  // lists of contributors from the start; also refuses sums on the way that no
                       // output can need (a contribution added twice, different elements mixed)
  // Per lane.  No textbook algorithm comes near; it stops endless programs.
  std::int64_t max_instructions = 100'000'000;
  std::uint64_t seed = 0;  // of the secret numbers
};

// Never aborts and never hangs, whatever the programs yield (a program that neither yields nor ends
// is beyond help); more than 2^28 lanes in all are Error{too_large}.
[[nodiscard]] CheckReport check(const Schedule& schedule, const CheckOptions& options = {});

// The least number of slots with which the schedule runs to its end; 1 when it sends nothing; empty
// when it does not match or blocks even with unlimited slots.  The data is ignored.  More slots
// never hurt, hence bisection: at most about 2 log2(result) runs.
[[nodiscard]] std::optional<int> least_slots(const Schedule& schedule,
                                             const CheckOptions& options = {});

}  // namespace collsim
