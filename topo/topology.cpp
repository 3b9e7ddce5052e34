// SPDX-License-Identifier: Apache-2.0
#include "topo/topology.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "topo/parts.hpp"

namespace collsim {

void throw_too_large_id(const char* what, std::size_t value) {
  throw_error(ErrorCode::too_large, what, " ", value, " is more than an id holds");
}

namespace {

constexpr NodeKind all_kinds[] = {NodeKind::gpu, NodeKind::network_switch, NodeKind::nic,
                                  NodeKind::cpu};

void check_nodes(const Topology::Parts& parts) {
  std::size_t ranks = 0;
  for (std::size_t node = 0; node < parts.kinds.size(); ++node) {
    if (parts.kinds[node] != NodeKind::gpu) continue;
    COLLSIM_CHECK(ranks < parts.rank_nodes.size() && parts.rank_nodes[ranks] == NodeId(node),
                  concat("node ", node, " is a gpu but not rank ", ranks));
    ++ranks;
  }
  COLLSIM_CHECK(ranks == parts.rank_nodes.size(),
                concat(parts.rank_nodes.size(), " ranks but ", ranks, " gpus"));
  COLLSIM_CHECK(ranks > 0, "a topology without ranks");
  if (parts.names.empty()) {
    COLLSIM_CHECK(std::is_sorted(parts.kinds.begin(), parts.kinds.end()),
                  "nodes without names must be sorted by kind");
  } else {
    COLLSIM_CHECK(parts.names.size() == parts.kinds.size(),
                  "either every node needs a name, or none may have one");
  }
}

void check_links(const Topology::Parts& parts) {
  const auto nodes = parts.kinds.size();
  for (std::size_t id = 0; id < parts.links.size(); ++id) {
    const Link& link = parts.links[id];
    COLLSIM_CHECK(link.from.index() < nodes && link.to.index() < nodes && link.from != link.to,
                  concat("link ", id, " joins nodes ", link.from.index(), " and ", link.to.index(),
                         " of ", nodes));
    COLLSIM_CHECK(link.latency >= Time{} && link.startup >= Time{},
                  concat("link ", id, " has a negative time"));
    COLLSIM_CHECK(link.latency <= max_link_time && link.startup <= max_link_time,
                  concat("link ", id, " has too long a time"));
    if (link.resource == LinkId(id)) continue;
    COLLSIM_CHECK(link.resource.index() < id,
                  concat("link ", id, " has resource ", link.resource.index()));
    const Link& first = parts.links[link.resource.index()];
    COLLSIM_CHECK(link.half_duplex && first.half_duplex && first.resource == link.resource &&
                      first.from == link.to && first.to == link.from,
                  concat("links ", id, " and ", link.resource.index(),
                         " share a resource but are not one half-duplex cable"));
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
  throw_error(ErrorCode::unknown_name, "there is no ", what, " ", number, "; there are ", count);
}

namespace {

// NVSwitches that add: a rank's links to them say so.  Other switches on the way to NICs carry what
// they have added, so the widest link counts.
std::vector<std::optional<LinkId>> links_to_adding_switches(const Topology::Parts& parts) {
  const auto adds = [](const Protocols& of) { return cost_of(of, LinkProtocol::nvls).has_value(); };
  std::vector<std::optional<LinkId>> found;
  if (std::none_of(parts.protocols.begin(), parts.protocols.end(), adds)) return found;
  found.resize(parts.rank_nodes.size());
  for (std::size_t id = 0; id < parts.links.size(); ++id) {
    const Link& link = parts.links[id];
    if (link.down || !adds(parts.protocols[link.protocols])) continue;
    if (parts.kinds[link.to.index()] != NodeKind::network_switch) continue;
    if (parts.kinds[link.from.index()] != NodeKind::gpu) continue;
    const auto at = std::lower_bound(parts.rank_nodes.begin(), parts.rank_nodes.end(), link.from);
    auto& of_rank = found[static_cast<std::size_t>(at - parts.rank_nodes.begin())];
    if (!of_rank || parts.links[of_rank->index()].bandwidth < link.bandwidth) of_rank = LinkId(id);
  }
  return found;
}

}  // namespace

Topology::Topology(Parts parts) {
  check_nodes(parts);
  check_links(parts);
  parts.to_adding_switch = links_to_adding_switches(parts);
  parts.network_adds = std::any_of(
      parts.protocols.begin(), parts.protocols.end(),
      [](const Protocols& of) { return cost_of(of, LinkProtocol::collnet).has_value(); });
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

LinkParameters Topology::parameters(LinkId id) const {
  if (id.index() >= parts_->links.size()) no_such("link", id.index(), parts_->links.size());
  const Link& of = link(id);
  return {.bandwidth = of.bandwidth,
          .latency = of.latency,
          .startup = of.startup,
          .sharing = of.sharing,
          .half_duplex = of.half_duplex,
          .down = of.down,
          .protocols = protocols_of(of),
          .segments = segments_of(of)};
}

LinkSegment Topology::cost_on(const Link& link, Bytes bytes) const {
  const LinkSegments& segments = segments_of(link);
  if (segments.empty())
    return {.bandwidth = link.bandwidth, .latency = link.latency, .startup = link.startup};
  return row_for(segments, bytes);
}

const LinkSegment& row_for(const LinkSegments& segments, Bytes bytes) {
  for (const LinkSegment& segment : segments)
    if (bytes <= segment.up_to) return segment;
  return segments.back();
}

void take_best_of_segments(LinkParameters& parameters) {
  if (parameters.segments.empty()) return;
  const LinkSegment& first = parameters.segments.front();
  parameters.bandwidth = first.bandwidth;
  parameters.latency = first.latency;
  parameters.startup = first.startup;
  for (const LinkSegment& segment : parameters.segments) {
    parameters.bandwidth = std::max(parameters.bandwidth, segment.bandwidth);
    parameters.latency = std::min(parameters.latency, segment.latency);
    parameters.startup = std::min(parameters.startup, segment.startup);
  }
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
  for (const Parts::Level& level : parts_->levels)
    if (node >= level.first && node.index() - level.first.index() < level.count)
      return level.name + std::to_string(node.index() - level.first.index());
  const auto& kinds = parts_->kinds;
  const auto first = std::lower_bound(kinds.begin(), kinds.end(), its_kind);
  return to_string(its_kind) +
         std::to_string(node.index() - static_cast<std::size_t>(first - kinds.begin()));
}

std::string Topology::name(LinkId id) const {
  if (id.index() >= parts_->links.size()) no_such("link", id.index(), parts_->links.size());
  return name(link(id).from) + "->" + name(link(id).to);
}

namespace {

// 12 of "spine12".
std::optional<std::size_t> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
  if (!is_number || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return number;
}

}  // namespace

std::optional<NodeId> Topology::find_node(const std::string& name) const {
  if (!parts_->names.empty()) return parts_->names.find(name);
  for (const Parts::Level& level : parts_->levels)
    if (const auto number = number_after(level.name, name); number && *number < level.count)
      return NodeId(level.first.index() + *number);
  for (const NodeKind kind : all_kinds) {
    const auto number = number_after(to_string(kind), name);
    if (!number) continue;
    const auto [first, last] = std::equal_range(parts_->kinds.begin(), parts_->kinds.end(), kind);
    if (*number >= static_cast<std::size_t>(last - first)) return std::nullopt;
    return NodeId(static_cast<std::size_t>(first - parts_->kinds.begin()) + *number);
  }
  return std::nullopt;
}

std::vector<LinkId> Topology::links_between(NodeId from, NodeId to) const {
  std::vector<LinkId> found;
  for (std::size_t id = 0; id < parts_->links.size(); ++id)
    if (parts_->links[id].from == from && parts_->links[id].to == to) found.emplace_back(id);
  return found;
}

// --- changed links -------------------------------------------------------------------------------

namespace {

// The other direction of the same cable: the n-th link one way belongs with the n-th the other way.
LinkId opposite(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  const std::vector<LinkId> there = topology.links_between(link.from, link.to);
  const std::vector<LinkId> back = topology.links_between(link.to, link.from);
  const auto n =
      static_cast<std::size_t>(std::find(there.begin(), there.end(), id) - there.begin());
  if (n >= back.size())
    throw_error(ErrorCode::invalid_argument,
                "link " + topology.name(id) +
                    " cannot be half duplex: there is no link in the opposite direction");
  return back[n];
}

void join(std::vector<Link>& links, LinkId a, LinkId b) {
  const LinkId first = std::min(a, b);
  for (const LinkId id : {a, b}) {
    links[id.index()].resource = first;
    links[id.index()].half_duplex = true;
  }
}

void separate(std::vector<Link>& links, LinkId resource) {
  for (std::size_t id = 0; id < links.size(); ++id) {
    if (links[id].resource != resource) continue;
    links[id].resource = LinkId(id);
    links[id].half_duplex = false;
  }
}

// Both directions of a half-duplex cable are one resource and must agree on what it is.
void check_half_duplex(const Topology& topology, const std::vector<Link>& links) {
  for (std::size_t id = 0; id < links.size(); ++id) {
    const Link& shared = links[links[id].resource.index()];
    if (links[id].sharing != shared.sharing || links[id].bandwidth != shared.bandwidth)
      throw_error(ErrorCode::invalid_argument,
                  "link " + topology.name(LinkId(id)) +
                      " is half duplex: both directions need the same sharing and bandwidth");
  }
}

// Turns stay where all links of each kind have changed alike, so that none tells two ranks apart.
bool still_turns(const Topology::Turning& turning, const std::vector<Link>& links) {
  std::unordered_map<std::uint32_t, const Link*> by_kind;
  return std::none_of(links.begin(), links.end(), [&](const Link& link) {
    const LinkPlace place = turning.place(LinkId(static_cast<std::size_t>(&link - links.data())));
    const Link& alike = *by_kind.try_emplace(place.kind, &link).first->second;
    return link.half_duplex || link.down || link.bandwidth != alike.bandwidth ||
           link.latency != alike.latency || link.startup != alike.startup ||
           link.sharing != alike.sharing || link.protocols != alike.protocols ||
           link.segments != alike.segments;
  });
}

}  // namespace

Topology Topology::with_changed_links(std::span<const LinkChange> changes) const {
  if (changes.empty()) return *this;
  Parts parts = *parts_;
  bool bandwidth_changed = false;
  for (const auto& [id, parameters] : changes) {
    if (id.index() >= parts.links.size()) no_such("link", id.index(), parts.links.size());
    const std::string wrong = wrong_with(parameters);
    if (!wrong.empty()) throw_error(ErrorCode::invalid_argument, "link " + name(id) + ": " + wrong);
    Link& changed = parts.links[id.index()];
    bandwidth_changed = bandwidth_changed || changed.bandwidth != parameters.bandwidth;
    changed.bandwidth = parameters.bandwidth;
    changed.latency = parameters.latency;
    changed.startup = parameters.startup;
    changed.sharing = parameters.sharing;
    changed.down = parameters.down;
    changed.protocols = kind_of(parts, parameters.protocols);
    changed.segments = kind_of(parts, parameters.segments);
    if (parameters.half_duplex && !changed.half_duplex) join(parts.links, id, opposite(*this, id));
    if (!parameters.half_duplex && changed.half_duplex) separate(parts.links, changed.resource);
  }
  check_half_duplex(*this, parts.links);
  const bool fixed = parts.routes_ignore_bandwidth || parts.routing == Routing::dimension_order;
  if (bandwidth_changed && !fixed && parts.ways != nullptr) {
    parts.ways = nullptr;
    if (parts.routing == Routing::usual) parts.routing = Routing::first;
  }
  std::erase_if(parts.turnings, [&](const Turning& turning) {
    return (bandwidth_changed && !fixed) || !still_turns(turning, parts.links);
  });
  return Topology(std::move(parts));
}

// --- the builder ---------------------------------------------------------------------------------

NodeId TopologyBuilder::add_node(NodeKind kind, const std::string& name) {
  const NodeId node(parts_.kinds.size());
  std::string own_name = name;
  std::size_t& number = count_of_kind_[static_cast<std::size_t>(kind)];
  if (own_name.empty()) own_name = to_string(kind) + std::to_string(number);
  if (!names_.insert(own_name).second)
    throw_error(ErrorCode::invalid_argument,
                "device '" + own_name + "' exists twice; device names must be unique");
  parts_.names.add(std::move(own_name));
  add_nodes(parts_, kind, 1);
  ++number;
  return node;
}

std::string TopologyBuilder::name_of(NodeId node) const {
  if (node.index() < parts_.names.size()) return parts_.names[node.index()];
  return "node " + std::to_string(node.index());
}

void TopologyBuilder::check_ends(NodeId from, NodeId to, const LinkParameters& parameters) const {
  for (const NodeId end : {from, to})
    if (end.index() >= parts_.kinds.size())
      throw_error(ErrorCode::unknown_name, "link ", name_of(from), "->", name_of(to),
                  ": there is no ", name_of(end), "; ", parts_.kinds.size(), " devices were added");
  if (from == to)
    throw_error(ErrorCode::invalid_argument,
                "device '" + name_of(from) + "' is linked to itself; a link joins two devices");
  const std::string wrong = wrong_with(parameters);
  if (!wrong.empty())
    throw_error(ErrorCode::invalid_argument,
                "link " + name_of(from) + "->" + name_of(to) + ": " + wrong);
}

LinkId TopologyBuilder::connect(NodeId from, NodeId to, const LinkParameters& parameters) {
  check_ends(from, to, parameters);
  return add_cable(parts_, from, to, parameters);
}

LinkId TopologyBuilder::connect_one_way(NodeId from, NodeId to, const LinkParameters& parameters) {
  check_ends(from, to, parameters);
  if (parameters.half_duplex)
    throw_error(ErrorCode::invalid_argument,
                "link " + name_of(from) + "->" + name_of(to) +
                    " goes one way: it cannot be half duplex, which shares two directions");
  return add_link(parts_, from, to, parameters);
}

Topology TopologyBuilder::build(const std::string& shape) const {
  if (parts_.rank_nodes.empty())
    throw_error(ErrorCode::invalid_argument, "no device of kind gpu among ", parts_.kinds.size(),
                "; the gpus are the ranks, at least 1 is needed");
  if (parts_.rank_nodes.size() > max_ranks || parts_.links.size() > max_links)
    throw_error(ErrorCode::too_large, parts_.rank_nodes.size(), " ranks and ", parts_.links.size(),
                " links; at most ", max_ranks, " and ", max_links, " allowed");
  Topology::Parts parts = parts_;
  parts.shape = shape;
  return Topology(std::move(parts));
}

}  // namespace collsim
