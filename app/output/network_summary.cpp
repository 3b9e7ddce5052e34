// SPDX-License-Identifier: Apache-2.0
#include "app/output/network_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "topo/routes.hpp"

namespace collsim {

namespace {

// Larger networks would take minutes.
constexpr std::size_t most_links = 400'000;
constexpr std::size_t most_pairs = 4'000'000;

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
    std::set<std::int64_t> kinds;
    for (std::size_t id = first; id < first + count; ++id) {
      const Bandwidth bandwidth = topology.link(LinkId(id)).bandwidth;
      together += static_cast<double>(bandwidth.bytes_per_second()) / 2;
      kinds.insert(bandwidth.bytes_per_second());
    }
    first += count;
    if (count == 0) continue;
    const bool switches = is_switch_level(topology, name);
    table.add_row({name, with_commas(fmt::format("{}", count / 2)),
                   to_text(Bandwidth(*kinds.begin())) + (kinds.size() > 1 ? " and more" : ""),
                   to_text(Bandwidth(static_cast<std::int64_t>(together))),
                   switches && below > 0 ? fmt::format("{:.3g}:1", below / together) : "-"});
    below = switches ? together : 0;
  }
  return table.text("");
}

}  // namespace

std::int64_t bisection(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  if (!is_grid(topology))
    return flow_between_halves(topology, [&](std::size_t rank) { return rank < ranks / 2; });
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::size_t stride = ranks;
  for (const int size : topology.dims()) {
    const auto places = static_cast<std::size_t>(size);
    stride /= places;
    if (places < 2) continue;
    least = std::min(least, flow_between_halves(topology, [&](std::size_t rank) {
                       return rank / stride % places < places / 2;
                     }));
  }
  return least;
}

std::string network_summary(const Topology& topology) {
  const bool levels = !topology.parts().levels.empty() && !topology.parts().link_levels.empty();
  if ((!levels && !is_grid(topology)) || topology.rank_count() < 2) return "";
  std::string text = level_table(topology);
  if (topology.links().size() <= most_links)
    text += fmt::format("bisection      {} each way between the halves\n",
                        to_text(Bandwidth(bisection(topology))));
  text += fmt::format("longest route  {}\n",
                      count_text(static_cast<std::int64_t>(longest_route(topology)), "link"));
  return text + '\n';
}

}  // namespace collsim
