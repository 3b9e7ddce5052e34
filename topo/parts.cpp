// SPDX-License-Identifier: Apache-2.0
#include "topo/parts.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace collsim {

namespace {

std::string wrong_with(const std::string& what, Time time) {
  if (time < Time{}) return concat("the ", what, " is ", time.ps(), " ps; it must not be negative");
  if (time > max_link_time)
    return concat("the ", what, " is ", time.ps(), " ps; that is too long, at most ",
                  max_link_time.ps(), " ps (53 days) allowed");
  return {};
}

}  // namespace

std::string wrong_with(const ProtocolCost& cost) {
  if (!(cost.rate > 0 && cost.rate <= 1000))
    return "the rate of a protocol must be more than 0 and at most 1000";
  if (!(cost.growth >= 0 && cost.growth <= 1000))
    return "the growth of a protocol's hop must be 0 to 1000";
  if (cost.per_chunk < 0) return "the bytes that a chunk costs must not be negative";
  return wrong_with("hop", cost.hop);
}

std::string wrong_with(const LinkParameters& parameters) {
  std::string wrong = wrong_with("latency", parameters.latency);
  if (wrong.empty()) wrong = wrong_with("overhead", parameters.startup);
  for (const std::optional<ProtocolCost>& cost : parameters.protocols)
    if (wrong.empty() && cost) wrong = wrong_with(*cost);
  if (wrong.empty() && !parameters.segments.empty() && parameters.sharing == Sharing::fair)
    wrong = "a link that is shared fairly cannot have segments";
  Bytes before = -1;
  for (const LinkSegment& segment : parameters.segments) {
    if (wrong.empty()) wrong = wrong_with("latency", segment.latency);
    if (wrong.empty()) wrong = wrong_with("overhead", segment.startup);
    if (wrong.empty() && segment.up_to <= before)
      wrong = concat("a segment up to ", segment.up_to, " bytes after one up to ", before);
    before = segment.up_to;
  }
  return wrong;
}

void check_rank_count(const std::string& shape, std::size_t ranks) {
  if (ranks == 0) throw_error(ErrorCode::invalid_argument, shape + ": 0 ranks; at least 1 allowed");
  if (ranks > max_ranks)
    throw_error(ErrorCode::too_large, shape, ": ", ranks, " ranks; at most ", max_ranks,
                " allowed");
}

void check_shape_link(const std::string& shape, const LinkParameters& parameters) {
  const std::string wrong = wrong_with(parameters);
  if (!wrong.empty()) throw_error(ErrorCode::invalid_argument, shape + ": " + wrong);
}

Topology::Parts shape_parts(const std::string& shape, std::size_t ranks, std::size_t links) {
  check_rank_count(shape, ranks);
  if (links > max_links)
    throw_error(ErrorCode::too_large, shape, ": ", ranks, " ranks would need ", links,
                " links; at most ", max_links, " allowed");
  Topology::Parts parts;
  parts.shape = shape;
  parts.links.reserve(links);
  parts.rank_nodes.reserve(ranks);
  add_nodes(parts, NodeKind::gpu, ranks);
  return parts;
}

void add_nodes(Topology::Parts& parts, NodeKind kind, std::size_t count) {
  if (kind == NodeKind::gpu)
    for (std::size_t i = 0; i < count; ++i)
      parts.rank_nodes.push_back(NodeId(parts.kinds.size() + i));
  parts.kinds.insert(parts.kinds.end(), count, kind);
}

namespace {

template <class Kind>
std::uint16_t number_among(std::vector<Kind>& known, const Kind& kind, const char* by) {
  const auto found = std::find(known.begin(), known.end(), kind);
  if (found == known.end() && known.size() > std::numeric_limits<std::uint16_t>::max())
    throw_error(ErrorCode::too_large, "more than 65,535 kinds of links by their ", by);
  const auto number = static_cast<std::uint16_t>(found - known.begin());
  if (found == known.end()) known.push_back(kind);
  return number;
}

}  // namespace

std::uint16_t kind_of(Topology::Parts& parts, const Protocols& protocols) {
  return number_among(parts.protocols, protocols, "protocols");
}
std::uint16_t kind_of(Topology::Parts& parts, const LinkSegments& segments) {
  return number_among(parts.segments, segments, "segments");
}

std::vector<TurnDigit> binary_digits(std::size_t ranks) {
  return std::vector<TurnDigit>(static_cast<std::size_t>(std::countr_zero(ranks)), TurnDigit{2});
}

LinkId add_link(Topology::Parts& parts, NodeId from, NodeId to, const LinkParameters& parameters) {
  const LinkId id(parts.links.size());
  parts.links.push_back({.from = from,
                         .to = to,
                         .resource = id,
                         .sharing = parameters.sharing,
                         .half_duplex = parameters.half_duplex,
                         .down = parameters.down,
                         .protocols = kind_of(parts, parameters.protocols),
                         .segments = kind_of(parts, parameters.segments),
                         .bandwidth = parameters.bandwidth,
                         .latency = parameters.latency,
                         .startup = parameters.startup});
  return id;
}

LinkId add_reverse_link(Topology::Parts& parts, LinkId first, const LinkParameters& parameters) {
  const NodeId from = parts.links[first.index()].to;
  const NodeId to = parts.links[first.index()].from;
  const LinkId id = add_link(parts, from, to, parameters);
  if (parameters.half_duplex) parts.links.back().resource = first;
  return id;
}

LinkId add_cable(Topology::Parts& parts, NodeId from, NodeId to, const LinkParameters& parameters) {
  const LinkId first = add_link(parts, from, to, parameters);
  add_reverse_link(parts, first, parameters);
  return first;
}

}  // namespace collsim
