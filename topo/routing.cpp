// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "topo/routes.hpp"

// Which of the equal ways a Router takes; routes.cpp searches them.

namespace collsim {

namespace {

// Numbers of ways stay below, so that they can be added.
constexpr std::uint64_t most_ways = std::uint64_t{1} << 62U;

std::uint64_t product_of_ways(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? most_ways : std::min(product, most_ways);
}

// splitmix64: every bit of the result depends on every bit of the number.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

}  // namespace

Router::Router(Topology topology) : topology_(std::move(topology)) {
  const auto links = topology_.links();
  any_down_ = std::any_of(links.begin(), links.end(), [](const Link& link) { return link.down; });
  const Routing routing = topology_.parts().routing;
  if (!any_down_ && (routing == Routing::usual || routing == Routing::d_mod_k ||
                     routing == Routing::dimension_order))
    always_usual_ = topology_.parts().ways.get();
}

std::span<const LinkId> Router::chosen_route(Rank from, Rank to, Lane lane) {
  if (take_shape_route(from, to)) return route_;
  if (topology_.parts().routing == Routing::first) {
    static_cast<void>(searched_route(from, to));
    spread_over_cables(lane);
  } else {
    take_hashed(from, to, lane);
  }
  return route_;
}

std::uint64_t Router::hash(Rank from, Rank to) const {
  const std::uint64_t ends = (std::uint64_t{from.index()} << 32U) | std::uint64_t{to.index()};
  return mixed(mixed(topology_.parts().routing_seed) ^ ends);
}

// --- ways of shapes ------------------------------------------------------------------------------

// The way of the routing, or a later one where that is down.
bool Router::take_shape_route(Rank from, Rank to) {
  const EqualWays* const ways = topology_.parts().ways.get();
  if (ways == nullptr) return false;
  const Routing routing = topology_.parts().routing;
  if (routing == Routing::valiant)
    if (const std::uint64_t detours = ways->detours(from, to); detours > 0)
      for (std::uint64_t i = 0, first = hash(from, to) % detours; i < detours; ++i)
        if (take_detour(from, to, (first + i) % detours)) return true;
  std::uint64_t way = 0;
  switch (routing) {
    case Routing::first: break;
    case Routing::usual:
    case Routing::d_mod_k:
    case Routing::dimension_order:
    case Routing::valiant: way = ways->usual(from, to); break;
    case Routing::hash:
    case Routing::spray:
    case Routing::adaptive:
    case Routing::ugal: way = hash(from, to) % ways->count(from, to); break;
  }
  if (take_numbered(from, to, way)) return true;
  const std::uint64_t count = ways->count(from, to);
  std::vector<std::uint64_t> alive;
  for (std::uint64_t i = 0; i < count; ++i)
    if (i != way && take_numbered(from, to, i)) alive.push_back(i);
  if (alive.empty()) return false;
  // Ranks that the way had in common have numbers a multiple of the count apart.
  const std::uint64_t again = topology_.parts().routing == Routing::first ? 0
                              : topology_.parts().routing == Routing::hash
                                  ? hash(from, to) / count
                                  : from.index() + to.index() / count;
  return take_numbered(from, to, alive[again % alive.size()]);
}

bool Router::take_numbered(Rank from, Rank to, std::uint64_t way) {
  route_.clear();
  topology_.parts().ways->append(from, to, way, route_);
  return is_alive(route_);
}

bool Router::take_detour(Rank from, Rank to, std::uint64_t detour) {
  route_.clear();
  topology_.parts().ways->append_detour(from, to, detour, route_);
  return is_alive(route_);
}

bool Router::is_alive(std::span<const LinkId> route) const {
  return !any_down_ || std::none_of(route.begin(), route.end(),
                                    [this](LinkId id) { return topology_.link(id).down; });
}

// --- searched ways -------------------------------------------------------------------------------

void Router::take_hashed(Rank from, Rank to, Lane lane) {
  const std::uint64_t count = find_equal_ways(from, to);
  if (count > cables_alike()) take_searched(from, to, hash(from, to) % count);
  spread_over_cables(lane);
}

std::uint64_t Router::cables_alike() const {
  std::uint64_t ways = 1;
  for (const LinkId id : route_)
    ways =
        product_of_ways(ways, count_cables(topology_.link(id).from, topology_.link(id).to, width_));
  return ways;
}

std::uint64_t Router::count_cables(NodeId from, NodeId to, std::int64_t width) const {
  const std::span<const LinkId> some = candidates(from, to);
  return static_cast<std::uint64_t>(std::count_if(some.begin(), some.end(), [&](LinkId id) {
    return joins(id, from, to) && bandwidth_of(id) >= width;
  }));
}

LinkId Router::cable(NodeId from, NodeId to, std::int64_t width, std::uint64_t n) const {
  for (const LinkId id : candidates(from, to))
    if (joins(id, from, to) && bandwidth_of(id) >= width && n-- == 0) return id;
  COLLSIM_CHECK(false, "fewer parallel cables than were counted");
}

std::uint64_t Router::find_equal_ways(Rank from, Rank to) {
  static_cast<void>(searched_route(from, to));
  endings_.clear();
  width_ = bandwidth_of(route_.front());
  for (const LinkId id : route_) width_ = std::min(width_, bandwidth_of(id));
  const NodeId source = topology_.node_of(from);
  const NodeId target = topology_.node_of(to);
  if (route_.size() == 1) {
    endings_.push_back({.tail = {target, source}});
  } else {
    find_last_devices(target);
    for (const NodeId neighbour : last_devices_) {
      follow_private_devices(target, neighbour);
      const Way& way = ways_to(tail_.back(), false)[source.index()];
      if (way.width >= width_ && way.hops + tail_.size() - 1 == route_.size())
        endings_.push_back({.tail = tail_});
    }
    if (endings_.empty()) endings_.push_back({.tail = {target}, .through_ranks = true});
  }
  std::uint64_t all = 0;
  for (Ending& ending : endings_) {
    for (std::size_t i = 1; i < ending.tail.size(); ++i)
      ending.cables =
          product_of_ways(ending.cables, count_cables(ending.tail[i], ending.tail[i - 1], width_));
    const NodeId entry = ending.tail.back();
    ending.ways = product_of_ways(
        ending.cables,
        entry == source ? 1 : counts_to(entry, ending.through_ranks, width_)[source.index()]);
    all = std::min(all + ending.ways, most_ways);
  }
  return all;
}

// In order of distance, so that all nodes onward are counted before.
const Router::Counts& Router::counts_to(NodeId target, bool through_ranks, std::int64_t width) {
  const auto key = std::make_tuple(target, through_ranks, width);
  if (const auto known = counts_.find(key); known != counts_.end()) return known->second;
  if ((counts_.size() + 1) * topology_.node_count() > max_remembered) counts_.clear();
  const Ways& ways = ways_to(target, through_ranks);
  std::vector<NodeId> order;
  for (std::size_t node = 0; node < ways.size(); ++node)
    if (ways[node].width >= width && NodeId(node) != target) order.emplace_back(node);
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return ways[a.index()].hops < ways[b.index()].hops; });
  Counts counts(ways.size());
  counts[target.index()] = 1;
  for (const NodeId node : order)
    for (const LinkId id : leaving_.of(node))
      if (leads_on(id, target, width, through_ranks, ways))
        counts[node.index()] =
            std::min(counts[node.index()] + counts[topology_.link(id).to.index()], most_ways);
  return counts_[key] = std::move(counts);
}

void Router::take_searched(Rank from, Rank to, std::uint64_t number) {
  auto ending = endings_.begin();
  for (; number >= ending->ways; ++ending) number -= ending->ways;
  const NodeId entry = ending->tail.back();
  const Ways& ways = ways_to(entry, ending->through_ranks);
  std::uint64_t cables = number % ending->cables;
  number /= ending->cables;
  route_.clear();
  for (NodeId node = topology_.node_of(from); node != entry;) {
    const Counts& counts = counts_to(entry, ending->through_ranks, width_);
    const NodeId before = node;
    for (const LinkId id : leaving_.of(node)) {
      if (!leads_on(id, entry, width_, ending->through_ranks, ways)) continue;
      const NodeId next = topology_.link(id).to;
      if (number < counts[next.index()]) {
        route_.push_back(id);
        node = next;
        break;
      }
      number -= counts[next.index()];
    }
    COLLSIM_CHECK(node != before, "there are fewer ways than were counted");
  }
  for (std::size_t i = ending->tail.size() - 1; i > 0; --i) {
    const std::uint64_t n = count_cables(ending->tail[i], ending->tail[i - 1], width_);
    route_.push_back(cable(ending->tail[i], ending->tail[i - 1], width_, cables % n));
    cables /= n;
  }
  COLLSIM_CHECK(topology_.link(route_.back()).to == topology_.node_of(to), "a way ends elsewhere");
}

// --- all of them ---------------------------------------------------------------------------------

const Router::Choices& Router::choices(Rank from, Rank to) {
  check_ranks(from, to);
  choices_ = {};
  const auto choose = [this](std::uint64_t count, const auto& take) {
    const std::uint64_t chosen = std::min(count, most_choices);
    for (std::uint64_t i = 0; i < chosen; ++i)
      if (take(i * (count / chosen) + i * (count % chosen) / chosen))
        choices_.ways.push_back(route_);
  };
  const EqualWays* const ways = topology_.parts().ways.get();
  if (ways != nullptr)
    choose(ways->count(from, to), [&](std::uint64_t n) { return take_numbered(from, to, n); });
  if (choices_.ways.empty())
    choose(find_equal_ways(from, to), [&](std::uint64_t n) {
      take_searched(from, to, n);
      return true;
    });
  const std::size_t shortest = choices_.ways.size();
  if (topology_.parts().routing != Routing::spray)
    std::rotate(choices_.ways.begin(),
                choices_.ways.begin() + static_cast<std::ptrdiff_t>(from.index() % shortest),
                choices_.ways.end());
  if (ways != nullptr && topology_.parts().routing == Routing::ugal)
    choose(ways->detours(from, to), [&](std::uint64_t n) { return take_detour(from, to, n); });
  choices_.detours = choices_.ways.size() - shortest;
  return choices_;
}

// --- topologies ----------------------------------------------------------------------------------

bool chooses_per_message(const Topology& topology) {
  const Routing routing = topology.parts().routing;
  return routing == Routing::spray || routing == Routing::adaptive || routing == Routing::ugal;
}

Topology with_routing(const Topology& topology, Routing routing, std::uint64_t seed) {
  Topology::Parts parts = topology.parts();
  parts.routing = routing;
  parts.routing_seed = seed;
  if (routing == Routing::hash || routing == Routing::valiant || routing == Routing::spray ||
      routing == Routing::adaptive || routing == Routing::ugal)
    parts.turnings.clear();
  return Topology(std::move(parts));
}

// --- no way --------------------------------------------------------------------------------------

namespace {

// By node: whether links lead from there to the target.
std::vector<bool> leading_to(const Topology& topology, NodeId target, bool over_down_links) {
  std::vector<std::vector<NodeId>> before(topology.node_count());
  for (const Link& link : topology.links())
    if (over_down_links || !link.down) before[link.to.index()].push_back(link.from);
  std::vector<bool> leads(topology.node_count());
  leads[target.index()] = true;
  std::vector<NodeId> queue{target};
  while (!queue.empty()) {
    const NodeId node = queue.back();
    queue.pop_back();
    for (const NodeId next : before[node.index()]) {
      if (leads[next.index()]) continue;
      leads[next.index()] = true;
      queue.push_back(next);
    }
  }
  return leads;
}

// The nodes of the largest part into which a network falls, of the first parts at least.
std::vector<bool> largest_part(const Topology& topology) {
  constexpr int most_parts = 64;
  const std::size_t ranks = topology.rank_count();
  std::vector<bool> largest(topology.node_count());
  std::vector<bool> seen(ranks);
  std::size_t most = 0;
  int parts = 0;
  for (std::size_t rank = 0; rank < ranks && 2 * most < ranks && parts < most_parts; ++rank) {
    if (seen[rank]) continue;
    ++parts;
    const std::vector<bool> part = leading_to(topology, topology.node_of(Rank(rank)), false);
    std::size_t count = 0;
    for (std::size_t other = 0; other < ranks; ++other) {
      if (!part[topology.node_of(Rank(other)).index()]) continue;
      seen[other] = true;
      ++count;
    }
    if (count <= most) continue;
    most = count;
    largest = part;
  }
  return largest;
}

}  // namespace

// "gpu0-gpu2, gpu5".
std::string Router::ranks_in_words(const std::vector<Rank>& ranks) const {
  constexpr std::size_t most_runs = 8;
  std::string text;
  std::size_t runs = 0;
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = ++last, ++runs) {
    if (runs == most_runs) return text + " and others";
    while (last + 1 < ranks.size() && ranks[last + 1].index() == ranks[last].index() + 1) ++last;
    text += (runs == 0 ? "" : ", ") + topology_.name(topology_.node_of(ranks[first]));
    if (last > first) text += "-" + topology_.name(topology_.node_of(ranks[last]));
  }
  return text;
}

void Router::report_no_route(NodeId from, NodeId to) const {
  if (!any_down_ || !leading_to(topology_, to, true)[from.index()])
    throw_error(ErrorCode::no_route, "no route from " + topology_.name(from) + " to " +
                                         topology_.name(to) + ": no path of links joins them");
  std::vector<bool> part = largest_part(topology_);
  if (part[from.index()] && part[to.index()]) part = leading_to(topology_, to, false);
  std::vector<Rank> joined, cut_off;
  for (std::size_t i = 0; i < topology_.rank_count(); ++i)
    (part[topology_.node_of(Rank(i)).index()] ? joined : cut_off).emplace_back(i);
  throw_error(ErrorCode::no_route,
              ranks_in_words(cut_off) + (cut_off.size() == 1 ? " is" : " are") + " cut off from " +
                  ranks_in_words(joined) + ": every way crosses a link that is down");
}

}  // namespace collsim
