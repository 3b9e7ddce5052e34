// SPDX-License-Identifier: Apache-2.0
#include "app/output/network_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "topo/routes.hpp"

namespace collsim {

namespace {

// Larger networks would take minutes.
constexpr std::size_t most_links = 400'000;
constexpr std::size_t most_pairs = 4'000'000;
constexpr std::size_t most_ranks_cut_every_way = 16;
constexpr std::size_t most_work_for_all_halves = 10'000'000;  // halves times links: a second

// Dinic's algorithm: shortest paths by breadth first search, then a blocking flow along them.
class MaximumFlow {
 public:
  explicit MaximumFlow(std::size_t nodes) : edges_of_(nodes) {}

  void add(std::size_t from, std::size_t to, std::int64_t capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({.to = to, .left = capacity});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({.to = from, .left = 0});
  }

  std::int64_t between(std::size_t source, std::size_t sink) {
    std::int64_t flow = 0;
    while (find_distances(source, sink)) {
      next_.assign(edges_of_.size(), 0);
      while (const std::int64_t more = push_along_a_path(source, sink)) flow += more;
    }
    return flow;
  }

 private:
  struct Edge {
    std::size_t to;
    std::int64_t left;
  };

  bool find_distances(std::size_t source, std::size_t sink) {
    distance_.assign(edges_of_.size(), edges_of_.size());
    distance_[source] = 0;
    std::vector<std::size_t> queue{source};
    for (std::size_t taken = 0; taken < queue.size(); ++taken)
      for (const std::size_t edge : edges_of_[queue[taken]]) {
        const auto& [to, left] = edges_[edge];
        if (left == 0 || distance_[to] < edges_of_.size()) continue;
        distance_[to] = distance_[queue[taken]] + 1;
        queue.push_back(to);
      }
    return distance_[sink] < edges_of_.size();
  }

  std::int64_t push_along_a_path(std::size_t source, std::size_t sink) {
    path_.clear();
    std::size_t at = source;
    while (at != sink) {
      std::size_t& next = next_[at];
      const auto& edges = edges_of_[at];
      while (next < edges.size() && !leads_on(at, edges_[edges[next]])) ++next;
      if (next < edges.size()) {
        path_.push_back(edges[next]);
        at = edges_[edges[next]].to;
        continue;
      }
      if (path_.empty()) return 0;
      at = edges_[path_.back() ^ 1].to;
      ++next_[at];
      path_.pop_back();
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::size_t edge : path_) least = std::min(least, edges_[edge].left);
    for (const std::size_t edge : path_) {
      edges_[edge].left -= least;
      edges_[edge ^ 1].left += least;
    }
    return least;
  }

  [[nodiscard]] bool leads_on(std::size_t at, const Edge& edge) const {
    return edge.left > 0 && distance_[edge.to] == distance_[at] + 1;
  }

  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<Edge> edges_;  // an edge and its opposite are neighbours
  std::vector<std::size_t> distance_, next_, path_;
};

bool is_grid(const Topology& topology) {
  return topology.shape() == "torus" || topology.shape() == "mesh";
}

bool is_symmetric(const Topology& topology) {
  std::map<std::pair<NodeId, NodeId>, std::int64_t> more;
  for (const Link& link : topology.links()) {
    if (link.down) continue;
    const bool up = link.from < link.to;
    more[std::minmax(link.from, link.to)] +=
        up ? link.bandwidth.bytes_per_second() : -link.bandwidth.bytes_per_second();
  }
  return std::all_of(more.begin(), more.end(), [](const auto& one) { return one.second == 0; });
}

template <class InLower>
std::int64_t flow_between_halves(const Topology& topology, const InLower& in_lower) {
  const std::size_t source = topology.node_count();
  MaximumFlow flow(source + 2);
  for (const Link& link : topology.links())
    if (!link.down) flow.add(link.from.index(), link.to.index(), link.bandwidth.bytes_per_second());
  constexpr std::int64_t unlimited = std::int64_t{1} << 55;
  for (std::size_t rank = 0; rank < topology.rank_count(); ++rank) {
    const std::size_t node = topology.node_of(Rank(rank)).index();
    if (in_lower(rank))
      flow.add(source, node, unlimited);
    else
      flow.add(node, source + 1, unlimited);
  }
  return flow.between(source, source + 1);
}

// The less of both ways.
template <class InLower>
std::int64_t between_halves(const Topology& topology, bool symmetric, const InLower& in_lower) {
  const std::int64_t out = flow_between_halves(topology, in_lower);
  if (symmetric) return out;
  return std::min(out,
                  flow_between_halves(topology, [&](std::size_t rank) { return !in_lower(rank); }));
}

// Of all halves; of an odd number of ranks one has a rank more.
std::int64_t least_of_all_halves(const Topology& topology, bool symmetric) {
  const std::size_t ranks = topology.rank_count();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t half = 0; half < std::uint32_t{1} << ranks; ++half) {
    const auto size = static_cast<std::size_t>(std::popcount(half));
    // Of an even number every half comes with its opposite.
    if (size != ranks / 2 || (ranks % 2 == 0 && (half & 1) == 0)) continue;
    least = std::min(least, between_halves(topology, symmetric, [&](std::size_t rank) {
                       return (half >> rank & 1) != 0;
                     }));
  }
  return least;
}

// The longest route, of all pairs or, in large networks, from evenly spread ranks.
std::size_t longest_route(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  const std::size_t sources = std::clamp<std::size_t>(most_pairs / ranks, 1, ranks);
  Router router(topology);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < sources; ++i)
    for (std::size_t to = 0; to < ranks; ++to)
      longest = std::max(longest, router.route(Rank(i * ranks / sources), Rank(to)).size());
  return longest;
}

// A level of switches: its cables lead up to it from the level before.
bool is_switch_level(const Topology& topology, const std::string& name) {
  const auto& levels = topology.parts().levels;
  return std::any_of(levels.begin(), levels.end(),
                     [&](const auto& level) { return level.name == name; });
}

std::string level_table(const Topology& topology) {
  TextTable table;
  table.add_column("level", TextTable::Align::left);
  for (const char* heading : {"cables", "bandwidth", "together", "oversubscription"})
    table.add_column(heading);
  std::size_t first = 0;
  double below = 0;
  for (const auto& [name, count] : topology.parts().link_levels) {
    double together = 0;
    std::size_t links = 0;
    std::set<std::int64_t> kinds;
    for (std::size_t id = first; id < first + count; ++id) {
      const Link& link = topology.link(LinkId(id));
      if (link.down) continue;
      ++links;
      together += static_cast<double>(link.bandwidth.bytes_per_second()) / 2;
      kinds.insert(link.bandwidth.bytes_per_second());
    }
    first += count;
    if (count == 0) continue;
    const bool switches = is_switch_level(topology, name);
    const std::string bandwidth =
        kinds.empty() ? "-"
                      : to_text(Bandwidth(*kinds.begin())) + (kinds.size() > 1 ? " and more" : "");
    table.add_row(
        {name, with_commas(fmt::format("{}", (links + 1) / 2)), bandwidth,
         links == 0 ? "-" : to_text(Bandwidth(static_cast<std::int64_t>(together))),
         switches && below > 0 && links > 0 ? fmt::format("{:.3g}:1", below / together) : "-"});
    below = switches ? together : 0;
  }
  return table.text("");
}

}  // namespace

Bisection bisection(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  const bool symmetric = is_symmetric(topology);
  Bisection result{.symmetric = symmetric};
  const std::size_t work =
      (std::size_t{1} << std::min(ranks, most_ranks_cut_every_way)) * topology.links().size();
  if (ranks <= most_ranks_cut_every_way && work <= most_work_for_all_halves) {
    result.bytes_per_second = least_of_all_halves(topology, symmetric);
    result.halves = "the least of all halves";
    return result;
  }
  const std::size_t half = ranks / 2;
  result.bytes_per_second =
      between_halves(topology, symmetric, [&](std::size_t rank) { return rank < half; });
  result.halves = fmt::format("between ranks 0-{} and {}-{}", half - 1, half, ranks - 1);
  if (!is_grid(topology)) return result;
  std::size_t stride = ranks;
  for (std::size_t dimension = 0; dimension < topology.dims().size(); ++dimension) {
    const auto places = static_cast<std::size_t>(topology.dims()[dimension]);
    stride /= places;
    if (places % 2 != 0) continue;  // no halves
    const std::int64_t across = between_halves(
        topology, symmetric, [&](std::size_t rank) { return rank / stride % places < places / 2; });
    if (across >= result.bytes_per_second && dimension > 0) continue;
    result.bytes_per_second = std::min(across, result.bytes_per_second);
    result.halves = fmt::format("between the halves of dimension{}", dimension);
  }
  return result;
}

namespace {

std::string bisection_line(const Topology& topology) {
  const auto links = topology.links();
  const auto is_half = [](const Link& link) { return link.half_duplex; };
  const Bisection cut = bisection(topology);
  const char* ways = cut.symmetric ? "each way" : "one way";
  if (std::all_of(links.begin(), links.end(), is_half))
    ways = "both ways together";
  else if (std::any_of(links.begin(), links.end(), is_half))
    ways = "one way while nothing comes back";
  return fmt::format("bisection      {} {}, {}\n", to_text(Bandwidth(cut.bytes_per_second)), ways,
                     cut.halves);
}

}  // namespace

std::string network_summary(const Topology& topology) {
  const bool levels = !topology.parts().levels.empty() && !topology.parts().link_levels.empty();
  if ((!levels && !is_grid(topology)) || topology.rank_count() < 2) return "";
  std::string text = level_table(topology);
  if (topology.links().size() <= most_links) text += bisection_line(topology);
  text += fmt::format("longest route  {}\n",
                      count_text(static_cast<std::int64_t>(longest_route(topology)), "link"));
  return text + '\n';
}

}  // namespace collsim
