// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topo/fabric.hpp"
#include "topo/graph_nodes.hpp"
#include "topo/routes.hpp"

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

// Between a rank of a graph and its NIC, as numbered in its node.
struct WayToNic {
  std::size_t nic = 0;
  std::vector<LinkId> out, in;
};

// Link ids: the inside of node 0, of node 1, ...; the ports of the NICs; the attachments.
struct Layout {
  std::size_t gpus, nics, ranks;
  std::size_t links_inside;      // per node
  std::size_t ports;             // first link of the first NIC
  std::size_t attachments;       // first link of the first attachment, if there are any
  std::vector<WayToNic> to_nic;  // by rank of a node; none where shapes say it
  [[nodiscard]] bool attached() const { return to_nic.empty() && nics < gpus; }
  [[nodiscard]] std::size_t nic_of(std::size_t rank) const {
    return to_nic.empty() ? rank / (gpus / nics) : rank / gpus * nics + to_nic[rank % gpus].nic;
  }
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
      link.protocols = kind_of(parts, inside.protocols_of(link));
      link.segments = kind_of(parts, inside.segments_of(link));
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

std::shared_ptr<Fabric> network_between(const TreeShape& tree, std::size_t nics,
                                        const LinkParameters& port) {
  TreeShape whole = tree;
  whole.ends = nics;
  whole.links.front() = port;
  return make_tree_fabric(whole);
}

std::shared_ptr<Fabric> network_between(const DragonflyShape& fly, std::size_t nics,
                                        const LinkParameters& port) {
  DragonflyShape whole = fly;
  whole.link = port;
  whole.local_link = fly.local_link.value_or(fly.link);
  whole.global_link = fly.global_link.value_or(fly.link);
  auto fabric = make_dragonfly_fabric(whole);
  if (fabric->ends() != nics)
    throw_error(ErrorCode::invalid_argument, "nodes: a dragonfly of ", fabric->ends(),
                " ports for ", nics, " NICs; it must have as many");
  return fabric;
}

std::shared_ptr<Fabric> network_between(std::monostate /*switch*/, std::size_t nics,
                                        const LinkParameters& port) {
  return make_switch_fabric(nics, port);
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
    append_to_nic(out, &WayToNic::out, route);
    append(nic_of(out), nic_of(to));
    append_to_nic(to, &WayToNic::in, route);
    if (layout_.attached()) route.emplace_back(layout_.attachments + 2 * to.index() + 1);
  }
  void append_to_nic(Rank rank, std::vector<LinkId> WayToNic::*links,
                     std::vector<LinkId>& route) const {
    if (layout_.to_nic.empty()) return;
    const std::size_t first = rank.index() / layout_.gpus * layout_.links_inside;
    for (const LinkId id : layout_.to_nic[in_node(rank).index()].*links)
      route.emplace_back(first + id.index());
  }

  Topology inside_;
  Layout layout_;
  std::shared_ptr<const Fabric> between_;
  bool pxn_;
};

// Where every GPU has a port to a switch inside its node and one of its own to the switch between:
// any permutation of nodes, and any of the GPUs of all nodes together.
Topology::Turning turning_of_alike_gpus(const Layout& layout, std::size_t nodes) {
  const auto gpus = static_cast<std::uint32_t>(layout.gpus);
  Topology::Turning turning;
  turning.digits = {{.size = static_cast<std::uint32_t>(nodes), .permutes = true},
                    {.size = gpus, .permutes = true}};
  turning.place = [layout](LinkId id) {
    const bool inside = id.index() < layout.ports;
    const std::size_t number = id.index() - (inside ? 0 : layout.ports);
    return LinkPlace{static_cast<std::uint32_t>((inside ? 0 : 2) + number % 2), Rank(number / 2)};
  };
  return turning;
}

// Any permutation of the ends of a switch that keeps those of a node together.
Topology::Turning turning_of_switch(const Layout& layout, std::size_t nodes) {
  const auto nics = static_cast<std::uint32_t>(layout.nics);
  return {.digits = {{.size = static_cast<std::uint32_t>(nodes), .permutes = true}, {nics, nics}},
          .place = [](LinkId id) {
            return LinkPlace{static_cast<std::uint32_t>(id.index() % 2), Rank(id.index() / 2)};
          }};
}

// The turns of a network's ends that take the NICs of a node, which are neighbours, to those of
// another one: their digits lose what tells the NICs of a node apart, and a last one, which does
// not turn, tells its ranks apart.  Nothing where the NICs of a node are no part of the digits.
std::optional<Topology::Turning> turning_of_nodes(const Layout& layout,
                                                  const Topology::Turning& of_ends) {
  const auto number = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
  Topology::Turning turning{of_ends.digits, {}};
  std::uint32_t left = number(layout.nics);
  for (auto digit = turning.digits.rbegin(); digit != turning.digits.rend(); ++digit) {
    const std::uint32_t part = std::gcd(digit->size, left);
    if (part != digit->size && part != left) return std::nullopt;
    digit->step = std::lcm(digit->step, part) / part;
    digit->size /= part;
    left /= part;
  }
  if (left > 1) return std::nullopt;
  turning.digits.push_back({number(layout.gpus), number(layout.gpus)});
  turning.place = [layout, place = of_ends.place, number](LinkId id) {
    const bool attaches = id.index() >= layout.attachments;
    if (id.index() >= layout.ports && !attaches) {
      const LinkPlace of = place(LinkId(id.index() - layout.ports));
      const std::size_t first_kind = layout.links_inside + 2 * layout.gpus;
      return LinkPlace{number(first_kind + of.kind * layout.nics + of.at.index() % layout.nics),
                       Rank(of.at.index() / layout.nics * layout.gpus), of.without};
    }
    const std::size_t per_node = attaches ? 2 * layout.gpus : layout.links_inside;
    const std::size_t id_of_all = id.index() - (attaches ? layout.attachments : 0);
    return LinkPlace{number(id_of_all % per_node + (attaches ? layout.links_inside : 0)),
                     Rank(id_of_all / per_node * layout.gpus)};
  };
  return turning;
}

// --- nodes that are graphs -----------------------------------------------------------------------

// Routes inside of a node, found once.
class FoundWays final : public EqualWays {
 public:
  explicit FoundWays(const Topology& node) : ranks_(node.rank_count()) {
    Router router(node);
    for (std::size_t from = 0; from < ranks_; ++from)
      for (std::size_t to = 0; to < ranks_; ++to) {
        const auto route = router.route(Rank(from), Rank(to));
        routes_.emplace_back(route.begin(), route.end());
      }
  }
  void append(Rank from, Rank to, std::uint64_t /*way*/,
              std::vector<LinkId>& route) const override {
    const std::vector<LinkId>& found = routes_[from.index() * ranks_ + to.index()];
    route.insert(route.end(), found.begin(), found.end());
  }

 private:
  std::size_t ranks_;
  std::vector<std::vector<LinkId>> routes_;
};

Topology with_found_ways(const Topology& node) {
  Topology::Parts parts = node.parts();
  parts.routing = Routing::first;
  parts.ways = std::make_shared<FoundWays>(Topology(parts));
  return Topology(std::move(parts));
}

// By rank of a node.  For the search NICs count as ranks, since only those have routes.
std::vector<WayToNic> ways_to_nics(const Topology& node) {
  Topology::Parts parts = node.parts();
  parts.ways = nullptr;
  parts.routing = Routing::first;
  parts.rank_nodes.clear();
  std::vector<Rank> ranks, nics;
  for (std::size_t i = 0; i < parts.kinds.size(); ++i) {
    const NodeKind kind = std::exchange(
        parts.kinds[i], parts.kinds[i] == NodeKind::nic ? NodeKind::gpu : parts.kinds[i]);
    if (parts.kinds[i] != NodeKind::gpu) continue;
    (kind == NodeKind::nic ? nics : ranks).emplace_back(parts.rank_nodes.size());
    parts.rank_nodes.emplace_back(i);
  }
  const Topology all(std::move(parts));
  Router router(all);
  std::vector<WayToNic> ways;
  for (const Rank rank : ranks) {
    std::vector<WayToNic> nearest;
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      const auto out = router.route(rank, nics[nic]);
      if (!nearest.empty() && out.size() > nearest.front().out.size()) continue;
      if (!nearest.empty() && out.size() < nearest.front().out.size()) nearest.clear();
      nearest.push_back({.nic = nic, .out = {out.begin(), out.end()}, .in = {}});
      const auto in = router.route(nics[nic], rank);
      nearest.back().in.assign(in.begin(), in.end());
    }
    ways.push_back(nearest[ways.size() % nearest.size()]);
  }
  return ways;
}

// Adds the devices of all nodes, the NICs last, and the links inside of nodes.  Returns the first
// NIC.
NodeId add_graphs(Topology::Parts& parts, const Topology& node, std::size_t nodes) {
  std::vector<std::size_t> places(node.node_count());  // among the NICs, or the others, of its node
  std::size_t nics = 0;
  std::size_t others = 0;
  const auto is_nic = [&](NodeId id) { return node.kind(id) == NodeKind::nic; };
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = is_nic(NodeId(i)) ? nics++ : others++;
  for (const bool nic : {false, true})
    for (std::size_t copy = 0; copy < nodes; ++copy)
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (is_nic(NodeId(i)) != nic) continue;
        const NodeKind kind = node.kind(NodeId(i));
        const std::string prefix = nodes > 1 ? concat("node", copy, ".") : "";
        parts.names.add(kind == NodeKind::gpu ? concat("gpu", parts.rank_nodes.size())
                                              : prefix + node.name(NodeId(i)));
        add_nodes(parts, kind, 1);
      }
  parts.protocols = node.parts().protocols;
  parts.segments = node.parts().segments;
  for (std::size_t copy = 0; copy < nodes; ++copy) {
    const auto moved = [&](NodeId id) {
      const std::size_t before = is_nic(id) ? nodes * others + copy * nics : copy * others;
      return NodeId(before + places[id.index()]);
    };
    for (Link link : node.links()) {
      link.from = moved(link.from);
      link.to = moved(link.to);
      link.resource = LinkId(copy * node.links().size() + link.resource.index());
      parts.links.push_back(link);
    }
  }
  return NodeId(nodes * others);
}

void name_all(Topology::Parts& parts) {
  for (const Topology::Parts::Level& level : parts.levels)
    for (std::size_t i = 0; i < level.count; ++i) parts.names.add(level.name + std::to_string(i));
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
  const std::shared_ptr<Fabric> between = std::visit(
      [&](const auto& network) {
        return network_between(network, nodes * layout.nics, shape.inter_link);
      },
      shape.network);
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
  if (shape.intra_link.half_duplex || shape.inter_link.half_duplex)
    return Topology(std::move(parts));
  if (!named && shape.intra == NodesShape::Intra::network_switch && !layout.attached()) {
    parts.turnings.push_back(turning_of_alike_gpus(layout, nodes));
    return Topology(std::move(parts));
  }
  const auto of_ends = named ? between->turning() : turning_of_switch(layout, nodes);
  if (auto turning = of_ends ? turning_of_nodes(layout, *of_ends) : std::nullopt)
    parts.turnings.push_back(std::move(*turning));
  return Topology(std::move(parts));
}

Topology make_graph_nodes(const GraphNodes& shape) {
  const Topology& node = shape.node;
  Layout layout{};
  layout.gpus = node.rank_count();
  layout.ranks = shape.nodes * layout.gpus;
  const auto& kinds = node.parts().kinds;
  layout.nics = static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), NodeKind::nic));
  if (layout.nics == 0)
    throw_error(ErrorCode::invalid_argument, "no device of kind nic joins a node to the network");
  check_rank_count("nodes", layout.ranks);
  layout.to_nic = ways_to_nics(node);
  layout.links_inside = node.links().size();
  layout.ports = shape.nodes * layout.links_inside;
  const std::size_t nics = shape.nodes * layout.nics;
  const auto* tree = std::get_if<TreeShape>(&shape.network);
  const std::shared_ptr<Fabric> between =
      tree != nullptr
          ? network_between(*tree, nics, tree->links.front())
          : network_between(std::get<1>(shape.network), nics, std::get<1>(shape.network).link);
  layout.attachments = layout.ports + between->links();

  Topology::Parts parts;
  parts.shape = node.shape();
  const NodeId first_nic = add_graphs(parts, node, shape.nodes);
  between->add_switches(parts);
  name_all(parts);
  parts.link_levels.push_back({.name = "intra", .count = layout.ports});
  between->add_cables(parts, first_nic);
  parts.dims = {static_cast<int>(shape.nodes), static_cast<int>(layout.gpus)};
  parts.ways = std::make_shared<NodesWays>(with_found_ways(node), layout, between, shape.pxn);
  parts.routes_ignore_bandwidth = true;
  const bool half_duplex = std::any_of(node.links().begin(), node.links().end(),
                                       [](const Link& link) { return link.half_duplex; });
  const auto of_ends = half_duplex ? std::nullopt : between->turning();
  if (auto turning = of_ends ? turning_of_nodes(layout, *of_ends) : std::nullopt)
    parts.turnings.push_back(std::move(*turning));
  return Topology(std::move(parts));
}

}  // namespace collsim
