// SPDX-License-Identifier: Apache-2.0
#include "app/study/slow_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/json/screen_text.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

constexpr std::int64_t far_slower = 1000;
constexpr std::size_t most_slow_links = 3;

std::int64_t speed_of_link(const Topology& topology, LinkId id) {
  return topology.link(id).bandwidth.bytes_per_second();
}

// Of each link, the fastest between devices of the same kinds.
std::vector<LinkId> fastest_alike(const Topology& topology) {
  std::map<std::pair<NodeKind, NodeKind>, LinkId> fastest;
  const auto links = topology.links();
  const auto ends = [&](std::size_t id) {
    return std::make_pair(topology.kind(links[id].from), topology.kind(links[id].to));
  };
  for (std::size_t id = 0; id < links.size(); ++id) {
    LinkId& best = fastest.try_emplace(ends(id), id).first->second;
    if (speed_of_link(topology, best) < speed_of_link(topology, LinkId(id))) best = LinkId(id);
  }
  std::vector<LinkId> of_each;
  of_each.reserve(links.size());
  for (std::size_t id = 0; id < links.size(); ++id) of_each.push_back(fastest.at(ends(id)));
  return of_each;
}

// The widest of those that messages cross from the same device to another of the same kind; if
// there is none, the fastest of all.
LinkId taken_instead(const Topology& topology, LinkId narrow, const std::vector<bool>& crossed,
                     LinkId fastest) {
  std::optional<LinkId> best;
  const Link& link = topology.link(narrow);
  for (std::size_t id = 0; id < crossed.size(); ++id) {
    const Link& other = topology.links()[id];
    const bool leads_likewise =
        other.from == link.from && topology.kind(other.to) == topology.kind(link.to);
    if (crossed[id] && leads_likewise &&
        (!best || speed_of_link(topology, *best) < speed_of_link(topology, LinkId(id))))
      best = LinkId(id);
  }
  return best.value_or(fastest);
}

// Whether ways are searched; those of shapes do not heed how wide links are.
bool takes_the_widest(const Topology& topology) {
  return topology.parts().ways == nullptr;
}

// Which links some message of some ranks may cross.
std::vector<bool> crossed_links(const Topology& topology) {
  std::vector<bool> crossed(topology.links().size());
  Router router(topology);
  for (std::size_t from = 0; from < topology.rank_count(); ++from)
    for (std::size_t to = 0; to < topology.rank_count(); ++to)
      if (from != to)
        for (const std::vector<LinkId>& way : router.choices(Rank(from), Rank(to)).ways)
          for (const LinkId id : way) crossed[id.index()] = true;
  return crossed;
}

}  // namespace

std::vector<std::string> far_slower_links(const Topology& topology) {
  std::vector<std::string> found;
  const std::vector<LinkId> fastest = fastest_alike(topology);
  const auto links = topology.links();
  for (std::size_t id = 0; id < links.size() && found.size() < most_slow_links; ++id) {
    const std::int64_t times =
        speed_of_link(topology, fastest[id]) / speed_of_link(topology, LinkId(id));
    if (links[id].down || times < far_slower) continue;
    found.push_back(fmt::format(
        "{} ({}) is {} times slower than {}; {}. A cable that is broken is \"down\": true",
        topology.name(LinkId(id)), to_text(links[id].bandwidth), with_commas(std::to_string(times)),
        topology.name(fastest[id]),
        takes_the_widest(topology)
            ? "messages take the widest of equally short ways, and cross it where no other is"
            : "routes of a fixed rule cross it all the same"));
  }
  return found;
}

std::vector<std::string> links_too_narrow_to_use(const Topology& topology) {
  constexpr std::size_t most_ranks = 128;
  if (!takes_the_widest(topology) || topology.rank_count() > most_ranks) return {};
  const std::vector<LinkId> fastest = fastest_alike(topology);
  const auto links = topology.links();
  std::vector<std::size_t> narrow;
  Topology::Parts widened = topology.parts();
  for (std::size_t id = 0; id < links.size(); ++id) {
    const bool of_switches = topology.kind(links[id].from) == NodeKind::network_switch &&
                             topology.kind(links[id].to) == NodeKind::network_switch;
    const std::int64_t times =
        speed_of_link(topology, fastest[id]) / speed_of_link(topology, LinkId(id));
    if (!of_switches || links[id].down || times >= far_slower ||
        links[fastest[id].index()].bandwidth == links[id].bandwidth)
      continue;
    narrow.push_back(id);
    widened.links[id].bandwidth = links[fastest[id].index()].bandwidth;
  }
  if (narrow.empty()) return {};
  const std::vector<bool> now = crossed_links(topology);
  const std::vector<bool> then = crossed_links(Topology(std::move(widened)));
  std::vector<std::string> found;
  std::set<std::pair<NodeId, NodeId>> named;  // a cable once, not in both directions
  for (const std::size_t id : narrow) {
    const Link& link = links[id];
    if (!now[id] && then[id] && found.size() < most_slow_links &&
        named.emplace(std::min(link.from, link.to), std::max(link.from, link.to)).second) {
      const LinkId instead = taken_instead(topology, LinkId(id), now, fastest[id]);
      found.push_back(fmt::format(
          "{} ({}) carries nothing: messages take the widest of equally short ways, as by {} ({})",
          topology.name(LinkId(id)), to_text(links[id].bandwidth), topology.name(instead),
          to_text(topology.link(instead).bandwidth)));
    }
  }
  return found;
}

}  // namespace collsim
