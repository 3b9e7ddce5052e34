// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topo/parts.hpp"
#include "topo/shapes.hpp"

namespace collsim {

namespace {

std::size_t checked_count(int value, const char* what) {
  if (value < 1)
    throw_error(ErrorCode::invalid_argument, "nodes: ", what, " is ", value,
                "; at least 1 allowed");
  return static_cast<std::size_t>(value);
}

void check_nodes_shape(const NodesShape& shape) {
  const std::size_t nodes = checked_count(shape.nodes, "the number of nodes");
  const std::size_t gpus = checked_count(shape.gpus_per_node, "gpus_per_node");
  const std::size_t nics = checked_count(shape.nics_per_node, "nics_per_node");
  check_rank_count("nodes", nodes * gpus);
  if (gpus % nics != 0)
    throw_error(ErrorCode::invalid_argument, "nodes: ", nics, " NICs for ", gpus,
                " GPUs in a node; nics_per_node must divide gpus_per_node");
  check_shape_link("nodes, inside a node", shape.intra_link);
  check_shape_link("nodes, between nodes", shape.inter_link);
  const bool has_dims =
      shape.intra == NodesShape::Intra::mesh || shape.intra == NodesShape::Intra::torus;
  if (!has_dims && !shape.intra_dims.empty())
    throw_error(ErrorCode::invalid_argument,
                "nodes: intra_dims given; only mesh and torus have dimensions");
}

Topology inside_of_node(const NodesShape& shape) {
  const auto gpus = static_cast<std::size_t>(shape.gpus_per_node);
  switch (shape.intra) {
    case NodesShape::Intra::chain: return make_chain(gpus, shape.intra_link);
    case NodesShape::Intra::ring: return make_ring(gpus, shape.intra_link);
    case NodesShape::Intra::fully_connected: return make_fully_connected(gpus, shape.intra_link);
    case NodesShape::Intra::network_switch: return make_switch(gpus, shape.intra_link);
    case NodesShape::Intra::mesh: return make_mesh(shape.intra_dims, shape.intra_link);
    case NodesShape::Intra::torus: return make_torus(shape.intra_dims, shape.intra_link);
    case NodesShape::Intra::hypercube: return make_hypercube(gpus, shape.intra_link);
  }
  COLLSIM_CHECK(false, "intra shape " + std::to_string(static_cast<int>(shape.intra)));
}

// Link ids: the inside of node 0, of node 1, ...; the ports of the NICs; the attachments.
struct Layout {
  std::size_t gpus, nics, ranks;
  std::size_t links_inside;  // per node
  std::size_t ports;         // first link of the first NIC
  std::size_t attachments;   // first link of the first attachment, if there are any
  [[nodiscard]] bool attached() const { return nics < gpus; }
  [[nodiscard]] std::size_t nic_of(std::size_t rank) const { return rank / (gpus / nics); }
};

void add_insides(Topology::Parts& parts, const Topology& inside, const Layout& layout,
                 std::size_t nodes) {
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto moved = [&](NodeId id) {
      const std::size_t gpu = id.index();
      return NodeId(gpu < layout.gpus ? node * layout.gpus + gpu : layout.ranks + node);
    };
    for (Link link : inside.links()) {
      link.from = moved(link.from);
      link.to = moved(link.to);
      link.resource = LinkId(node * layout.links_inside + link.resource.index());
      parts.links.push_back(link);
    }
  }
}

void add_ports(Topology::Parts& parts, const Layout& layout, std::size_t nodes,
               const LinkParameters& port) {
  const NodeId joining(parts.kinds.size() - 1);
  if (!layout.attached()) {
    for (std::size_t rank = 0; rank < layout.ranks; ++rank)
      add_cable(parts, NodeId(rank), joining, port);
    return;
  }
  const std::size_t first_nic = parts.kinds.size();
  add_nodes(parts, NodeKind::nic, nodes * layout.nics);
  for (std::size_t nic = 0; nic < nodes * layout.nics; ++nic)
    add_cable(parts, NodeId(first_nic + nic), joining, port);
  const LinkParameters attachment{.bandwidth = port.bandwidth, .sharing = port.sharing};
  for (std::size_t rank = 0; rank < layout.ranks; ++rank)
    add_cable(parts, NodeId(rank), NodeId(first_nic + layout.nic_of(rank)), attachment);
}

class NodesWays final : public EqualWays {
 public:
  NodesWays(Topology inside, const Layout& layout) : inside_(std::move(inside)), layout_(layout) {}

  [[nodiscard]] std::uint64_t count(Rank from, Rank to) const override {
    return same_node(from, to) ? inside().count(in_node(from), in_node(to)) : 1;
  }
  [[nodiscard]] std::uint64_t usual(Rank from, Rank to) const override {
    return same_node(from, to) ? inside().usual(in_node(from), in_node(to)) : 0;
  }
  void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const override {
    if (same_node(from, to)) {
      const std::size_t start = route.size();
      inside().append(in_node(from), in_node(to), way, route);
      const std::size_t first = from.index() / layout_.gpus * layout_.links_inside;
      for (std::size_t i = start; i < route.size(); ++i)
        route[i] = LinkId(route[i].index() + first);
      return;
    }
    if (layout_.attached()) route.emplace_back(layout_.attachments + 2 * from.index());
    route.emplace_back(layout_.ports + 2 * layout_.nic_of(from.index()));
    route.emplace_back(layout_.ports + 2 * layout_.nic_of(to.index()) + 1);
    if (layout_.attached()) route.emplace_back(layout_.attachments + 2 * to.index() + 1);
  }

 private:
  [[nodiscard]] bool same_node(Rank from, Rank to) const {
    return from.index() / layout_.gpus == to.index() / layout_.gpus;
  }
  [[nodiscard]] Rank in_node(Rank rank) const { return Rank(rank.index() % layout_.gpus); }
  [[nodiscard]] const EqualWays& inside() const { return *inside_.parts().ways; }

  Topology inside_;
  Layout layout_;
};

// Any permutation of nodes.
Topology::Turning turning(const Layout& layout, std::size_t nodes) {
  const auto gpus = static_cast<std::uint32_t>(layout.gpus);
  Topology::Turning turning;
  turning.digits = {{.size = static_cast<std::uint32_t>(nodes), .permutes = true}, {gpus, gpus}};
  turning.place = [layout](LinkId id) {
    std::size_t per_node = layout.links_inside;
    std::size_t before = 0;
    if (id.index() >= layout.attachments) {
      before = layout.attachments;
      per_node = 2 * layout.gpus;
    } else if (id.index() >= layout.ports) {
      before = layout.ports;
      per_node = 2 * layout.nics;
    }
    const std::size_t node = (id.index() - before) / per_node;
    const std::size_t kind = before + (id.index() - before) % per_node;
    return LinkPlace{static_cast<std::uint32_t>(kind), Rank(node * layout.gpus)};
  };
  return turning;
}

}  // namespace

Topology make_nodes(const NodesShape& shape) {
  check_nodes_shape(shape);
  const Topology inside = inside_of_node(shape);
  const auto nodes = static_cast<std::size_t>(shape.nodes);
  Layout layout{};
  layout.gpus = static_cast<std::size_t>(shape.gpus_per_node);
  layout.nics = static_cast<std::size_t>(shape.nics_per_node);
  layout.ranks = nodes * layout.gpus;
  if (inside.rank_count() != layout.gpus)
    throw_error(ErrorCode::invalid_argument, "nodes: intra_dims make ", inside.rank_count(),
                " ranks; they must make gpus_per_node, which is ", layout.gpus);
  layout.links_inside = inside.links().size();
  layout.ports = nodes * layout.links_inside;
  layout.attachments = layout.ports + 2 * nodes * layout.nics;
  const std::size_t links = layout.attachments + (layout.attached() ? 2 * layout.ranks : 0);

  Topology::Parts parts = shape_parts("nodes", layout.ranks, links);
  add_nodes(parts, NodeKind::network_switch, nodes * (inside.node_count() - layout.gpus) + 1);
  add_insides(parts, inside, layout, nodes);
  add_ports(parts, layout, nodes, shape.inter_link);
  parts.dims = {shape.nodes, shape.gpus_per_node};
  parts.ways = std::make_shared<NodesWays>(inside, layout);
  parts.routes_ignore_bandwidth = true;
  if (!shape.intra_link.half_duplex && !shape.inter_link.half_duplex)
    parts.turnings.push_back(turning(layout, nodes));
  return Topology(std::move(parts));
}

}  // namespace collsim
