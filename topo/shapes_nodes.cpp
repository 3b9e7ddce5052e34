// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topo/fabric.hpp"

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

void add_ports(Topology::Parts& parts, const Layout& layout, std::size_t nodes, Fabric& between) {
  if (!layout.attached()) {
    between.add_cables(parts, NodeId(0));
    return;
  }
  const std::size_t first_nic = parts.kinds.size();
  add_nodes(parts, NodeKind::nic, nodes * layout.nics);
  between.add_cables(parts, NodeId(first_nic));
  const LinkParameters& port = between.port();
  const LinkParameters attachment{.bandwidth = port.bandwidth, .sharing = port.sharing};
  for (std::size_t rank = 0; rank < layout.ranks; ++rank)
    add_cable(parts, NodeId(rank), NodeId(first_nic + layout.nic_of(rank)), attachment);
}

std::shared_ptr<Fabric> network_between(const NodesShape& shape, std::size_t nics) {
  if (const auto* tree = std::get_if<TreeShape>(&shape.network)) {
    TreeShape whole = *tree;
    whole.ends = nics;
    whole.links.front() = shape.inter_link;
    return make_tree_fabric(whole);
  }
  const auto* fly = std::get_if<DragonflyShape>(&shape.network);
  if (fly == nullptr) return make_switch_fabric(nics, shape.inter_link);
  DragonflyShape whole = *fly;
  whole.link = shape.inter_link;
  whole.local_link = fly->local_link.value_or(fly->link);
  whole.global_link = fly->global_link.value_or(fly->link);
  auto fabric = make_dragonfly_fabric(whole);
  if (fabric->ends() != nics)
    throw_error(ErrorCode::invalid_argument, "nodes: a dragonfly of ", fabric->ends(),
                " ports for ", nics, " NICs; it must have as many");
  return fabric;
}

class NodesWays final : public EqualWays {
 public:
  NodesWays(Topology inside, const Layout& layout, std::shared_ptr<const Fabric> between, bool pxn)
      : inside_(std::move(inside)), layout_(layout), between_(std::move(between)), pxn_(pxn) {}

  [[nodiscard]] std::uint64_t count(Rank from, Rank to) const override {
    if (same_node(from, to)) return inside().count(in_node(from), in_node(to));
    return between_->count(nic_of(leaving(from, to)), nic_of(to));
  }
  [[nodiscard]] std::uint64_t usual(Rank from, Rank to) const override {
    if (same_node(from, to)) return inside().usual(in_node(from), in_node(to));
    return between_->usual(nic_of(leaving(from, to)), nic_of(to));
  }
  void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const override {
    if (same_node(from, to)) {
      append_inside(from, to, way, route);
      return;
    }
    append_between(from, to, route,
                   [&](Rank nic, Rank target) { between_->append(nic, target, way, route); });
  }
  [[nodiscard]] std::uint64_t detours(Rank from, Rank to) const override {
    return same_node(from, to) ? 0 : between_->detours(nic_of(leaving(from, to)), nic_of(to));
  }
  void append_detour(Rank from, Rank to, std::uint64_t detour,
                     std::vector<LinkId>& route) const override {
    append_between(from, to, route, [&](Rank nic, Rank target) {
      between_->append_detour(nic, target, detour, route);
    });
  }

 private:
  [[nodiscard]] bool same_node(Rank from, Rank to) const {
    return from.index() / layout_.gpus == to.index() / layout_.gpus;
  }
  [[nodiscard]] Rank in_node(Rank rank) const { return Rank(rank.index() % layout_.gpus); }
  [[nodiscard]] Rank nic_of(Rank rank) const { return Rank(layout_.nic_of(rank.index())); }
  [[nodiscard]] const EqualWays& inside() const { return *inside_.parts().ways; }
  // The rank whose NIC a message leaves the node by.
  [[nodiscard]] Rank leaving(Rank from, Rank to) const {
    const bool own_rail = nic_of(from).index() % layout_.nics == nic_of(to).index() % layout_.nics;
    if (!pxn_ || own_rail) return from;
    return Rank(from.index() / layout_.gpus * layout_.gpus + in_node(to).index());
  }
  void append_inside(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const {
    const std::size_t start = route.size();
    inside().append(in_node(from), in_node(to), way, route);
    const std::size_t first = from.index() / layout_.gpus * layout_.links_inside;
    for (std::size_t i = start; i < route.size(); ++i) route[i] = LinkId(route[i].index() + first);
  }
  template <class Append>
  void append_between(Rank from, Rank to, std::vector<LinkId>& route, const Append& append) const {
    const Rank out = leaving(from, to);
    if (out != from) append_inside(from, out, inside().usual(in_node(from), in_node(out)), route);
    if (layout_.attached()) route.emplace_back(layout_.attachments + 2 * out.index());
    append(nic_of(out), nic_of(to));
    if (layout_.attached()) route.emplace_back(layout_.attachments + 2 * to.index() + 1);
  }

  Topology inside_;
  Layout layout_;
  std::shared_ptr<const Fabric> between_;
  bool pxn_;
};

// Any permutation of nodes; where every GPU has a port to a switch inside and one of its own to the
// network, also any of the GPUs of all nodes together.
Topology::Turning turning(const Layout& layout, std::size_t nodes, bool gpus_are_alike) {
  const auto gpus = static_cast<std::uint32_t>(layout.gpus);
  Topology::Turning turning;
  turning.digits = {{.size = static_cast<std::uint32_t>(nodes), .permutes = true},
                    {.size = gpus, .step = gpus_are_alike ? 1 : gpus, .permutes = gpus_are_alike}};
  turning.place = [layout, gpus_are_alike](LinkId id) {
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
    const std::size_t number = (id.index() - before) % per_node;
    const Rank first(node * layout.gpus);
    if (!gpus_are_alike) return LinkPlace{static_cast<std::uint32_t>(before + number), first};
    return LinkPlace{static_cast<std::uint32_t>((before > 0 ? 2 : 0) + number % 2),
                     Rank(first.index() + number / 2)};
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
  const std::shared_ptr<Fabric> between = network_between(shape, nodes * layout.nics);
  layout.links_inside = inside.links().size();
  layout.ports = nodes * layout.links_inside;
  layout.attachments = layout.ports + between->links();
  const std::size_t links = layout.attachments + (layout.attached() ? 2 * layout.ranks : 0);

  Topology::Parts parts = shape_parts("nodes", layout.ranks, links);
  const bool named = shape.network.index() > 0;
  const std::size_t own_switches = nodes * (inside.node_count() - layout.gpus);
  add_nodes(parts, NodeKind::network_switch, own_switches);
  if (named && own_switches > 0)
    parts.levels.push_back(
        {.name = "switch", .first = NodeId(layout.ranks), .count = own_switches});
  between->add_switches(parts);
  add_insides(parts, inside, layout, nodes);
  if (named) parts.link_levels.push_back({.name = "intra", .count = layout.ports});
  add_ports(parts, layout, nodes, *between);
  if (named && layout.attached())
    parts.link_levels.push_back({.name = "attachment", .count = 2 * layout.ranks});
  parts.dims = {shape.nodes, shape.gpus_per_node};
  parts.ways = std::make_shared<NodesWays>(inside, layout, between, shape.pxn);
  parts.routes_ignore_bandwidth = true;
  const bool one_switch = std::holds_alternative<std::monostate>(shape.network);
  if (one_switch && !shape.intra_link.half_duplex && !shape.inter_link.half_duplex)
    parts.turnings.push_back(turning(
        layout, nodes, shape.intra == NodesShape::Intra::network_switch && !layout.attached()));
  return Topology(std::move(parts));
}

}  // namespace collsim
