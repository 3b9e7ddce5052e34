// SPDX-License-Identifier: Apache-2.0
#include "topo/routes.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace collsim {

namespace {

// How many ways (16 bytes each) are remembered before all are forgotten.
constexpr std::size_t max_remembered = std::size_t{1} << 22;

}  // namespace

std::span<const LinkId> Router::route(Rank from, Rank to, Lane lane) {
  if (!topology_.parts().known_route) {
    static_cast<void>(searched_route(from, to));
    if (lane.index() > 0) spread_over_cables(lane);
    return route_;
  }
  COLLSIM_CHECK(std::max(from, to).index() < topology_.rank_count(),
                "route to or from rank " + std::to_string(std::max(from, to).index()));
  route_.clear();
  if (from != to) topology_.parts().known_route(from, to, route_);
  return route_;
}

std::span<const LinkId> Router::searched_route(Rank from, Rank to) {
  COLLSIM_CHECK(std::max(from, to).index() < topology_.rank_count(),
                "route to or from rank " + std::to_string(std::max(from, to).index()));
  route_.clear();
  if (from == to) return route_;
  const NodeId source = topology_.node_of(from);
  const NodeId target = topology_.node_of(to);
  find_neighbours();
  if (take_direct_link(source, target)) return route_;
  for (const bool through_ranks : {false, true}) {
    const Ways& ways = ways_to(to, through_ranks);
    if (ways[source.index()].width == 0) continue;
    walk(source, target, through_ranks, ways);
    return route_;
  }
  throw_error(ErrorCode::no_route, "no route from " + topology_.name(source) + " to " +
                                       topology_.name(target) +
                                       ": no chain of links leads from the one to the other");
}

Router::Adjacency Router::adjacency(NodeId Link::*end) const {
  Adjacency result;
  const auto links = topology_.links();
  result.first.assign(topology_.node_count() + 1, 0);
  for (const Link& link : links) ++result.first[(link.*end).index() + 1];
  for (std::size_t node = 1; node < result.first.size(); ++node)
    result.first[node] += result.first[node - 1];
  std::vector<std::size_t> next(result.first.begin(), result.first.end() - 1);
  result.links.resize(links.size());
  for (std::size_t id = 0; id < links.size(); ++id)
    result.links[next[(links[id].*end).index()]++] = LinkId(id);
  return result;
}

void Router::find_neighbours() {
  if (!entering_.first.empty()) return;
  entering_ = adjacency(&Link::to);
  leaving_ = adjacency(&Link::from);
}

// Neighbours need no search: nothing has fewer hops.
bool Router::take_direct_link(NodeId from, NodeId to) {
  std::int64_t widest = 0;
  for (const LinkId id : leaving_.of(from)) {
    const Link& link = topology_.link(id);
    if (link.to != to || link.bandwidth.bytes_per_second() <= widest) continue;
    widest = link.bandwidth.bytes_per_second();
    route_.assign(1, id);
  }
  return widest > 0;
}

void Router::spread_over_cables(Lane lane) {
  std::vector<LinkId> cables;
  for (LinkId& taken : route_) {
    const Link& chosen = topology_.link(taken);
    cables.clear();
    for (const LinkId id : leaving_.of(chosen.from))
      if (topology_.link(id).to == chosen.to && topology_.link(id).bandwidth == chosen.bandwidth)
        cables.push_back(id);
    taken = cables[lane.index() % cables.size()];
  }
}

const Router::Ways& Router::ways_to(Rank target, bool through_ranks) {
  const std::uint64_t key = 2 * target.index() + (through_ranks ? 1 : 0);
  if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  if ((ways_.size() + 1) * topology_.node_count() > max_remembered) ways_.clear();
  return ways_[key] = search_from(topology_.node_of(target), through_ranks);
}

bool Router::may_relay(NodeId node, NodeId target, bool through_ranks) const {
  return through_ranks || node == target || topology_.kind(node) != NodeKind::gpu;
}

// Breadth first, backwards from the target.  A node is taken from the queue after all nodes nearer
// to the target, so its own width is final when it is offered to the nodes before it.
Router::Ways Router::search_from(NodeId target, bool through_ranks) const {
  Ways ways(topology_.node_count());
  ways[target.index()].width = std::numeric_limits<std::int64_t>::max();
  std::vector<NodeId> queue{target};
  for (std::size_t taken = 0; taken < queue.size(); ++taken) {
    const NodeId node = queue[taken];
    const Way way = ways[node.index()];
    for (const LinkId id : entering_.of(node)) {
      const Link& link = topology_.link(id);
      Way& before = ways[link.from.index()];
      const std::int64_t width = std::min(way.width, link.bandwidth.bytes_per_second());
      if (before.width == 0) {
        before = {.width = width, .hops = way.hops + 1, .next = id};
        if (may_relay(link.from, target, through_ranks)) queue.push_back(link.from);
      } else if (before.hops == way.hops + 1 &&
                 (width > before.width || (width == before.width && id < before.next))) {
        before.width = width;
        before.next = id;
      }
    }
  }
  return ways;
}

// The widest way of a node may be wider than what the way there allows anyway; then narrower links
// with smaller ids are as good, so that the smallest must be looked for.
void Router::walk(NodeId from, NodeId target, bool through_ranks, const Ways& ways) {
  const std::int64_t width = ways[from.index()].width;
  NodeId node = from;
  while (node != target) {
    const Way& way = ways[node.index()];
    LinkId next = way.next;
    if (way.width > width) {
      for (const LinkId id : leaving_.of(node)) {
        const Link& link = topology_.link(id);
        const Way& after = ways[link.to.index()];
        if (after.width < width || after.hops + 1 != way.hops) continue;
        if (link.bandwidth.bytes_per_second() < width) continue;
        if (!may_relay(link.to, target, through_ranks)) continue;
        next = id;
        break;
      }
    }
    route_.push_back(next);
    node = topology_.link(next).to;
  }
}

}  // namespace collsim
