// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// The links that leave and enter a block of devices.
struct Boundary {
  std::uint64_t out = 0;  // bytes per second together; at most `unlimited`
  std::uint64_t in = 0;
  std::uint32_t links_out = 0;
  std::uint32_t links_in = 0;
  std::int64_t startup_out = no_startup;  // the least of these links, picoseconds
  std::int64_t startup_in = no_startup;
  std::uint64_t half_duplex = 0;  // of these, what both directions share, counted once
  bool fair = false;              // one of these links is
  std::uint32_t device = 0;       // Kind::subtree: whose it is

  void add(const Boundary& other);  // of another block
  // What can leave and enter together.
  [[nodiscard]] std::uint64_t both_ways() const;

  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::int64_t no_startup = std::numeric_limits<std::int64_t>::max();
};

// Blocks of devices that have no device in common; some devices may be in none.  Every block is one
// side of a cut of the network.  Only blocks with members of the group are kept.
struct Division {
  enum class Kind : std::uint8_t {
    ranks,    // every member alone
    nodes,    // Topology::dims() = {nodes, GPUs per node}: the GPUs of a node and what is theirs
    subtree,  // a switch, NIC or CPU, and all that is reached through it alone
    line,     // one block: some neighbouring places of one dimension of a grid
    other     // anything else
  };
  Kind kind = Kind::other;
  std::vector<std::uint32_t> block_of;  // per position of the group
  std::vector<Boundary> blocks;
  std::size_t dimension = 0, from = 0, to = 0;  // line: places from to `to`, around the end or not
  // Every member is in a block, and so is the switch that adds for it, where there is one; no
  // switches of the network add.
  bool is_complete = false;

  static constexpr std::uint32_t no_block = std::numeric_limits<std::uint32_t>::max();
};

// Which devices are in which block (any numbers, or Division::no_block), by NodeId.
using BlockOfDevice = std::vector<std::uint32_t>;

[[nodiscard]] Division make_division(const Topology& topology, std::span<const Rank> group,
                                     Division::Kind kind, const BlockOfDevice& block_of_device);

// The cuts that a network is likely to be narrow at, found by its structure, whatever its shape is
// called:
//   every member
//   every node of a machine with nodes
//   the subtree of every switch, NIC and CPU; and what remains connected when those of a level and
//     above are taken away (level: hops to the nearest GPU)
//   ranks, or nodes, in blocks of equal size
//   of grids (torus, mesh, ring, chain, hypercube) the narrowest neighbouring places of every
//     dimension; the halves and, of lines, the prefixes are among those compared
// Where the border of a block of ranks may lie on this or that side of some switches and NICs, each
// of them is taken, from the outermost to the GPUs' own links.  Blocks whose borders are as wide as
// those of the blocks within them together are left out: the smaller ones say more.
//
// Every member comes first; the search for others ends after ten million looks at a link.
[[nodiscard]] std::vector<Division> structural_divisions(const Topology& topology,
                                                         std::span<const Rank> group);

}  // namespace collsim
