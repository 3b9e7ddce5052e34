// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/scenario/scenario.hpp"
#include "collectives/instruction.hpp"
#include "collectives/programs.hpp"

namespace collsim {

// What every rank holds before and after a collective, and after each step of it: real data, moved
// by the programs of the algorithm (collectives/execute.hpp), on few enough elements to look at.

// Numbers in memory; an unwritten element is empty.
using Numbers = std::vector<std::optional<double>>;

// A buffer as it is shown: one list, or a list of one piece per rank of the group, as all-gather
// returns and reduce-scatter takes.
struct ShownBuffer {
  std::vector<Numbers> pieces;
  bool in_pieces = false;  // false: there is exactly one piece
};

struct RankBuffers {
  Rank rank;
  bool takes_part = false;
  // Nothing: the rank has no such buffer (the input of a broadcast anywhere but at the root).
  std::optional<ShownBuffer> before;
  std::optional<ShownBuffer> after;
  // It gets no result, so what it had stays as it was (reduce and gather anywhere but at the root).
  bool unchanged = false;
  std::optional<ShownBuffer> must_be;  // only when `after` is wrong
};

// One message taken by a rank, or one thing that a rank did by itself.
//
// Steps are those of the textbook: a message takes one step, a lane sends at most one and takes at
// most one message per step, and what a message needs came in an earlier step.  Step 0 is before
// all messages.
struct BufferStep {
  std::int64_t step = 0;
  Op op{};                   // of the rank that takes it
  std::optional<Rank> from;  // who sent the message; nothing: the rank copies or reduces by itself
  Rank rank;
  // Where their lanes run: in them, or in a switch for them.
  Programs::Place from_place{}, place{};
  Numbers message;                   // what came, or what is copied
  Numbers own;                       // what the rank reduces it with; empty unless reduces(op)
  Numbers result;                    // of the reduction; empty unless reduces(op)
  std::optional<ShownBuffer> after;  // the rank's output, when this changed it
};

struct BuffersOptions {
  bool steps = false;
  std::optional<std::int64_t>
      elements;  // instead of a number that is just enough to see every piece
};

struct Buffers {
  Collective collective;  // as executed
  std::string algorithm;
  std::vector<RankBuffers> ranks;  // all of the cluster, in order
  bool steps_wanted = false;       // as in BuffersOptions
  std::vector<BufferStep> steps;   // by step, then rank; only when wanted, and for a barrier
  std::int64_t last_step = 0;      // how many steps there were, when they were recorded
  // What is not as in the scenario, so that it can be looked at: "6 elements instead of
  // 16,777,216".
  std::vector<std::string> notes;
  bool right = true;    // every rank ended with what the operation requires
  std::string problem;  // why the programs did not finish; then no rank has an `after`
};

// Stated limits on what is shown.
inline constexpr std::int64_t max_shown_numbers = 20'000'000;  // elements x ranks
inline constexpr std::int64_t max_shown_instructions = 5'000'000;
inline constexpr std::size_t max_buffer_steps = 200'000;

// Executes the schedule of a case whose algorithm is not "auto", on Case::data where there is some,
// else on whole numbers that tell who contributed: element e of rank r is 10 (r + 1) + e (a larger
// power of ten when there are more elements).  Throws Error: data that do not fit the operation,
// more elements or steps than the limits, whatever make_schedule and execute throw.
[[nodiscard]] Buffers show_buffers(const Case& one_case, const BuffersOptions& options = {});

}  // namespace collsim
