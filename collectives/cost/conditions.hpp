// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "collectives/algorithms.hpp"
#include "collectives/cost/formula.hpp"
#include "collectives/cost/uniform_network.hpp"

namespace collsim {

// A case for which a cost is asked.
struct CostCase {
  const Collective& collective;
  const AlgorithmChoice& choice;
  UniformNetwork::Kind network;
  bool in_order;  // position i is rank i
  FormulaSymbols symbols;

  // Of the level, where an algorithm works level by level.
  [[nodiscard]] int ranks() const { return static_cast<int>(symbols.K); }
  [[nodiscard]] bool on_ports() const { return network == UniformNetwork::Kind::ports; }
};

// Conditions under which formulas hold, for Cost::holds.
namespace when {

// Several conditions as one: all_of<one_chunk, power_of_two>.
template <auto... conditions>
bool all_of(const CostCase& c) {
  return (conditions(c) && ...);
}
inline bool one_chunk(const CostCase& c) {
  return c.choice.chunks == 1;
}
inline bool power_of_two(const CostCase& c) {
  return std::has_single_bit(static_cast<unsigned>(c.ranks()));
}
inline bool more_than_two_ranks(const CostCase& c) {
  return c.ranks() > 2;
}
inline bool complete_binary_tree(const CostCase& c) {
  return std::has_single_bit(static_cast<unsigned>(c.ranks()) + 1);
}
inline bool adding_is_free(const CostCase& c) {
  return c.symbols.gamma == 0;
}
// On a chain, data can start at its end only.
inline bool from_the_end(const CostCase& c) {
  return c.network != UniformNetwork::Kind::chain || c.collective.root == 0;
}
// Everything but the occupation of links is free: then a port that is never idle decides.
inline bool only_links_cost(const CostCase& c) {
  return c.symbols.L == 0 && c.symbols.gamma == 0;
}
// The messages reach the root of a switch in the order in which it takes them.
inline bool root_takes_in_order(const CostCase& c) {
  return c.collective.root == 0 && c.in_order;
}
// Ranks of 2^i all send and receive in the same rounds; with other numbers the rounds are still
// those of the busiest port, if nothing but links costs.
inline bool tree_on_ports(const CostCase& c) {
  return power_of_two(c) || only_links_cost(c);
}
inline bool tree_on_links(const CostCase& c) {
  return power_of_two(c) || adding_is_free(c);
}

}  // namespace when

}  // namespace collsim
