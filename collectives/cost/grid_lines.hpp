// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collectives/cost/divisions.hpp"

namespace collsim {

// The sizes of the dimensions, slowest first, of a network in which all devices are ranks and every
// link joins neighbours in one dimension, around the end or not: Topology::dims(), one line, or
// twos.  Empty when it is none of these.  O(links).
[[nodiscard]] std::vector<std::size_t> grid_dims(const Topology& topology);

struct GridStep {
  std::size_t dimension = 0;
  std::size_t from = 0;  // the place, in this dimension, of the lower end (or the last, round)
  bool up = false;
};

// Which two places a link joins, if they are neighbours in one dimension and equal in the others.
[[nodiscard]] std::optional<GridStep> grid_step(const Link& link,
                                                const std::vector<std::size_t>& dims);

// Neighbouring places of one dimension, with all ranks in them; `to` may be before `from`, around
// the end.  Their block has number 0, all others are in none.
struct GridLine {
  std::size_t dimension = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  BlockOfDevice block_of_device;
};

// Of every dimension the one that is narrowest, and the one that is narrowest for the pairs of
// members that it separates.  Nothing where grid_dims() is empty.
[[nodiscard]] std::optional<std::vector<GridLine>> narrow_lines(const Topology& topology,
                                                                std::span<const Rank> group);

}  // namespace collsim
