// SPDX-License-Identifier: Apache-2.0
#include "sim/quotient.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/participants.hpp"

namespace collsim {

namespace {

// A hash of ranks is not the same after a turn; nor is the way with the smallest number, but for
// the graphs that say so; nor a search, which goes by the ids of links.
bool routes_turn(const Topology& topology) {
  switch (topology.parts().routing) {
    case Routing::first: return topology.parts().ways == nullptr;
    case Routing::usual:
    case Routing::d_mod_k:
    case Routing::dimension_order: return topology.parts().ways != nullptr;
    default: return false;
  }
}

// Searched routes take the n-th of parallel cables for lane n: others where lanes are exchanged.
bool lanes_choose_cables(const Topology& topology) {
  if (topology.parts().ways != nullptr) return false;
  std::vector<std::pair<NodeId, NodeId>> ends;
  ends.reserve(topology.links().size());
  for (const Link& link : topology.links()) ends.emplace_back(link.from, link.to);
  std::sort(ends.begin(), ends.end());
  return std::adjacent_find(ends.begin(), ends.end()) != ends.end();
}

// Where the order of messages does not matter every renaming leaves the schedule unchanged.
std::vector<TurnDigit> turns_of(const Topology& topology, const Programs& programs,
                                const CostModel& costs) {
  const auto mirrors = [](const TurnDigit& digit) { return digit.mirrors; };
  std::vector<TurnDigit> turns = programs.turns();
  if (std::any_of(turns.begin(), turns.end(), mirrors) && lanes_choose_cables(topology))
    for (TurnDigit& digit : turns) digit.mirrors = false;
  const bool all_fair = std::all_of(topology.links().begin(), topology.links().end(),
                                    [](const Link& link) { return link.sharing == Sharing::fair; });
  if (!all_fair || !programs.exchanges_in_rounds() || !costs.instructions_are_free()) return turns;
  return {{.size = static_cast<std::uint32_t>(programs.size()), .permutes = true}};
}

}  // namespace

std::optional<Quotient> Quotient::of(const Topology& topology, const Programs& programs,
                                     const CostModel& costs) {
  const bool whole_machine = static_cast<std::size_t>(programs.size()) == topology.rank_count() &&
                             Participants(topology, programs).in_order();
  if (!routes_turn(topology) || !whole_machine || programs.size() < 2) return std::nullopt;
  if (programs.turns().empty()) return std::nullopt;
  const std::vector<TurnDigit> free_to_turn = turns_of(topology, programs, costs);
  const Topology::Turning* best = nullptr;
  Turns turns;
  for (const Topology::Turning& turning : topology.turnings()) {
    Turns common = Turns::common(turning.digits, free_to_turn);
    if (common.order() <= turns.order()) continue;
    best = &turning;
    turns = std::move(common);
  }
  if (best == nullptr) return std::nullopt;
  Quotient quotient(topology, *best, std::move(turns));
  if (!quotient.topology_) return std::nullopt;
  return quotient;
}

Quotient::Quotient(const Topology& topology, const Topology::Turning& turning, Turns turns)
    : turns_(std::move(turns)) {
  const std::size_t ranks = topology.rank_count();
  numbers_.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Rank its = first_of_orbit(Rank(rank));
    if (its == Rank(rank)) {
      numbers_[rank] = static_cast<std::uint32_t>(representatives_.size());
      representatives_.push_back(its);
    } else {
      numbers_[rank] = numbers_[its.index()];
    }
  }
  if (!find_orbits(topology, turning)) topology_.reset();
}

std::uint32_t Quotient::turns_that_keep(const LinkPlace& place) const {
  std::uint32_t count = 1;
  for (const Turns::Digit& digit : turns_.digits())
    if ((place.without >> digit.of_network & 1U) != 0) count *= digit.turns();
  return count;
}

bool Quotient::find_orbits(const Topology& topology, const Topology::Turning& turning) {
  Topology::Parts parts;
  parts.shape = topology.shape();
  parts.segments = topology.parts().segments;
  parts.kinds.assign(topology.rank_count(), NodeKind::gpu);
  parts.rank_nodes.reserve(topology.rank_count());
  for (std::size_t rank = 0; rank < topology.rank_count(); ++rank)
    parts.rank_nodes.emplace_back(rank);
  parts.kinds.push_back(NodeKind::network_switch);
  const NodeId anywhere(topology.rank_count());

  std::unordered_map<std::uint64_t, LinkId> orbit_at;
  std::optional<std::uint64_t> latest;  // the same orbit again, as a rule
  orbits_.reserve(topology.links().size());
  places_.reserve(topology.links().size());
  for (std::size_t id = 0; id < topology.links().size(); ++id) {
    const LinkPlace place = turning.place(LinkId(id));
    places_.push_back(place.at);
    const Rank first = first_of_orbit(place.at);
    const std::uint64_t key = (std::uint64_t{place.kind} << 32U) | first.index();
    if (key == latest) {
      orbits_.push_back(orbits_.back());
      continue;
    }
    latest = key;
    const auto [known, is_new] = orbit_at.try_emplace(key, LinkId(parts.links.size()));
    orbits_.push_back(known->second);
    if (!is_new) continue;
    Link link = topology.link(LinkId(id));
    COLLSIM_CHECK(link.resource == LinkId(id) && !link.down, "turns of a half-duplex or lost link");
    const std::uint32_t copies = turns_that_keep(place);
    if (copies > 1 && link.sharing == Sharing::exclusive) return false;
    const bool divides = link.bandwidth.bytes_per_second() % copies == 0;
    if (divides) link.bandwidth = Bandwidth(link.bandwidth.bytes_per_second() / copies);
    copies_.push_back(divides ? 1 : copies);
    link.from = NodeId(0);
    link.to = anywhere;
    link.resource = known->second;
    link.protocols = 0;
    parts.links.push_back(link);
  }
  topology_.emplace(std::move(parts));
  return true;
}

}  // namespace collsim
