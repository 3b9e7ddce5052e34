// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/cost/cuts.hpp"

namespace collsim {

// Of the cuts that NetworkCuts has for all ranks of a ring, torus, hypercube or switch with links
// that are all alike, those that can be the narrowest.  What is true of one rank is true of all, so
// none but the first few are looked at.
struct UniformCuts {
  // Its block: the ranks r with r / stride % places < length.
  struct Line {
    std::size_t stride;
    std::size_t places;
    std::size_t length;
    std::uint64_t links;  // that leave it, and as many enter it

    [[nodiscard]] std::uint64_t ranks_below(std::size_t rank) const;  // those in the block
  };
  std::uint64_t links_of_rank = 0;
  std::vector<Line> lines;
  Surroundings around;
  Boundary link;  // with one out and one in

  [[nodiscard]] Boundary border(std::uint64_t links) const;
};

// Nothing for other networks, and where Topology::turnings() do not say that ranks are alike.
[[nodiscard]] std::optional<UniformCuts> uniform_cuts(const Topology& topology);

}  // namespace collsim
