// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

namespace collsim {

// Butterflies pair ranks by the bits of their numbers and so need a power of two.  Other counts K
// fold: with p the largest power of two in K, each of the first K - p odd positions lets its even
// neighbour (2i for 2i+1) act for it, and the p that remain are numbered 0 .. p-1 in order.
//
//   K = 6, p = 4:   position 0 1 | 2 3 | 4 | 5      1 and 3 sit out
//                   index    0     1     2   3
struct Folding {
  Folding(int ranks, int position)
      : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - core),
        paired(position < 2 * extra),
        sits_out(paired && position % 2 == 1),
        neighbour(position % 2 == 1 ? position - 1 : position + 1),
        index(paired ? position / 2 : position - extra) {}

  [[nodiscard]] int position(int of_index) const {
    return of_index < extra ? 2 * of_index : of_index + extra;
  }

  int core;       // p
  int extra;      // K - p
  bool paired;    // I act for my neighbour, or it for me
  bool sits_out;  // it for me
  int neighbour;  // meaningful where paired
  int index;      // mine among the p; that of my neighbour where I sit out
};

// Where the aligned group of `size` positions (a power of two) starts in which `position` is.
[[nodiscard]] constexpr int aligned(int position, int size) {
  return position / size * size;
}

}  // namespace collsim
