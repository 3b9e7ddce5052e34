// SPDX-License-Identifier: Apache-2.0
#include "sim/message_router.hpp"

#include <optional>

namespace collsim {

std::optional<LinkId> MessageRouter::link_to_switch(Endpoint lane) const {
  if (!programs_.runs_in_switch(lane.lane)) return std::nullopt;
  return topology_.link_to_adding_switch(lane.rank);
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
  return &router_.choices(from.rank, to.rank);
}

std::span<const LinkId> MessageRouter::route_by_device(Endpoint from, Endpoint to) {
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
                topology_.name(place), ", where a lane runs that it talks to");
  link_ = source ? link_from_switch(rank) : *link;
  return {&link_, 1};
}

}  // namespace collsim
