// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topo/parts.hpp"
#include "topo/shapes.hpp"

namespace collsim {

namespace {

// Switches are numbered edge, aggregation, core.  Cables in three layers: rank r to its edge
// switch, edge e to aggregation a, aggregation g to core c; two links each, upwards first.
struct FatTree {
  std::size_t half;  // k/2: ranks of an edge switch, edge and aggregation switches of a pod
  std::size_t ranks;

  [[nodiscard]] std::size_t edge_of(std::size_t rank) const { return rank / half; }
  [[nodiscard]] std::size_t pod_of(std::size_t rank) const { return rank / (half * half); }
  [[nodiscard]] std::size_t rank_cable(std::size_t rank) const { return 2 * rank; }
  [[nodiscard]] std::size_t edge_cable(std::size_t edge, std::size_t up) const {
    return 2 * (ranks + edge * half + up);
  }
  [[nodiscard]] std::size_t core_cable(std::size_t aggregation, std::size_t up) const {
    return 2 * (2 * ranks + aggregation * half + up);
  }
};

void append_route(const FatTree& tree, Rank source, Rank target, std::vector<LinkId>& route) {
  const std::size_t from = source.index();
  const std::size_t to = target.index();
  const std::size_t first_up = to % tree.half;
  const std::size_t second_up = tree.edge_of(to) % tree.half;
  route.emplace_back(tree.rank_cable(from));
  if (tree.edge_of(from) != tree.edge_of(to)) {
    route.emplace_back(tree.edge_cable(tree.edge_of(from), first_up));
    if (tree.pod_of(from) != tree.pod_of(to)) {
      const std::size_t up = tree.pod_of(from) * tree.half + first_up;
      const std::size_t down = tree.pod_of(to) * tree.half + first_up;
      route.emplace_back(tree.core_cable(up, second_up));
      route.emplace_back(tree.core_cable(down, second_up) + 1);
    }
    route.emplace_back(tree.edge_cable(tree.edge_of(to), first_up) + 1);
  }
  route.emplace_back(tree.rank_cable(to) + 1);
}

class FatTreeWays final : public EqualWays {
 public:
  explicit FatTreeWays(const FatTree& tree) : tree_(tree) {}
  void append(Rank from, Rank to, std::uint64_t, std::vector<LinkId>& route) const override {
    append_route(tree_, from, to, route);
  }

 private:
  FatTree tree_;
};

// Pods, edge switches of all pods alike, and ranks of all edge switches alike may turn: aggregation
// switches turn with the ranks that they serve, core switches with both.
Topology::Turning turning(const FatTree& tree) {
  const auto half = static_cast<std::uint32_t>(tree.half);
  Topology::Turning turning{.digits = {{2 * half}, {half}, {half}}};
  turning.place = [tree](LinkId id) {
    const std::size_t cable = id.index() / 2;
    const std::size_t layer = cable / tree.ranks;
    std::size_t at = cable % tree.ranks;
    // A cable from an aggregation switch: (pod, rank in edge switch, edge switch).
    if (layer == 2) {
      const std::size_t pod = at / (tree.half * tree.half);
      const std::size_t served = at / tree.half % tree.half;
      at = (pod * tree.half + at % tree.half) * tree.half + served;
    }
    return LinkPlace{static_cast<std::uint32_t>(2 * layer + id.index() % 2), Rank(at)};
  };
  return turning;
}

// Three blocks of links: the ranks' ports (two per rank), the cables inside the groups, the cables
// between groups, the latter two by ordered pair.
struct Dragonfly {
  std::size_t groups, routers, ranks_per_router, ranks;

  [[nodiscard]] std::size_t links_inside() const { return routers * (routers - 1); }
  [[nodiscard]] std::size_t local_link(std::size_t group, std::size_t from, std::size_t to) const {
    return 2 * ranks + group * links_inside() + ordered_pair(from, to, routers);
  }
  [[nodiscard]] std::size_t global_link(std::size_t from, std::size_t to) const {
    return 2 * ranks + groups * links_inside() + ordered_pair(from, to, groups);
  }
  // The router of `group` that has the cable to group `to`.
  [[nodiscard]] std::size_t exit(std::size_t group, std::size_t to) const {
    return (to + groups - group - 1) % groups % routers;
  }
  [[nodiscard]] NodeId router(std::size_t group, std::size_t number) const {
    return NodeId(ranks + group * routers + number);
  }
};

void append_route(const Dragonfly& fly, Rank source, Rank target, std::vector<LinkId>& route) {
  const std::size_t from = source.index() / fly.ranks_per_router;
  const std::size_t to = target.index() / fly.ranks_per_router;
  const std::size_t group = from / fly.routers;
  const std::size_t last_group = to / fly.routers;
  const std::size_t last = to % fly.routers;
  std::size_t at = from % fly.routers;
  route.emplace_back(2 * source.index());
  if (group != last_group) {
    const std::size_t exit = fly.exit(group, last_group);
    if (at != exit) route.emplace_back(fly.local_link(group, at, exit));
    route.emplace_back(fly.global_link(group, last_group));
    at = fly.exit(last_group, group);
  }
  if (at != last) route.emplace_back(fly.local_link(last_group, at, last));
  route.emplace_back(2 * target.index() + 1);
}

class DragonflyWays final : public EqualWays {
 public:
  explicit DragonflyWays(const Dragonfly& fly) : fly_(fly) {}
  void append(Rank from, Rank to, std::uint64_t, std::vector<LinkId>& route) const override {
    append_route(fly_, from, to, route);
  }

 private:
  Dragonfly fly_;
};

// Groups may turn, and the ranks of all routers alike.
Topology::Turning turning(const Dragonfly& fly) {
  const auto size = [](std::size_t count) { return static_cast<std::uint32_t>(count); };
  Topology::Turning turning{.digits = {{size(fly.groups)},
                                       {size(fly.routers), size(fly.routers)},
                                       {size(fly.ranks_per_router), 1}}};
  turning.place = [fly, size](LinkId id) {
    constexpr std::uint32_t all_ranks_of_a_group = 0b110;
    if (id.index() < 2 * fly.ranks) return LinkPlace{size(id.index() % 2), Rank(id.index() / 2)};
    std::size_t number = id.index() - 2 * fly.ranks;
    const auto of_group = [&](std::size_t kind, std::size_t group) {
      return LinkPlace{size(kind), Rank(group * fly.routers * fly.ranks_per_router),
                       all_ranks_of_a_group};
    };
    if (number < fly.groups * fly.links_inside())
      return of_group(2 + number % fly.links_inside(), number / fly.links_inside());
    number -= fly.groups * fly.links_inside();
    const std::size_t from = number / (fly.groups - 1);
    const std::size_t other = number % (fly.groups - 1);
    const std::size_t to = other < from ? other : other + 1;
    return of_group(2 + fly.links_inside() + (to + fly.groups - from) % fly.groups, from);
  };
  return turning;
}

// All ordered pairs of n nodes, in the order of ordered_pair().
template <class End>
void add_ordered_pairs(Topology::Parts& parts, std::size_t n, const End& end,
                       const LinkParameters& link) {
  const std::size_t base = parts.links.size();
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) {
      if (to > from)
        add_link(parts, end(from, to), end(to, from), link);
      else if (to < from)
        add_reverse_link(parts, LinkId(base + ordered_pair(to, from, n)), link);
    }
}

Dragonfly checked_dragonfly(const DragonflyShape& shape) {
  const auto check = [](int value, const char* what) {
    if (value < 1)
      throw_error(ErrorCode::invalid_argument, "dragonfly: ", what, " is ", value,
                  "; at least 1 allowed");
    if (static_cast<std::size_t>(value) > max_ranks)
      throw_error(ErrorCode::too_large, "dragonfly: ", what, " is ", value, "; at most ", max_ranks,
                  " allowed");
    return static_cast<std::size_t>(value);
  };
  Dragonfly fly{};
  fly.groups = check(shape.groups, "groups");
  fly.routers = check(shape.routers_per_group, "routers_per_group");
  fly.ranks_per_router = check(shape.ranks_per_router, "ranks_per_router");
  check_rank_count("dragonfly", fly.groups * fly.routers);
  fly.ranks = fly.groups * fly.routers * fly.ranks_per_router;
  check_rank_count("dragonfly", fly.ranks);
  check_shape_link("dragonfly", shape.link);
  return fly;
}

}  // namespace

Topology make_fat_tree(int ports, const LinkParameters& link) {
  if (ports < 2 || ports % 2 != 0)
    throw_error(ErrorCode::invalid_argument, "fat-tree: switches of ", ports,
                " ports; an even number of at least 2 is needed");
  constexpr int most = 406;  // 406^3 / 4 is the last below max_ranks
  if (ports > most)
    throw_error(ErrorCode::too_large, "fat-tree: switches of ", ports, " ports; at most ", most,
                " allowed");
  check_shape_link("fat-tree", link);
  const auto half = static_cast<std::size_t>(ports) / 2;
  const FatTree tree{.half = half, .ranks = 2 * half * half * half};
  const std::size_t edges = 2 * half * half;

  Topology::Parts parts = shape_parts("fat-tree", tree.ranks, 6 * tree.ranks);
  add_nodes(parts, NodeKind::network_switch, 2 * edges + half * half);
  const std::size_t first_aggregation = tree.ranks + edges;
  const std::size_t first_core = first_aggregation + edges;
  for (std::size_t rank = 0; rank < tree.ranks; ++rank)
    add_cable(parts, NodeId(rank), NodeId(tree.ranks + tree.edge_of(rank)), link);
  for (std::size_t edge = 0; edge < edges; ++edge)
    for (std::size_t up = 0; up < half; ++up)
      add_cable(parts, NodeId(tree.ranks + edge),
                NodeId(first_aggregation + edge / half * half + up), link);
  for (std::size_t aggregation = 0; aggregation < edges; ++aggregation)
    for (std::size_t up = 0; up < half; ++up)
      add_cable(parts, NodeId(first_aggregation + aggregation),
                NodeId(first_core + aggregation % half * half + up), link);
  parts.ways = std::make_shared<FatTreeWays>(tree);
  parts.routes_ignore_bandwidth = true;
  if (!link.half_duplex) parts.turnings.push_back(turning(tree));
  return Topology(std::move(parts));
}

Topology make_dragonfly(const DragonflyShape& shape) {
  const Dragonfly fly = checked_dragonfly(shape);
  const std::size_t links =
      2 * fly.ranks + fly.groups * fly.links_inside() + fly.groups * (fly.groups - 1);
  Topology::Parts parts = shape_parts("dragonfly", fly.ranks, links);
  add_nodes(parts, NodeKind::network_switch, fly.groups * fly.routers);
  for (std::size_t rank = 0; rank < fly.ranks; ++rank)
    add_cable(parts, NodeId(rank), fly.router(0, rank / fly.ranks_per_router), shape.link);
  for (std::size_t group = 0; group < fly.groups; ++group)
    add_ordered_pairs(
        parts, fly.routers, [&](std::size_t from, std::size_t) { return fly.router(group, from); },
        shape.link);
  add_ordered_pairs(
      parts, fly.groups,
      [&](std::size_t from, std::size_t to) { return fly.router(from, fly.exit(from, to)); },
      shape.link);
  parts.ways = std::make_shared<DragonflyWays>(fly);
  parts.routes_ignore_bandwidth = true;
  if (!shape.link.half_duplex) parts.turnings.push_back(turning(fly));
  return Topology(std::move(parts));
}

}  // namespace collsim
