// SPDX-License-Identifier: Apache-2.0
#include "topo/routes.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace collsim {

std::span<const LinkId> Router::searched_route(Rank from, Rank to) {
  check_ranks(from, to);
  route_.clear();
  if (from == to) return route_;
  const NodeId source = topology_.node_of(from);
  const NodeId target = topology_.node_of(to);
  find_neighbours();
  if (take_direct_link(source, target)) return route_;
  if (take_switches(source, target)) return route_;
  if (take_relays(source, target)) return route_;
  report_no_route(source, target);
}

void Router::report_no_rank(Rank from, Rank to) const {
  throw_error(ErrorCode::invalid_argument, "route from rank ", from.index(), " to rank ",
              to.index(), ": there is no rank ", std::max(from, to).index(), "; there are ",
              topology_.rank_count());
}

Router::Adjacency Router::adjacency(NodeId Link::*end) const {
  Adjacency result;
  const auto links = topology_.links();
  result.first.assign(topology_.node_count() + 1, 0);
  for (const Link& link : links)
    if (!link.down) ++result.first[(link.*end).index() + 1];
  for (std::size_t node = 1; node < result.first.size(); ++node)
    result.first[node] += result.first[node - 1];
  std::vector<std::size_t> next(result.first.begin(), result.first.end() - 1);
  result.links.resize(result.first.back());
  for (std::size_t id = 0; id < links.size(); ++id)
    if (!links[id].down) result.links[next[(links[id].*end).index()]++] = LinkId(id);
  return result;
}

void Router::find_neighbours() {
  if (!entering_.first.empty()) return;
  entering_ = adjacency(&Link::to);
  leaving_ = adjacency(&Link::from);
}

// A switch has thousands of links where a rank has a few.
std::span<const LinkId> Router::candidates(NodeId from, NodeId to) const {
  const std::span<const LinkId> leaving = leaving_.of(from);
  const std::span<const LinkId> entering = entering_.of(to);
  return leaving.size() <= entering.size() ? leaving : entering;
}

bool Router::joins(LinkId id, NodeId from, NodeId to) const {
  return topology_.link(id).from == from && topology_.link(id).to == to;
}

std::int64_t Router::widest_cable(NodeId from, NodeId to) const {
  std::int64_t widest = 0;
  for (const LinkId id : candidates(from, to))
    if (joins(id, from, to)) widest = std::max(widest, bandwidth_of(id));
  return widest;
}

LinkId Router::first_cable(NodeId from, NodeId to, std::int64_t width) const {
  for (const LinkId id : candidates(from, to))
    if (joins(id, from, to) && bandwidth_of(id) >= width) return id;
  COLLSIM_CHECK(false, "no cable as wide as the widest");
}

// Neighbours need no search: nothing has fewer hops.
bool Router::take_direct_link(NodeId from, NodeId to) {
  const std::int64_t widest = widest_cable(from, to);
  if (widest > 0) route_.assign(1, first_cable(from, to, widest));
  return widest > 0;
}

void Router::spread_over_cables(Lane lane) {
  std::vector<LinkId> cables;
  for (LinkId& taken : route_) {
    const Link& chosen = topology_.link(taken);
    cables.clear();
    for (const LinkId id : candidates(chosen.from, chosen.to))
      if (joins(id, chosen.from, chosen.to) && topology_.link(id).bandwidth == chosen.bandwidth)
        cables.push_back(id);
    const auto own = std::find(cables.begin(), cables.end(), taken) - cables.begin();
    taken = cables[(static_cast<std::size_t>(own) + lane.index()) % cables.size()];
  }
}

// Nearly every way to a rank passes through one of its switches, which are far fewer than the
// ranks.  So the ways to a switch are searched once for all ranks behind it.
bool Router::take_switches(NodeId from, NodeId to) {
  std::size_t best_hops = 0;
  std::int64_t best_width = 0;
  find_last_devices(to);
  for (const NodeId neighbour : last_devices_) {
    follow_private_devices(to, neighbour);
    const NodeId entry = tail_.back();
    const Ways& ways = ways_to(entry, false);
    const Way& way = ways[from.index()];
    const std::size_t hops = way.hops + tail_.size() - 1;
    if (way.width == 0 || (best_width > 0 && hops > best_hops)) continue;
    std::int64_t width = way.width;
    for (std::size_t i = 1; i < tail_.size(); ++i)
      width = std::min(width, widest_cable(tail_[i], tail_[i - 1]));
    const bool better = best_width == 0 || hops < best_hops || width > best_width;
    if (!better && width < best_width) continue;
    candidate_.clear();
    walk(from, entry, width, false, ways, candidate_);
    for (std::size_t i = tail_.size() - 1; i > 0; --i)
      candidate_.push_back(first_cable(tail_[i], tail_[i - 1], width));
    if (!better && !(candidate_ < route_)) continue;
    route_.swap(candidate_);
    best_hops = hops;
    best_width = width;
  }
  return best_width > 0;
}

bool Router::take_relays(NodeId from, NodeId to) {
  const Ways& ways = ways_to(to, true);
  const std::int64_t width = ways[from.index()].width;
  if (width > 0) walk(from, to, width, true, ways, route_);
  return width > 0;
}

void Router::find_last_devices(NodeId target) {
  last_devices_.clear();
  for (const LinkId id : entering_.of(target)) {
    const NodeId before = topology_.link(id).from;
    if (topology_.kind(before) == NodeKind::gpu) continue;
    if (std::find(last_devices_.begin(), last_devices_.end(), before) == last_devices_.end())
      last_devices_.push_back(before);
  }
}

// A NIC of a single rank is part of the way to that rank, not a junction.
void Router::follow_private_devices(NodeId target, NodeId neighbour) {
  tail_.assign({target, neighbour});
  while (true) {
    NodeId before = target;  // none yet
    for (const LinkId id : entering_.of(tail_.back())) {
      const NodeId node = topology_.link(id).from;
      if (node == before || std::find(tail_.begin(), tail_.end(), node) != tail_.end()) continue;
      if (before != target || topology_.kind(node) == NodeKind::gpu) return;
      before = node;
    }
    if (before == target) return;
    tail_.push_back(before);
  }
}

// Evict one at random: a caller that cycles through all targets then still finds most of them,
// whereas the oldest would always be evicted just before its next use.
const Router::Ways& Router::ways_to(NodeId target, bool through_ranks) {
  const std::uint64_t key = 2 * target.index() + (through_ranks ? 1 : 0);
  if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  if (!keys_.empty() && (keys_.size() + 1) * topology_.node_count() > max_remembered) {
    std::uint64_t& victim = keys_[random_() % keys_.size()];
    ways_.erase(victim);
    victim = key;
  } else {
    keys_.push_back(key);
  }
  return ways_[key] = search_from(target, through_ranks);
}

bool Router::may_relay(NodeId node, NodeId target, bool through_ranks) const {
  return through_ranks || node == target || topology_.kind(node) != NodeKind::gpu;
}

bool Router::leads_on(LinkId id, NodeId target, std::int64_t width, bool through_ranks,
                      const Ways& ways) const {
  const Link& link = topology_.link(id);
  const Way& after = ways[link.to.index()];
  return after.width >= width && after.hops + 1 == ways[link.from.index()].hops &&
         bandwidth_of(id) >= width && may_relay(link.to, target, through_ranks);
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

// The widest way from a node may be wider than the way to that node; then narrower links with
// smaller ids are equally good, so search for the smallest id.
void Router::walk(NodeId from, NodeId target, std::int64_t width, bool through_ranks,
                  const Ways& ways, std::vector<LinkId>& route) const {
  NodeId node = from;
  while (node != target) {
    const Way& way = ways[node.index()];
    LinkId next = way.next;
    if (way.width > width) {
      for (const LinkId id : leaving_.of(node)) {
        if (!leads_on(id, target, width, through_ranks, ways)) continue;
        next = id;
        break;
      }
    }
    route.push_back(next);
    node = topology_.link(next).to;
  }
}

}  // namespace collsim
