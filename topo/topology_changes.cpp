// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "topo/parts.hpp"
#include "topo/topology.hpp"

namespace collsim {

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
    changed.overhead = parameters.overhead;
    changed.sharing = parameters.sharing;
    if (parameters.half_duplex && !changed.half_duplex) join(parts.links, id, opposite(*this, id));
    if (!parameters.half_duplex && changed.half_duplex) separate(parts.links, changed.resource);
  }
  check_half_duplex(*this, parts.links);
  parts.rotation_orbit = nullptr;
  parts.exchange_orbit = nullptr;
  if (bandwidth_changed && !parts.routes_ignore_bandwidth) parts.known_route = nullptr;
  return Topology(std::move(parts));
}

}  // namespace collsim
