// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule.hpp"

namespace collsim {

// What memory holds before anything is written to it: a large number in every type.
inline constexpr std::byte poison{0x7b};

// The memory of one rank: input, output and scratch, the first two shared as aliasing() says.
// Output and scratch start as poison.
class RankMemory {
 public:
  RankMemory(const Schedule& schedule, int position, const std::vector<std::byte>& input);

  [[nodiscard]] std::int64_t size(Buffer buffer) const { return area(buffer).count; }  // elements
  [[nodiscard]] bool contains(const Span& span) const;
  // The first byte of a span that the memory contains.
  [[nodiscard]] std::byte* at(const Span& span);
  [[nodiscard]] const std::byte* at(const Span& span) const;
  [[nodiscard]] std::vector<std::byte> copy_of(const Span& span) const;

 private:
  struct Area {
    std::size_t block = 0;    // of blocks_
    std::int64_t offset = 0;  // elements into it
    std::int64_t count = 0;
  };
  [[nodiscard]] const Area& area(Buffer buffer) const {
    return areas_[static_cast<std::size_t>(buffer)];
  }

  std::size_t element_;
  std::array<std::vector<std::byte>, 3> blocks_;
  std::array<Area, 3> areas_;  // by buffer
};

// One instruction that has just been executed.
struct ExecutedStep {
  int position = 0;
  Lane lane;
  std::int64_t step = 0;  // place in the lane's program, from 0
  const Instruction& instruction;
  const RankMemory& memory;  // of the rank, afterwards
};

struct ExecutionOptions {
  // Visit the lanes in random order, a few instructions at a time, instead of round robin.
  std::optional<std::uint64_t> visit_seed;
  std::optional<int> held_back;  // the position of a rank that never starts
  std::function<void(const ExecutedStep&)> after_each;
  std::int64_t max_instructions = 100'000'000;  // of all lanes together
};

struct ExecutionResult {
  enum class Status : std::uint8_t {
    completed,  // every program ended and nothing was left over
    stuck,      // some lanes wait forever
    invalid,    // an instruction that cannot be executed, messages that do not match
    too_long
  };
  struct StuckLane {
    int position = 0;
    Lane lane;
    std::int64_t step = 0;
    Instruction instruction;
    std::string waits_for;
  };
  Status status = Status::completed;
  std::string problem;                          // for people; empty when completed
  std::vector<std::vector<std::byte>> outputs;  // by position
  std::vector<bool> finished;                   // by position: all its programs have ended
  std::vector<StuckLane> stuck;
  std::int64_t instructions = 0;
};

// Runs the programs on real bytes, one instruction at a time in one thread: slow and simple on
// purpose, the reference for everything faster.  It shares no code with the checker.  avg is
// finished on the outputs at the end.  `inputs` holds the input of every position; Error when their
// number or sizes are wrong, or when all memory together is more than 4 GiB.
[[nodiscard]] ExecutionResult execute(const Schedule& schedule,
                                      const std::vector<std::vector<std::byte>>& inputs,
                                      const ExecutionOptions& options = {});

// What a position's output is once avg has been divided; running instructions only adds.
[[nodiscard]] std::vector<std::byte> finished_output(const Collective& collective, int position,
                                                     std::vector<std::byte> raw);

// What the output of a position must be, straight from requirements(): no program involved.
[[nodiscard]] std::vector<std::byte> expected_output(
    const Collective& collective, const std::vector<std::vector<std::byte>>& inputs, int position);

// An input for every position: random small whole numbers, chosen so that their sum or product over
// all positions is exact in the element type whatever the order (prod: ones and a few twos; sum of
// more ranks than the type counts exactly: zeros and ones).
[[nodiscard]] std::vector<std::vector<std::byte>> make_test_inputs(const Collective& collective,
                                                                   std::uint64_t seed);
// One such input.  With the same seed those of all positions go together, whatever their variants.
[[nodiscard]] std::vector<std::byte> make_test_input(const Collective& collective, int position,
                                                     std::uint64_t seed, std::uint64_t variant);

}  // namespace collsim
