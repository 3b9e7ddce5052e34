// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "topo/graph_nodes.hpp"
#include "topo/parts.hpp"

namespace collsim {
namespace {

std::size_t count_of(const Topology& machine, NodeKind kind) {
  const auto& kinds = machine.parts().kinds;
  return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
}

void add_copy(Topology::Parts& parts, const Topology& machine, std::size_t number) {
  const std::size_t first = parts.kinds.size();
  const std::size_t first_link = parts.links.size();
  const std::string prefix = "node" + std::to_string(number) + ".";
  for (std::size_t i = 0; i < machine.node_count(); ++i) {
    const NodeKind kind = machine.kind(NodeId(i));
    std::string name = kind == NodeKind::gpu ? "gpu" + std::to_string(parts.rank_nodes.size())
                                             : prefix + machine.name(NodeId(i));
    parts.names.add(std::move(name));
    add_nodes(parts, kind, 1);
  }
  for (Link link : machine.links()) {
    link.from = NodeId(first + link.from.index());
    link.to = NodeId(first + link.to.index());
    link.resource = LinkId(first_link + link.resource.index());
    parts.links.push_back(link);
  }
}

void join_nics(Topology::Parts& parts, const LinkParameters& link) {
  const NodeId joint(parts.kinds.size());
  parts.names.add("network");
  add_nodes(parts, NodeKind::network_switch, 1);
  for (std::size_t node = 0; node < joint.index(); ++node)
    if (parts.kinds[node] == NodeKind::nic) add_cable(parts, NodeId(node), joint, link);
}

// Every GPU has one cable to one switch, the same for all, and one to a NIC of its own, listed in
// this order; there is nothing else.  Then the GPUs of a node are alike, too.
bool is_star_with_nics(const Topology& machine) {
  const std::size_t gpus = count_of(machine, NodeKind::gpu);
  if (count_of(machine, NodeKind::nic) != gpus || machine.node_count() != 2 * gpus + 1 ||
      machine.links().size() != 4 * gpus)
    return false;
  const auto next = [&](std::size_t from, NodeKind kind) {
    while (machine.kind(NodeId(from)) != kind) ++from;
    return from;
  };
  const auto alike = [&](std::size_t cable, std::size_t other) {
    const Link &there = machine.link(LinkId(2 * cable)),
               &back = machine.link(LinkId(2 * cable + 1));
    return there.from == back.to && there.to == back.from &&
           machine.parameters(LinkId(2 * cable)) == machine.parameters(LinkId(2 * other)) &&
           machine.parameters(LinkId(2 * cable + 1)) == machine.parameters(LinkId(2 * other + 1));
  };
  const NodeId centre = machine.link(LinkId(0)).to;
  std::size_t gpu = 0, nic = 0;
  for (std::size_t i = 0; i < gpus; ++i) {
    gpu = next(i == 0 ? 0 : gpu + 1, NodeKind::gpu);
    nic = next(i == 0 ? 0 : nic + 1, NodeKind::nic);
    const Link& up = machine.link(LinkId(2 * i));
    const Link& out = machine.link(LinkId(2 * (gpus + i)));
    if (up.from != NodeId(gpu) || up.to != centre || !alike(i, 0) || out.from != NodeId(gpu) ||
        out.to != NodeId(nic) || !alike(gpus + i, gpus))
      return false;
  }
  return machine.kind(centre) == NodeKind::network_switch;
}

// The nodes are alike, and the switch joins them in any order.
Topology::Turning turning_of_nodes(const Topology& machine, std::size_t nodes) {
  const std::size_t gpus = machine.rank_count();
  const std::size_t links_of_node = machine.links().size();
  const std::size_t nic_links_of_node = 2 * count_of(machine, NodeKind::nic);
  const bool gpus_turn = is_star_with_nics(machine);
  const auto size = static_cast<std::uint32_t>(gpus);
  Topology::Turning turning;
  turning.digits = {{.size = static_cast<std::uint32_t>(nodes), .permutes = true},
                    {.size = size, .step = gpus_turn ? 1 : size, .permutes = gpus_turn}};
  turning.place = [=](LinkId id) {
    const std::size_t inside = nodes * links_of_node;
    const bool joins = id.index() >= inside;
    const std::size_t of_node = joins ? nic_links_of_node : links_of_node;
    const std::size_t number = joins ? id.index() - inside : id.index();
    const std::size_t kind = number % of_node + (joins ? links_of_node : 0);
    const std::size_t first = number / of_node * gpus;
    if (!gpus_turn) return LinkPlace{static_cast<std::uint32_t>(kind), Rank(first)};
    // One cable of each purpose for every GPU.
    return LinkPlace{static_cast<std::uint32_t>(2 * (kind / 2 / gpus) + kind % 2),
                     Rank(first + kind / 2 % gpus)};
  };
  return turning;
}

}  // namespace

Topology make_switched_copies(const Topology& node, std::size_t nodes,
                              const LinkParameters& nic_link) {
  Topology::Parts parts;
  parts.shape = node.shape();
  if (nodes == 1) {
    parts = node.parts();
  } else {
    parts.protocols = node.parts().protocols;
    parts.segments = node.parts().segments;
    for (std::size_t i = 0; i < nodes; ++i) add_copy(parts, node, i);
    join_nics(parts, nic_link);
    if (std::none_of(parts.links.begin(), parts.links.end(), std::mem_fn(&Link::half_duplex)))
      parts.turnings.push_back(turning_of_nodes(node, nodes));
  }
  parts.dims = {static_cast<int>(nodes), static_cast<int>(node.rank_count())};
  return Topology(std::move(parts));
}

}  // namespace collsim
