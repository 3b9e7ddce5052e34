// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// Which links a message crosses from one rank to another: the fewest hops; among those the widest
// (largest smallest bandwidth); among those the one whose links have the smallest ids, compared
// from the start.  Other ranks are used as relays only when there is no way without.  Shapes with
// many equal ways spread them by target instead of by id (fat-tree), as real fabrics do; shapes.hpp
// says which.
//
// A Router is the mutable companion of an immutable topology: it searches once per source and
// remembers. Shapes that know their routes by arithmetic are not searched at all.
class Router {
 public:
  explicit Router(const Topology& topology) : topology_(topology) {}

  // Empty when from == to.  Error{no_route} names both ends when there is no way.
  // The span is valid until the next call.
  [[nodiscard]] std::span<const LinkId> route(Rank from, Rank to);

  // The same by searching, even where the shape knows the answer; tests compare the two.
  [[nodiscard]] std::span<const LinkId> searched_route(Rank from, Rank to);

 private:
  struct Tree {  // per source: for every node, the link through which the best route enters it
    std::vector<std::uint32_t> entering;
  };
  const Tree& tree(Rank from, bool through_ranks);

  const Topology& topology_;
  std::vector<LinkId> route_;
  std::unordered_map<std::uint64_t, Tree> trees_;
  std::vector<std::vector<LinkId>> outgoing_;
};

}  // namespace collsim
