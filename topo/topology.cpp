// SPDX-License-Identifier: Apache-2.0
#include "topo/topology.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "topo/parts.hpp"

namespace collsim {

void throw_too_large_id(const char* what, std::size_t value) {
  throw_error(ErrorCode::too_large,
              std::string(what) + " " + std::to_string(value) + " is more than an id holds");
}

namespace {

constexpr NodeKind all_kinds[] = {NodeKind::gpu, NodeKind::network_switch, NodeKind::nic,
                                  NodeKind::cpu};

void check_nodes(const Topology::Parts& parts) {
  std::size_t ranks = 0;
  for (std::size_t node = 0; node < parts.kinds.size(); ++node) {
    if (parts.kinds[node] != NodeKind::gpu) continue;
    COLLSIM_CHECK(
        ranks < parts.rank_nodes.size() && parts.rank_nodes[ranks] == NodeId(node),
        "node " + std::to_string(node) + " is a gpu but not rank " + std::to_string(ranks));
    ++ranks;
  }
  COLLSIM_CHECK(
      ranks == parts.rank_nodes.size(),
      std::to_string(parts.rank_nodes.size()) + " ranks but " + std::to_string(ranks) + " gpus");
  COLLSIM_CHECK(ranks > 0, "a topology without ranks");
  if (parts.names.empty()) {
    COLLSIM_CHECK(std::is_sorted(parts.kinds.begin(), parts.kinds.end()),
                  "nodes without names must be sorted by kind");
  } else {
    COLLSIM_CHECK(
        parts.names.size() == parts.kinds.size() && parts.node_by_name.size() == parts.kinds.size(),
        "either every node needs a unique name, or none may have one");
  }
}

void check_links(const Topology::Parts& parts) {
  const auto nodes = parts.kinds.size();
  for (std::size_t id = 0; id < parts.links.size(); ++id) {
    const Link& link = parts.links[id];
    COLLSIM_CHECK(link.from.index() < nodes && link.to.index() < nodes && link.from != link.to,
                  "link " + std::to_string(id) + " joins nodes " +
                      std::to_string(link.from.index()) + " and " +
                      std::to_string(link.to.index()) + " of " + std::to_string(nodes));
    COLLSIM_CHECK(link.latency >= Time{} && link.overhead >= Time{},
                  "link " + std::to_string(id) + " has a negative time");
    COLLSIM_CHECK(link.latency <= max_link_time && link.overhead <= max_link_time,
                  "link " + std::to_string(id) + " has too long a time");
    if (link.resource == LinkId(id)) continue;
    COLLSIM_CHECK(link.resource.index() < id, "link " + std::to_string(id) + " has resource " +
                                                  std::to_string(link.resource.index()));
    const Link& first = parts.links[link.resource.index()];
    COLLSIM_CHECK(link.half_duplex && first.half_duplex && first.resource == link.resource &&
                      first.from == link.to && first.to == link.from,
                  "links " + std::to_string(id) + " and " + std::to_string(link.resource.index()) +
                      " share a resource but are not one half-duplex cable");
  }
}

}  // namespace

const char* to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu: return "gpu";
    case NodeKind::network_switch: return "switch";
    case NodeKind::nic: return "nic";
    case NodeKind::cpu: return "cpu";
  }
  return "unknown";
}

void Topology::no_such(const char* what, std::size_t number, std::size_t count) {
  throw_error(ErrorCode::unknown_name, std::string("there is no ") + what + " " +
                                           std::to_string(number) + "; there are " +
                                           std::to_string(count));
}

Topology::Topology(Parts parts) {
  check_nodes(parts);
  check_links(parts);
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

LinkParameters Topology::parameters(LinkId id) const {
  if (id.index() >= parts_->links.size()) no_such("link", id.index(), parts_->links.size());
  const Link& of = link(id);
  return {.bandwidth = of.bandwidth,
          .latency = of.latency,
          .overhead = of.overhead,
          .sharing = of.sharing,
          .half_duplex = of.half_duplex};
}

std::optional<Rank> Topology::rank_at(NodeId node) const {
  const auto& nodes = parts_->rank_nodes;
  if (node.index() < nodes.size() && nodes[node.index()] == node) return Rank(node.index());
  const auto found = std::lower_bound(nodes.begin(), nodes.end(), node);
  if (found == nodes.end() || *found != node) return std::nullopt;
  return Rank(static_cast<std::size_t>(found - nodes.begin()));
}

std::string Topology::name(NodeId node) const {
  const NodeKind its_kind = kind(node);
  if (!parts_->names.empty()) return parts_->names[node.index()];
  const auto& kinds = parts_->kinds;
  const auto first = std::lower_bound(kinds.begin(), kinds.end(), its_kind);
  return to_string(its_kind) +
         std::to_string(node.index() - static_cast<std::size_t>(first - kinds.begin()));
}

std::string Topology::name(LinkId id) const {
  if (id.index() >= parts_->links.size()) no_such("link", id.index(), parts_->links.size());
  return name(link(id).from) + "->" + name(link(id).to);
}

std::optional<NodeId> Topology::find_node(const std::string& name) const {
  if (!parts_->names.empty()) {
    const auto found = parts_->node_by_name.find(name);
    if (found == parts_->node_by_name.end()) return std::nullopt;
    return found->second;
  }
  for (const NodeKind kind : all_kinds) {
    const std::string_view prefix = to_string(kind);
    if (!std::string_view(name).starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
    if (!is_number || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
    const auto [first, last] = std::equal_range(parts_->kinds.begin(), parts_->kinds.end(), kind);
    if (number >= last - first) return std::nullopt;
    return NodeId(static_cast<std::size_t>(first - parts_->kinds.begin()) + number);
  }
  return std::nullopt;
}

std::vector<LinkId> Topology::links_between(NodeId from, NodeId to) const {
  std::vector<LinkId> found;
  for (std::size_t id = 0; id < parts_->links.size(); ++id)
    if (parts_->links[id].from == from && parts_->links[id].to == to) found.emplace_back(id);
  return found;
}

std::optional<std::uint32_t> Topology::orbit(Symmetry symmetry, LinkId link) const {
  if (symmetry == Symmetry::rotation && parts_->rotation_orbit) return parts_->rotation_orbit(link);
  if (symmetry == Symmetry::exchange && parts_->exchange_orbit) return parts_->exchange_orbit(link);
  return std::nullopt;
}

}  // namespace collsim
