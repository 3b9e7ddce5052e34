// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "topo/topology.hpp"

namespace collsim {

// Shared by the shapes, the builder and the importers when they assemble a Topology::Parts.

// More links than this (5.4 GB) are a typing error.
constexpr std::size_t max_links = std::size_t{1} << 27;

// Longer latencies and startups (53 days) are refused, so no time that a user gives comes near
// Time::never(), which means that something does not happen.
constexpr Time max_link_time = Time(Time::never().ps() / 2);

// Empty when the parameters make sense, else what is wrong ("the latency is -5 ps ...").
[[nodiscard]] std::string wrong_with(const LinkParameters& parameters);
[[nodiscard]] std::string wrong_with(const ProtocolCost& cost);

// Parts with `ranks` gpus and room for `links` links.
// Error{invalid_argument} for 0 ranks, Error{too_large} beyond max_ranks or max_links.
[[nodiscard]] Topology::Parts shape_parts(const std::string& shape, std::size_t ranks,
                                          std::size_t links);
void check_rank_count(const std::string& shape, std::size_t ranks);
void check_shape_link(const std::string& shape, const LinkParameters& parameters);

void add_nodes(Topology::Parts& parts, NodeKind kind, std::size_t count);

// The number of these protocols, or segments, among the parts' kinds.
[[nodiscard]] std::uint16_t kind_of(Topology::Parts& parts, const Protocols& protocols);
[[nodiscard]] std::uint16_t kind_of(Topology::Parts& parts, const LinkSegments& segments);

// One direction; its opposite, which for half duplex is the same resource.
LinkId add_link(Topology::Parts& parts, NodeId from, NodeId to, const LinkParameters& parameters);
LinkId add_reverse_link(Topology::Parts& parts, LinkId first, const LinkParameters& parameters);
// Both directions with neighbouring ids; returns the first.
LinkId add_cable(Topology::Parts& parts, NodeId from, NodeId to, const LinkParameters& parameters);

// Of 2^q ranks, one for each bit.
[[nodiscard]] std::vector<TurnDigit> binary_digits(std::size_t ranks);

// Links for all ordered pairs of n things, numbered by source, then target: n * (n - 1) of them.
[[nodiscard]] constexpr std::size_t ordered_pair(std::size_t from, std::size_t to, std::size_t n) {
  return from * (n - 1) + (to > from ? to - 1 : to);
}

}  // namespace collsim
