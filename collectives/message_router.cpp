// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_router.hpp"

#include <algorithm>
#include <optional>

namespace collsim {
namespace {

// Such schedules count on it, so other groups are the likely cause where lanes and switches part.
constexpr const char* even_nodes =
    ": what adds in switches needs as many ranks of the group on every node, those of a node one "
    "after the other";

}  // namespace

std::optional<LinkId> MessageRouter::link_to_switch(Endpoint lane) const {
  if (programs_.place(lane.lane) != Programs::Place::node_switch) return std::nullopt;
  return topology_.link_to_adding_switch(lane.rank);
}

bool MessageRouter::is_in_network(Endpoint lane) const {
  return topology_.network_adds() && programs_.place(lane.lane) == Programs::Place::network;
}

LinkId MessageRouter::link_from_switch(Rank rank) {
  if (from_switches_.empty()) {
    from_switches_.resize(topology_.rank_count());
    for (std::size_t id = topology_.links().size(); id-- > 0;) {
      const Link& link = topology_.link(LinkId(id));
      const std::optional<Rank> target = topology_.rank_at(link.to);
      const auto up = target ? topology_.link_to_adding_switch(*target) : std::nullopt;
      if (up && topology_.link(*up).to == link.from) from_switches_[target->index()] = LinkId(id);
    }
  }
  return from_switches_[rank.index()];
}

bool MessageRouter::within_switch(Endpoint from, Endpoint to) const {
  const auto up = link_to_switch(from);
  const auto down = link_to_switch(to);
  return up && down && topology_.link(*up).to == topology_.link(*down).to;
}

const Router::Choices* MessageRouter::choices(Endpoint from, Endpoint to) {
  if (!chooses_per_message(topology_) || from.rank == to.rank) return nullptr;
  if (link_to_switch(from) || link_to_switch(to)) return nullptr;
  if (is_in_network(from) || is_in_network(to)) return nullptr;
  return &router_.choices(from.rank, to.rank);
}

std::size_t MessageRouter::links_to_network(std::span<const LinkId> way) const {
  const auto adds = [&](LinkId id) {
    const Link& link = topology_.link(id);
    return topology_.leads_to_adding_network(link) &&
           topology_.kind(link.to) == NodeKind::network_switch;
  };
  const auto last = std::find_if(way.begin(), way.end(), adds);
  if (last == way.end())
    throw_error(ErrorCode::no_route, "no switch of the network adds on the way from ",
                topology_.name(topology_.link(way.front()).from), " to ",
                topology_.name(topology_.link(way.back()).to), even_nodes);
  return static_cast<std::size_t>(last - way.begin()) + 1;
}

std::span<const LinkId> MessageRouter::route_by_network(Endpoint from, Endpoint to) {
  const auto switch_from = [&](Rank rank, Rank other) {
    const std::span<const LinkId> way = router_.route(rank, other);
    return topology_.link(way[links_to_network(way) - 1]).to;
  };
  const NodeId one = switch_from(from.rank, to.rank);
  const NodeId other = switch_from(to.rank, from.rank);
  if (one != other)
    throw_error(ErrorCode::no_route, topology_.name(topology_.node_of(from.rank)), " is at ",
                topology_.name(one), " and ", topology_.name(topology_.node_of(to.rank)), " at ",
                topology_.name(other),
                ": sums of several switches of a network, which others add up, are not simulated; "
                "let one switch join the NICs of a kind, as a network of one switch or rails do");
  if (is_in_network(from) && is_in_network(to)) return {};
  const std::span<const LinkId> way = router_.route(from.rank, to.rank);
  way_.assign(way.begin(), way.end());
  const std::size_t up = links_to_network(way_);
  return is_in_network(to) ? std::span(way_).first(up) : std::span(way_).subspan(up);
}

std::span<const LinkId> MessageRouter::route_by_device(Endpoint from, Endpoint to) {
  if (is_in_network(from) || is_in_network(to)) return route_by_network(from, to);
  const auto source = link_to_switch(from);
  const auto target = link_to_switch(to);
  if (!source && !target) return router_.route(from.rank, to.rank, from.lane);
  if (within_switch(from, to)) return {};
  // A lane in a switch serves the ranks behind that switch.
  const Rank rank = source ? to.rank : from.rank;
  const std::optional<LinkId> link = topology_.link_to_adding_switch(rank);
  const NodeId place = topology_.link(source ? *source : *target).to;
  if (!link || topology_.link(*link).to != place)
    throw_error(ErrorCode::no_route, "rank ", rank.index(), " is not behind the switch ",
                topology_.name(place), ", where a lane runs that it talks to", even_nodes);
  link_ = source ? link_from_switch(rank) : *link;
  return {&link_, 1};
}

}  // namespace collsim
