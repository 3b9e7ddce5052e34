// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "topo/topology.hpp"

namespace collsim {

// What a cell says about the way from the rank of its row to that of its column.
//   path       what lies on it, in the manner of `nvidia-smi topo -m`: LINK, SW1, CPU, SYS, NET ...
//   bandwidth  of its slowest link
//   latency    until an empty message arrives: the largest startup and the sum of latencies
//   hops       how many links
enum class PairValue : std::uint8_t { path, bandwidth, latency, hops };

// All pairs of the given ranks, and a legend of what occurs.
[[nodiscard]] std::string topology_matrix(const Topology& topology, std::span<const Rank> ranks,
                                          PairValue value);

// The links with their parameters, at most `limit` lines and then how many more there are.  Both
// directions of a cable are one line when they are alike.
//   all_links: of the whole topology
//   links_between: those on the ways between the given ranks
[[nodiscard]] std::string all_links(const Topology& topology, std::size_t limit);
[[nodiscard]] std::string links_between(const Topology& topology, std::span<const Rank> ranks,
                                        std::size_t limit);

}  // namespace collsim
