// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "topo/fabric.hpp"

namespace collsim {

namespace {

constexpr std::size_t divided_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// The n-th cable's links are base + 2n (up) and base + 2n + 1 (down).  Cables in levels:
//   end e to its leaf                               n = e
//   leaf l to spine s, m-th parallel cable          n = ends + l * uplinks + m * spines + s
//   aggregation switch a of all to its c-th core    n = ends + leaves * uplinks + a * cores + c
// where in three levels the spines of a leaf are the aggregation switches of its pod.
class Tree final : public Fabric {
 public:
  explicit Tree(TreeShape shape);

  [[nodiscard]] std::size_t ends() const override { return shape_.ends; }
  [[nodiscard]] std::size_t links() const override {
    return 2 * (ends() + leaves_ * uplinks_ + core_cables());
  }
  [[nodiscard]] const LinkParameters& port() const override { return shape_.links.front(); }
  void add_switches(Topology::Parts& parts) override;
  void add_cables(Topology::Parts& parts, NodeId first_end) override;

  [[nodiscard]] std::uint64_t count(Rank from, Rank to) const override;
  [[nodiscard]] std::uint64_t usual(Rank from, Rank to) const override;
  void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const override;
  [[nodiscard]] std::optional<Topology::Turning> turning() const override;

 private:
  [[nodiscard]] bool three_levels() const { return shape_.leaves_per_pod > 0; }
  [[nodiscard]] std::size_t core_cables() const {
    return three_levels() ? pods_ * shape_.spines * shape_.cores : 0;
  }
  [[nodiscard]] std::size_t leaf_of(std::size_t end) const {
    return end / (shape_.rails * shape_.ends_per_leaf) * shape_.rails + end % shape_.rails;
  }
  [[nodiscard]] std::size_t pod_of(std::size_t leaf) const {
    return three_levels() ? leaf / shape_.leaves_per_pod : 0;
  }
  [[nodiscard]] std::size_t link(std::size_t cable, bool down) const {
    return base_ + 2 * cable + (down ? 1 : 0);
  }
  [[nodiscard]] std::size_t leaf_link(std::size_t leaf, std::size_t uplink, bool down) const {
    return link(ends() + leaf * uplinks_ + uplink, down);
  }
  [[nodiscard]] std::size_t core_link(std::size_t pod, std::size_t spine, std::size_t core,
                                      bool down) const {
    const std::size_t aggregation = pod * shape_.spines + spine;
    return link(ends() + leaves_ * uplinks_ + aggregation * shape_.cores + core, down);
  }

  TreeShape shape_;
  std::size_t leaves_, pods_, uplinks_;
  std::size_t base_ = 0, first_switch_ = 0;
};

Tree::Tree(TreeShape shape) : shape_(std::move(shape)) {
  const auto check = [&](std::size_t value, const char* what) {
    if (value < 1)
      throw_error(ErrorCode::invalid_argument, shape_.name, ": 0 ", what, "; at least 1 allowed");
    if (value > max_ranks)
      throw_error(ErrorCode::too_large, shape_.name, ": ", value, " ", what, "; at most ",
                  max_ranks, " allowed");
  };
  check_rank_count(shape_.name, shape_.ends);
  check(shape_.ends_per_leaf, "ranks per leaf");
  check(shape_.rails, "rails");
  check(shape_.cables, "cables");
  leaves_ = divided_up(shape_.ends, shape_.rails * shape_.ends_per_leaf) * shape_.rails;
  if (leaves_ > 1) check(shape_.spines, "spines");
  pods_ = three_levels() ? divided_up(leaves_, shape_.leaves_per_pod) : 1;
  if (three_levels()) check(shape_.cores, "core switches");
  if (shape_.rails > 1 && shape_.ends % shape_.rails != 0)
    throw_error(ErrorCode::invalid_argument, shape_.name, ": ", shape_.ends, " ends on ",
                shape_.rails, " rails; each rail needs as many");
  uplinks_ = shape_.spines * shape_.cables;
  const double cables = static_cast<double>(leaves_) * static_cast<double>(uplinks_) +
                        static_cast<double>(pods_) * static_cast<double>(shape_.spines) *
                            static_cast<double>(shape_.cores);
  if (2 * cables > static_cast<double>(max_links))
    throw_error(ErrorCode::too_large, shape_.name, ": ", leaves_, " leaves of ", uplinks_,
                " uplinks; at most ", max_links, " links allowed");
  for (const LinkParameters& link : shape_.links) check_shape_link(shape_.name, link);
}

void Tree::add_switches(Topology::Parts& parts) {
  first_switch_ = parts.kinds.size();
  const auto add = [&](const char* name, std::size_t count) {
    if (count == 0) return;
    if (uplinks_ > 0)
      parts.levels.push_back({.name = name, .first = NodeId(parts.kinds.size()), .count = count});
    add_nodes(parts, NodeKind::network_switch, count);
  };
  add(three_levels() ? "edge" : "leaf", leaves_);
  add(three_levels() ? "aggregation" : "spine", pods_ * shape_.spines);
  if (three_levels()) add("core", shape_.spines * shape_.cores);
}

void Tree::add_cables(Topology::Parts& parts, NodeId first_end) {
  base_ = parts.links.size();
  const std::size_t first_spine = first_switch_ + leaves_;
  const std::size_t first_core = first_spine + pods_ * shape_.spines;
  const auto close = [&](const char* name, std::size_t cables) {
    if (uplinks_ > 0) parts.link_levels.push_back({.name = name, .count = 2 * cables});
  };
  for (std::size_t end = 0; end < ends(); ++end)
    add_cable(parts, NodeId(first_end.index() + end), NodeId(first_switch_ + leaf_of(end)),
              shape_.links[0]);
  close(three_levels() ? "edge" : "leaf", ends());
  for (std::size_t leaf = 0; leaf < leaves_; ++leaf)
    for (std::size_t uplink = 0; uplink < uplinks_; ++uplink)
      add_cable(parts, NodeId(first_switch_ + leaf),
                NodeId(first_spine + pod_of(leaf) * shape_.spines + uplink % shape_.spines),
                shape_.links[1]);
  close(three_levels() ? "aggregation" : "spine", leaves_ * uplinks_);
  if (!three_levels()) return;
  for (std::size_t aggregation = 0; aggregation < pods_ * shape_.spines; ++aggregation)
    for (std::size_t core = 0; core < shape_.cores; ++core)
      add_cable(parts, NodeId(first_spine + aggregation),
                NodeId(first_core + aggregation % shape_.spines * shape_.cores + core),
                shape_.links[2]);
  close("core", core_cables());
}

// A way has the number (core * cables + the parallel cable down) * uplinks + uplink.
std::uint64_t Tree::count(Rank from, Rank to) const {
  const std::size_t source = leaf_of(from.index());
  const std::size_t target = leaf_of(to.index());
  if (source == target) return 1;
  const bool over_core = pod_of(source) != pod_of(target);
  return uplinks_ * shape_.cables * (over_core ? shape_.cores : 1);
}

std::uint64_t Tree::usual(Rank from, Rank to) const {
  const std::size_t source = leaf_of(from.index());
  const std::size_t target = leaf_of(to.index());
  if (source == target) return 0;
  const std::size_t place = to.index() / shape_.rails % shape_.ends_per_leaf;
  const std::size_t number = target * shape_.ends_per_leaf + place;
  const std::size_t uplink = number % uplinks_;
  const bool over_core = pod_of(source) != pod_of(target);
  const std::size_t core = over_core ? number / uplinks_ % shape_.cores : 0;
  return (core * shape_.cables + uplink / shape_.spines) * uplinks_ + uplink;
}

void Tree::append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const {
  const std::size_t source = leaf_of(from.index());
  const std::size_t target = leaf_of(to.index());
  route.emplace_back(link(from.index(), false));
  if (source != target) {
    const std::size_t uplink = way % uplinks_;
    const std::size_t spine = uplink % shape_.spines;
    const std::size_t cable = way / uplinks_ % shape_.cables;
    route.emplace_back(leaf_link(source, uplink, false));
    if (pod_of(source) != pod_of(target)) {
      const std::size_t core = way / uplinks_ / shape_.cables;
      route.emplace_back(core_link(pod_of(source), spine, core, false));
      route.emplace_back(core_link(pod_of(target), spine, core, true));
    }
    route.emplace_back(leaf_link(target, cable * shape_.spines + spine, true));
  }
  route.emplace_back(link(to.index(), true));
}

// Turns of the ends, with which the choice of uplinks and of cores turns (Tree::usual()).
//
// Where a leaf has g times as many ends as uplinks, end (pod, leaf l of the pod, group j of g,
// uplink u) is reached over uplink u and core (l g + j) mod c of c.  If c divides the l g of a pod,
// the pod does not matter.  With d = gcd(g, c) the cores have numbers (first, second) = (core / d,
// core mod d): l turns the first, by g/d for each leaf, so that leaves c/d apart take the same
// cores; j mod d turns the second.  What is left of j, its digit of size g/d, turns nothing if
// there is one `first` only, and else cannot turn.
class TreeTurns {
 public:
  // Digits of an end, slowest first.
  enum Digit : std::uint32_t { pod, same_cores, leaf, group, group_of_core, uplink, rail };

  // Leaves of a pod (groups of leaves where there are rails); cores of an aggregation switch, 1
  // where there are none.
  TreeTurns(std::size_t leaves, std::size_t groups, std::size_t cores)
      : leaves_(leaves), groups_(groups), cores_(cores), seconds_(std::gcd(groups, cores)) {
    if (are_there() && firsts() > 1)
      while (inverse_ * (groups_ / seconds_) % firsts() != 1) ++inverse_;
  }

  [[nodiscard]] bool are_there() const { return leaves_ * groups_ % cores_ == 0; }

  [[nodiscard]] std::vector<TurnDigit> digits(std::size_t pods, std::size_t uplinks,
                                              std::size_t rails) const {
    const auto number = [](std::size_t count) { return static_cast<std::uint32_t>(count); };
    const std::uint32_t groups = number(groups_ / seconds_);
    return {{number(pods)},
            {number(leaves_ / firsts())},
            {number(firsts())},
            {groups, firsts() == 1 ? 1 : groups},
            {number(seconds_)},
            {number(uplinks)},
            {number(rails), number(rails)}};
  }

  // The first of those groups of a pod, counted leaf by leaf, that are reached over a core.
  [[nodiscard]] std::size_t first_group_over(std::size_t core) const {
    return core / seconds_ * inverse_ % firsts() * groups_ + core % seconds_;
  }

 private:
  [[nodiscard]] std::size_t firsts() const { return cores_ / seconds_; }

  std::size_t leaves_, groups_, cores_, seconds_;
  std::size_t inverse_ = 1;  // of g/d, modulo c/d
};

std::optional<Topology::Turning> Tree::turning() const {
  const std::size_t leaves = three_levels() ? shape_.leaves_per_pod : leaves_ / shape_.rails;
  const std::size_t per_leaf = shape_.ends_per_leaf;
  const bool full = pods_ * leaves * per_leaf * shape_.rails == ends();
  const bool even = uplinks_ > 0 && per_leaf % uplinks_ == 0;
  for (const LinkParameters& link : shape_.links)
    if (link.half_duplex) return std::nullopt;
  if (!full || !even) return std::nullopt;
  const TreeTurns turns(leaves, per_leaf / uplinks_, three_levels() ? shape_.cores : 1);
  if (!turns.are_there()) return std::nullopt;

  Topology::Turning turning;
  turning.digits = turns.digits(pods_, uplinks_, shape_.rails);
  turning.place = [*this, turns, leaves, per_leaf](LinkId id) {
    constexpr std::uint32_t groups =
        1U << TreeTurns::Digit::group | 1U << TreeTurns::Digit::group_of_core;
    constexpr std::uint32_t over_core =
        1U << TreeTurns::Digit::same_cores | 1U << TreeTurns::Digit::group;
    std::size_t cable = id.index() / 2;
    const std::uint32_t down = id.index() % 2;
    if (cable < ends()) return LinkPlace{down, Rank(cable)};
    cable -= ends();
    if (cable < leaves_ * uplinks_) {
      const std::size_t leaf = cable / uplinks_;
      const std::size_t first = leaf / shape_.rails * per_leaf + cable % uplinks_;
      return LinkPlace{2 + down, Rank(first * shape_.rails + leaf % shape_.rails), groups};
    }
    cable -= leaves_ * uplinks_;  // (pod, uplink, core), without rails
    const std::size_t pod = cable / shape_.cores / uplinks_;
    const std::size_t uplink = cable / shape_.cores % uplinks_;
    const std::size_t group = turns.first_group_over(cable % shape_.cores);
    return LinkPlace{4 + down, Rank(pod * leaves * per_leaf + group * uplinks_ + uplink),
                     over_core};
  };
  return turning;
}

std::string to_text(double ratio) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio).ptr;
  return {text.data(), end};
}

// Ports are split by rates: what to change where that leaves too few.
std::string because_of_rates(const FatTreeShape& shape) {
  const bool alike = std::all_of(shape.links.begin(), shape.links.end(), [&](const auto& link) {
    return link.bandwidth == shape.links.front().bandwidth;
  });
  return alike ? ""
               : "; links of other rates further up take another share of the ports: change "
                 "\"uplink\" or \"oversubscription\"";
}

// How many ports of a switch go up and how many down.
struct Split {
  std::size_t up, down;
};

Split split_ports(const FatTreeShape& shape, std::size_t level) {
  const double wanted = level < shape.oversubscription.size() ? shape.oversubscription[level] : 1.0;
  if (!(wanted > 0 && wanted <= 1000))
    throw_error(ErrorCode::invalid_argument, "fat-tree: an oversubscription of ", to_text(wanted),
                "; more than 0 and at most 1000 allowed");
  const double faster = static_cast<double>(shape.links[level + 1].bandwidth.bytes_per_second()) /
                        static_cast<double>(shape.links[level].bandwidth.bytes_per_second());
  const double down_per_up = wanted * faster;
  constexpr double rounding = 1e-9;  // 3 * (1 / 3.0) is a whole port
  const double up = std::floor(shape.ports / (1 + down_per_up) + rounding);
  const double down = std::min(std::floor(up * down_per_up + rounding), shape.ports - up);
  if (up < 1 || down < 1)
    throw_error(ErrorCode::invalid_argument, "fat-tree: switches of ", shape.ports,
                " ports cannot be oversubscribed ", to_text(wanted),
                " to 1: no port is left to go ", up < 1 ? "up" : "down", because_of_rates(shape));
  return {.up = static_cast<std::size_t>(up), .down = static_cast<std::size_t>(down)};
}

}  // namespace

std::shared_ptr<Fabric> make_tree_fabric(const TreeShape& shape) {
  COLLSIM_CHECK(shape.links.size() == (shape.leaves_per_pod > 0 ? 3U : 2U),
                concat(shape.name, ": ", shape.links.size(), " kinds of links"));
  return std::make_shared<Tree>(shape);
}

std::shared_ptr<Fabric> make_switch_fabric(std::size_t ends, const LinkParameters& port) {
  return std::make_shared<Tree>(TreeShape{
      .name = "switch", .ends = ends, .ends_per_leaf = ends, .spines = 0, .links = {port}});
}

Topology fabric_of_ranks(const std::string& name, std::shared_ptr<Fabric> fabric) {
  Topology::Parts parts = shape_parts(name, fabric->ends(), fabric->links());
  fabric->add_switches(parts);
  fabric->add_cables(parts, NodeId(0));
  if (auto turning = fabric->turning()) parts.turnings.push_back(std::move(*turning));
  parts.ways = std::move(fabric);
  parts.routes_ignore_bandwidth = true;
  return Topology(std::move(parts));
}

Topology make_tree(const TreeShape& shape) {
  return fabric_of_ranks(shape.name, make_tree_fabric(shape));
}

TreeShape tree_of(const FatTreeShape& shape) {
  if (shape.levels != 2 && shape.levels != 3)
    throw_error(ErrorCode::invalid_argument, "fat-tree: ", shape.levels,
                " levels of switches; 2 or 3 are possible");
  const auto levels = static_cast<std::size_t>(shape.levels);
  constexpr int most = 406;  // 406^3 / 4 is the last below max_ranks
  if (shape.ports < 2)
    throw_error(ErrorCode::invalid_argument, "fat-tree: switches of ", shape.ports,
                " ports; at least 2 allowed");
  if (shape.ports > most)
    throw_error(ErrorCode::too_large, "fat-tree: switches of ", shape.ports, " ports; at most ",
                most, " allowed");
  COLLSIM_CHECK(shape.links.size() == levels, "a fat-tree needs a link per level");
  if (shape.oversubscription.size() >= levels)
    throw_error(ErrorCode::invalid_argument, "fat-tree: ", shape.oversubscription.size(),
                " values of oversubscription; ", levels, " levels have at most ", levels - 1);
  const auto ports = static_cast<std::size_t>(shape.ports);
  const Split leaf = split_ports(shape, 0);
  const Split pod = levels == 3 ? split_ports(shape, 1) : Split{.up = 0, .down = 1};
  const std::size_t room = ports * pod.down * leaf.down;
  if (shape.ranks > room)
    throw_error(ErrorCode::too_large, "fat-tree: ", shape.ranks, " ranks; ", levels,
                " levels of switches of ", ports, " ports have at most ", room,
                because_of_rates(shape));
  return {.name = "fat-tree",
          .ends = shape.ranks > 0 ? shape.ranks : room,
          .ends_per_leaf = leaf.down,
          .spines = leaf.up,
          .leaves_per_pod = levels == 3 ? pod.down : 0,
          .cores = pod.up,
          .links = shape.links};
}

Topology make_fat_tree(int ports, const LinkParameters& link) {
  if (ports < 2 || ports % 2 != 0)
    throw_error(ErrorCode::invalid_argument, "fat-tree: switches of ", ports,
                " ports; an even number of at least 2 is needed");
  return make_tree(tree_of({.levels = 3, .ports = ports, .links = {link, link, link}}));
}

}  // namespace collsim
