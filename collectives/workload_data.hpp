// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/script.hpp"

namespace collsim {

// Neighbouring items of a rank's memory.
struct Items {
  std::uint32_t begin = 0, end = 0;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  bool operator==(const Items&) const = default;
};

// What one line of a script reads and writes.
//
//   work, update   written items follow from all that is read
//   send           a message holds what is read, until the stream's next drain has ended
//   receive        the message is written, item by item
//   collective     item i of what is written follows from item i of what all members read: their
//                  sum or mean, the part that is this member's, all parts put together, ...
struct Uses {
  std::vector<Items> reads, writes;
};

// What the ranks of a workload compute with, for proofs (workload_checker.hpp): no time depends on
// it.  A rank's memory is a number of items (tensors, buffers), each used as a whole.
struct WorkloadData {
  // What must hold after the step.
  struct Claim {
    enum class Kind : std::uint8_t {
      same,          // `items` are the same on all ranks of a group
      mean,          // the optimizer has read (none: memory holds) the mean of what work last wrote
                     // to `of` on the ranks of a group, each counted once
      part_of_mean,  // the same, of which each rank has its part
      sum            // the first rank of a group has the sum in place of the mean
    };
    Kind kind = Kind::same;
    Items items{};
    std::uint32_t of = 0;  // the first item, as many as in `items`
    std::vector<std::vector<Rank>> groups;
    std::size_t parts = 0;  // of a mean, which the ranks have in turns; 0: as many as ranks
  };

  std::uint32_t items = 0;  // of every rank
  // Adds what the line uses to `uses`, which are empty.
  std::function<void(Rank rank, const Action& line, Uses& uses)> uses;
  std::function<std::string(std::uint32_t item)> name;
  // Whether a stream stands for what is asynchronous, which its author waits for by a handle.
  std::function<bool(std::uint16_t stream)> is_asynchronous = [](std::uint16_t) { return false; };
  // What an item is at the start: equal numbers for what is the same on several ranks; 0: nothing.
  // Needed for claims only.
  std::function<std::uint64_t(Rank rank, std::uint32_t item)> initial;
  std::vector<Claim> claims;
};

}  // namespace collsim
