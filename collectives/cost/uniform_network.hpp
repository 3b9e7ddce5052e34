// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// What one message costs on its way from rank to rank: it keeps its links busy for alpha + n / B
// and arrives `latency` later.  Real numbers, because formulas are for reals: seconds, bytes per
// second.
struct Hop {
  double alpha = 0;
  double bandwidth = 1;
  double latency = 0;
  bool operator==(const Hop&) const = default;
};

// The networks of textbooks, for which closed forms are known.  All messages cost the same.
//   chain              a link each way between r and r+1
//   ring               the same, and between K-1 and 0
//   independent_links  a link of its own for every ordered pair
//   ports              one way out and one way in per rank, and a switch that never blocks;
//                      alpha and B are a port's, the latency is the sum of both ports'
// Two ranks joined by one cable, and three in a ring, are independent_links.
struct UniformNetwork {
  enum class Kind { chain, ring, independent_links, ports } kind = Kind::ring;
  Hop hop;
  std::size_t ranks = 1;  // of the whole network
};

// Recognises them by their links, whatever the topology is called and however it was built.
// Nothing when links differ, are fair or half duplex, or when the graph is another one.  O(links).
[[nodiscard]] std::optional<UniformNetwork> uniform_network(const Topology& topology);

// Error{invalid_argument} naming the rank when a network of `ranks` ranks lacks one of the group.
void check_members(std::span<const Rank> group, std::size_t ranks);

// What each of these messages, all sent at the same time, costs on its way; nothing when two of
// them share a link, or when a link is fair.  One route is looked up per message.
using RankPair = std::pair<Rank, Rank>;  // from, to; not the same
[[nodiscard]] std::optional<std::vector<Hop>> hops_without_contention(
    const Topology& topology, std::span<const RankPair> messages);

// The same when every position p of `group` sends one message to the position `distance` further in
// its ring (the `size` positions that differ from p in the place worth `stride`), and all must cost
// the same.  Every level of a hierarchy and every dimension of a torus is such a set of rings.
//   group.size() is a multiple of stride * size.
[[nodiscard]] std::optional<Hop> shift_without_contention(const Topology& topology,
                                                          std::span<const Rank> group, int stride,
                                                          int size, int distance);

}  // namespace collsim
