// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "topo/fabric.hpp"

namespace collsim {

namespace {

// Links in blocks, from base on:
//   terminal: end e up is 2e, down 2e + 1
//   local:    group by group, by ordered pair of routers
//   global:   by ordered pair of groups, then by cable
// A pair's opposite direction is the same cable.
class Dragonfly final : public Fabric {
 public:
  explicit Dragonfly(const DragonflyShape& shape);

  [[nodiscard]] std::size_t ends() const override { return ends_; }
  [[nodiscard]] std::size_t links() const override {
    return 2 * ends_ + groups_ * links_inside() + groups_ * (groups_ - 1) * cables_;
  }
  [[nodiscard]] const LinkParameters& port() const override { return shape_.link; }
  void add_switches(Topology::Parts& parts) override;
  void add_cables(Topology::Parts& parts, NodeId first_end) override;

  [[nodiscard]] std::uint64_t count(Rank from, Rank to) const override {
    return group_of(from) == group_of(to) ? 1 : cables_;
  }
  [[nodiscard]] std::uint64_t usual(Rank from, Rank to) const override {
    return group_of(from) == group_of(to) ? 0 : to.index() % cables_;
  }
  void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const override;

  [[nodiscard]] std::uint64_t detours(Rank from, Rank to) const override {
    return group_of(from) == group_of(to) ? 0 : (groups_ - 2) * cables_ * cables_;
  }
  void append_detour(Rank from, Rank to, std::uint64_t detour,
                     std::vector<LinkId>& route) const override;
  [[nodiscard]] std::optional<Topology::Turning> turning() const override;

 private:
  // A router: its number in its group.
  struct Place {
    std::size_t group, router;
  };
  [[nodiscard]] Place place_of(Rank end) const {
    const std::size_t router = end.index() / per_router_;
    return {router / routers_, router % routers_};
  }
  [[nodiscard]] std::size_t group_of(Rank end) const { return place_of(end).group; }
  [[nodiscard]] std::size_t links_inside() const { return routers_ * (routers_ - 1); }
  [[nodiscard]] std::size_t local_link(std::size_t group, std::size_t from, std::size_t to) const {
    return base_ + 2 * ends_ + group * links_inside() + ordered_pair(from, to, routers_);
  }
  [[nodiscard]] std::size_t global_link(std::size_t from, std::size_t to, std::size_t cable) const {
    return base_ + 2 * ends_ + groups_ * links_inside() +
           ordered_pair(from, to, groups_) * cables_ + cable;
  }
  // The router of `group` that has this cable to group `to`.
  [[nodiscard]] std::size_t exit(std::size_t group, std::size_t to, std::size_t cable) const {
    return ((to + groups_ - group - 1) % groups_ * cables_ + cable) % routers_;
  }
  [[nodiscard]] NodeId router(std::size_t group, std::size_t number) const {
    return NodeId(first_router_ + group * routers_ + number);
  }
  void go_to_router(Place& at, std::size_t router, std::vector<LinkId>& route) const {
    if (at.router != router) route.emplace_back(local_link(at.group, at.router, router));
    at.router = router;
  }
  void go_to_group(Place& at, std::size_t group, std::size_t cable,
                   std::vector<LinkId>& route) const {
    go_to_router(at, exit(at.group, group, cable), route);
    route.emplace_back(global_link(at.group, group, cable));
    at = {group, exit(group, at.group, cable)};
  }
  void add_local_cables(Topology::Parts& parts, const LinkParameters& link) const;
  void add_global_cables(Topology::Parts& parts, const LinkParameters& link) const;

  DragonflyShape shape_;
  std::size_t groups_, routers_, per_router_, cables_, ends_;
  std::size_t base_ = 0, first_router_ = 0;
};

Dragonfly::Dragonfly(const DragonflyShape& shape) : shape_(shape) {
  const auto check = [](int value, const char* what) {
    if (value < 1)
      throw_error(ErrorCode::invalid_argument, "dragonfly: ", what, " is ", value,
                  "; at least 1 allowed");
    if (static_cast<std::size_t>(value) > max_ranks)
      throw_error(ErrorCode::too_large, "dragonfly: ", what, " is ", value, "; at most ", max_ranks,
                  " allowed");
    return static_cast<std::size_t>(value);
  };
  groups_ = check(shape.groups, "groups");
  routers_ = check(shape.routers_per_group, "routers_per_group");
  per_router_ = check(shape.ranks_per_router, "ranks_per_router");
  cables_ = check(shape.cables, "the number of cables between two groups");
  check_rank_count("dragonfly", groups_ * routers_);
  ends_ = groups_ * routers_ * per_router_;
  check_rank_count("dragonfly", ends_);
  if (links() > max_links)
    throw_error(ErrorCode::too_large, "dragonfly: ", ends_, " ranks would need ", links(),
                " links; at most ", max_links, " allowed");
  for (const LinkParameters& link :
       {shape.link, shape.local_link.value_or(shape.link), shape.global_link.value_or(shape.link)})
    check_shape_link("dragonfly", link);
}

void Dragonfly::add_switches(Topology::Parts& parts) {
  first_router_ = parts.kinds.size();
  parts.levels.push_back(
      {.name = "router", .first = NodeId(first_router_), .count = groups_ * routers_});
  add_nodes(parts, NodeKind::network_switch, groups_ * routers_);
}

void Dragonfly::add_cables(Topology::Parts& parts, NodeId first_end) {
  base_ = parts.links.size();
  for (std::size_t end = 0; end < ends_; ++end)
    add_cable(parts, NodeId(first_end.index() + end), router(0, end / per_router_), shape_.link);
  parts.link_levels.push_back({.name = "terminal", .count = 2 * ends_});
  add_local_cables(parts, shape_.local_link.value_or(shape_.link));
  parts.link_levels.push_back({.name = "local", .count = groups_ * links_inside()});
  add_global_cables(parts, shape_.global_link.value_or(shape_.link));
  parts.link_levels.push_back({.name = "global", .count = groups_ * (groups_ - 1) * cables_});
}

void Dragonfly::add_local_cables(Topology::Parts& parts, const LinkParameters& link) const {
  for (std::size_t group = 0; group < groups_; ++group)
    for (std::size_t from = 0; from < routers_; ++from)
      for (std::size_t to = 0; to < routers_; ++to) {
        if (to > from)
          add_link(parts, router(group, from), router(group, to), link);
        else if (to < from)
          add_reverse_link(parts, LinkId(local_link(group, to, from)), link);
      }
}

void Dragonfly::add_global_cables(Topology::Parts& parts, const LinkParameters& link) const {
  for (std::size_t from = 0; from < groups_; ++from)
    for (std::size_t to = 0; to < groups_; ++to)
      for (std::size_t cable = 0; cable < cables_; ++cable) {
        if (to > from)
          add_link(parts, router(from, exit(from, to, cable)), router(to, exit(to, from, cable)),
                   link);
        else if (to < from)
          add_reverse_link(parts, LinkId(global_link(to, from, cable)), link);
      }
}

void Dragonfly::append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const {
  Place at = place_of(from);
  const Place last = place_of(to);
  route.emplace_back(base_ + 2 * from.index());
  if (at.group != last.group) go_to_group(at, last.group, way, route);
  go_to_router(at, last.router, route);
  route.emplace_back(base_ + 2 * to.index() + 1);
}

// Groups may turn, and the ranks of all routers alike, as far as they then take the same cables.
std::optional<Topology::Turning> Dragonfly::turning() const {
  for (const LinkParameters& link : {shape_.link, shape_.local_link.value_or(shape_.link),
                                     shape_.global_link.value_or(shape_.link)})
    if (link.half_duplex) return std::nullopt;
  const std::size_t per_group = routers_ * per_router_;
  if (per_group % cables_ != 0) return std::nullopt;
  const auto size = [](std::size_t count) { return static_cast<std::uint32_t>(count); };
  Topology::Turning turning;
  turning.digits = {{size(groups_)},
                    {size(routers_), size(routers_)},
                    {size(per_router_), size(per_router_ % cables_ == 0 ? cables_ : per_router_)}};
  turning.place = [*this, per_group, size](LinkId id) {
    constexpr std::uint32_t ranks_of_a_group = 0b110;
    if (id.index() < 2 * ends_) return LinkPlace{size(id.index() % 2), Rank(id.index() / 2)};
    const std::size_t number = id.index() - 2 * ends_;
    const std::size_t inside = groups_ * links_inside();
    if (number < inside)
      return LinkPlace{size(2 + number % links_inside()), Rank(number / links_inside() * per_group),
                       ranks_of_a_group};
    const std::size_t pair = (number - inside) / cables_;
    const std::size_t from = pair / (groups_ - 1);
    const std::size_t other = pair % (groups_ - 1);
    const std::size_t distance = ((other < from ? other : other + 1) + groups_ - from) % groups_;
    const std::size_t kind = 2 + links_inside() + distance * cables_ + (number - inside) % cables_;
    return LinkPlace{size(kind), Rank(from * per_group), ranks_of_a_group};
  };
  return turning;
}

// Its number is (third group * cables + first cable) * cables + second cable, where the third
// groups are all but that of the source and that of the target, in order.
void Dragonfly::append_detour(Rank from, Rank to, std::uint64_t detour,
                              std::vector<LinkId>& route) const {
  Place at = place_of(from);
  const Place last = place_of(to);
  std::size_t third = detour / cables_ / cables_;
  if (third >= std::min(at.group, last.group)) ++third;
  if (third >= std::max(at.group, last.group)) ++third;
  route.emplace_back(base_ + 2 * from.index());
  go_to_group(at, third, detour / cables_ % cables_, route);
  go_to_group(at, last.group, detour % cables_, route);
  go_to_router(at, last.router, route);
  route.emplace_back(base_ + 2 * to.index() + 1);
}

}  // namespace

std::shared_ptr<Fabric> make_dragonfly_fabric(const DragonflyShape& shape) {
  return std::make_shared<Dragonfly>(shape);
}

Topology make_dragonfly(const DragonflyShape& shape) {
  return fabric_of_ranks("dragonfly", make_dragonfly_fabric(shape));
}

}  // namespace collsim
