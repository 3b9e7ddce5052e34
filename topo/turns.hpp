// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topo/ids.hpp"

namespace collsim {

// Renamings of ranks that leave everything unchanged, so that few ranks can stand for all.
//
// Ranks are numbers written with digits, the slowest first: rank = (d0 * size1 + d1) * size2 + d2
// ...  A turn adds a multiple of its step to every digit, each modulo its size, without carrying,
// or mirrors a digit: d becomes size - 1 - d.  All turns together are a group:
//
//   one digit {K}            rotation: rank i is to rank i+d what rank 0 is to rank d (mod K)
//   log2 K digits {2, 2 ...} exchange: rank i is to rank i xor d what rank 0 is to rank d
//   {nodes, GPUs of a node}  what a GPU is to its own and the next node, it is everywhere
//
// A digit whose step is its size is not added to.
struct TurnDigit {
  std::uint32_t size = 1;
  std::uint32_t step = 1;  // divides size
  // In a network: not only turns but all permutations of this digit leave it unchanged (ports of a
  // switch), so that it may be read as several digits, each with turns of its own.
  bool permutes = false;
  // In a schedule: may be mirrored, where it is one whole digit of a network that permutes.  Its
  // size is even, and its step is its size.
  bool mirrors = false;
};

class Turns {
 public:
  // One digit that may come from a part of a network's digit: the number of that.
  struct Digit {
    std::uint32_t size = 1;
    std::uint32_t step = 1;
    std::uint32_t of_network = 0;
    bool mirrors = false;
    [[nodiscard]] std::uint32_t turns() const { return mirrors ? 2 : size / step; }
  };

  // Those that leave both a network and a schedule unchanged; digits of one may be parts of digits
  // of the other.  None but the identity (order() == 1) where they do not fit.
  [[nodiscard]] static Turns common(const std::vector<TurnDigit>& network,
                                    const std::vector<TurnDigit>& schedule);

  [[nodiscard]] std::size_t order() const { return order_; }
  [[nodiscard]] const std::vector<Digit>& digits() const { return digits_; }

  // The smallest rank into which `rank` can be turned, of a mirrored digit in the lower half: that
  // which stands for it.
  [[nodiscard]] Rank representative(Rank rank) const { return turned(rank, rank); }
  // `rank` after the turn that takes `by` to its representative.
  [[nodiscard]] Rank turned(Rank rank, Rank by) const;

 private:
  std::vector<Digit> digits_;  // slowest first
  std::size_t order_ = 1;
};

// Where a link lies: links of one kind are alike, and a turn takes the one at a rank to the one at
// the turned rank.
struct LinkPlace {
  std::uint32_t kind = 0;
  Rank at;
  std::uint32_t without = 0;  // bits: the network's digits of `at` that do not matter, and are 0
};

}  // namespace collsim
