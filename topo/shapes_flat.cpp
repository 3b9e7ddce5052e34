// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topo/parts.hpp"
#include "topo/shapes.hpp"

// Shapes in which all ranks are equally near: fully connected, and one switch.

namespace collsim {

namespace {

class DirectWays final : public EqualWays {
 public:
  explicit DirectWays(std::size_t ranks) : ranks_(ranks) {}
  void append(Rank from, Rank to, std::uint64_t, std::vector<LinkId>& route) const override {
    route.emplace_back(ordered_pair(from.index(), to.index(), ranks_));
  }

 private:
  std::size_t ranks_;
};

class SwitchWays final : public EqualWays {
 public:
  void append(Rank from, Rank to, std::uint64_t, std::vector<LinkId>& route) const override {
    route.push_back(LinkId(2 * from.index()));
    route.push_back(LinkId(2 * to.index() + 1));
  }
};

}  // namespace

Topology make_fully_connected(std::size_t ranks, const LinkParameters& link) {
  constexpr std::size_t most = 8192;
  if (ranks > most)
    throw_error(ErrorCode::too_large, "fully-connected: ", ranks, " ranks; at most ", most,
                " allowed");
  check_shape_link("fully-connected", link);
  Topology::Parts parts =
      shape_parts("fully-connected", ranks, ranks > 0 ? ranks * (ranks - 1) : 0);
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to) {
      if (to > from)
        add_link(parts, NodeId(from), NodeId(to), link);
      else if (to < from)
        add_reverse_link(parts, LinkId(ordered_pair(to, from, ranks)), link);
    }
  parts.ways = std::make_shared<DirectWays>(ranks);
  parts.routes_ignore_bandwidth = true;
  if (link.half_duplex) return Topology(std::move(parts));
  const auto ends = [ranks](LinkId id) {
    const std::size_t from = id.index() / (ranks - 1);
    const std::size_t other = id.index() % (ranks - 1);
    return std::pair(from, other < from ? other : other + 1);
  };
  parts.turnings.push_back(
      {{{static_cast<std::uint32_t>(ranks)}}, [ends, ranks](LinkId id) {
         const auto [from, to] = ends(id);
         return LinkPlace{static_cast<std::uint32_t>((to + ranks - from) % ranks), Rank(from)};
       }});
  if (std::has_single_bit(ranks))
    parts.turnings.push_back({binary_digits(ranks), [ends](LinkId id) {
                                const auto [from, to] = ends(id);
                                return LinkPlace{static_cast<std::uint32_t>(from ^ to), Rank(from)};
                              }});
  return Topology(std::move(parts));
}

Topology make_switch(std::size_t ranks, const LinkParameters& port) {
  check_rank_count("switch", ranks);
  check_shape_link("switch", port);
  Topology::Parts parts = shape_parts("switch", ranks, 2 * ranks);
  add_nodes(parts, NodeKind::network_switch, 1);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    add_cable(parts, NodeId(rank), NodeId(ranks), port);
  parts.ways = std::make_shared<SwitchWays>();
  parts.routes_ignore_bandwidth = true;
  if (port.half_duplex) return Topology(std::move(parts));
  parts.turnings.push_back(
      {{{.size = static_cast<std::uint32_t>(ranks), .permutes = true}}, [](LinkId id) {
         return LinkPlace{static_cast<std::uint32_t>(id.index() % 2), Rank(id.index() / 2)};
       }});
  return Topology(std::move(parts));
}

}  // namespace collsim
