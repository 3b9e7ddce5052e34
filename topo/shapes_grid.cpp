// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "topo/parts.hpp"
#include "topo/shapes.hpp"

// Chains, rings, meshes, tori and hypercubes are all grids in which some lines are closed.

namespace collsim {

namespace {

// The cables along one dimension.  Cable (line above, place c, line below) leads from place c to
// place c + 1 and has number (above * cables_per_line + c) * stride + below; the links in
// increasing direction have the ids base + number, those in decreasing direction follow.  With the
// slowest dimension first this makes the rules of shapes.hpp for equal ways (slowest dimension
// first, increasing when half way) those of the smallest ids.
struct Dimension {
  std::size_t size = 1;
  std::size_t stride = 1;           // distance in rank of two neighbours
  std::size_t cables_per_line = 0;  // size when closed, else size - 1
  std::size_t cables = 0;           // in all lines together
  std::size_t base = 0;
};

struct Grid {
  std::vector<Dimension> dimensions;
  std::size_t ranks = 1;
  std::size_t links = 0;
};

// Two places are joined by one cable even when the line is closed.
Grid make_grid(const std::vector<std::size_t>& sizes, bool closed) {
  Grid grid;
  for (const std::size_t size : sizes) grid.ranks *= size;
  std::size_t stride = grid.ranks;
  for (const std::size_t size : sizes) {
    stride /= size;
    const std::size_t cables_per_line = closed && size > 2 ? size : size - 1;
    const std::size_t cables = grid.ranks / size * cables_per_line;
    grid.dimensions.push_back({.size = size,
                               .stride = stride,
                               .cables_per_line = cables_per_line,
                               .cables = cables,
                               .base = grid.links});
    grid.links += 2 * cables;
  }
  return grid;
}

// How far it is from rank `at` to the place of rank `to` in increasing direction, on a closed line.
std::size_t distance_up(const Dimension& along, std::size_t at, std::size_t to) {
  return (to / along.stride + along.size - at / along.stride % along.size) % along.size;
}

bool is_closed(const Dimension& along) {
  return along.cables_per_line == along.size;
}

bool has_ties(const Dimension& along) {
  return is_closed(along) && along.size % 2 == 0;
}

// Half way round both directions are equally long.
bool is_half_way(const Dimension& along, std::size_t at, std::size_t to) {
  return is_closed(along) && 2 * distance_up(along, at, to) == along.size;
}

// Walks along one dimension from rank `at` to the place of rank `to` there; returns where it ends.
std::size_t walk(const Dimension& along, std::size_t at, std::size_t to, bool half_way_down,
                 std::vector<LinkId>& route) {
  const std::size_t line = along.size * along.stride;
  const std::size_t above = at / line;
  const std::size_t below = at % along.stride;
  const std::size_t end = to / along.stride % along.size;
  std::size_t place = at / along.stride % along.size;
  if (place == end) return at;
  const std::size_t twice_up = 2 * distance_up(along, at, to);
  const bool shorter_up = half_way_down ? twice_up < along.size : twice_up <= along.size;
  const bool increasing = is_closed(along) ? shorter_up : end > place;
  const std::size_t first = above * along.cables_per_line;
  while (place != end) {
    const std::size_t before = place == 0 ? along.size - 1 : place - 1;
    const std::size_t cable = (first + (increasing ? place : before)) * along.stride + below;
    route.emplace_back(along.base + cable + (increasing ? 0 : along.cables));
    if (increasing)
      place = place + 1 == along.size ? 0 : place + 1;
    else
      place = before;
  }
  return above * line + end * along.stride + below;
}

class GridWays final : public EqualWays {
 public:
  GridWays(std::vector<Dimension> dimensions, bool ties_rotate)
      : dimensions_(std::move(dimensions)), ties_rotate_(ties_rotate) {}
  // Two for every dimension in which the target is half way round; a way has a bit for each of
  // those, from the first dimension on: whether it goes down.
  [[nodiscard]] std::uint64_t count(Rank from, Rank to) const override {
    std::uint64_t ways = 1;
    for (const Dimension& along : dimensions_)
      if (is_half_way(along, from.index(), to.index())) ways *= 2;
    return ways;
  }
  // By turns: sources whose coordinates, in dimensions with ties, add up to an odd number go down.
  [[nodiscard]] std::uint64_t usual(Rank from, Rank to) const override {
    std::size_t sum = 0;
    for (const Dimension& along : dimensions_)
      if (has_ties(along)) sum += from.index() / along.stride % along.size;
    return ties_rotate_ && sum % 2 == 1 ? count(from, to) - 1 : 0;
  }
  void append(Rank from, Rank to, std::uint64_t way, std::vector<LinkId>& route) const override {
    std::size_t at = from.index();
    for (const Dimension& along : dimensions_) {
      const bool tie = is_half_way(along, at, to.index());
      at = walk(along, at, to.index(), tie && way % 2 == 1, route);
      if (tie) way /= 2;
    }
  }

 private:
  std::vector<Dimension> dimensions_;
  bool ties_rotate_;
};

void add_dimension(Topology::Parts& parts, const Dimension& along, const LinkParameters& link) {
  if (along.cables == 0) return;
  const std::size_t lines_above = along.cables / (along.cables_per_line * along.stride);
  for (std::size_t above = 0; above < lines_above; ++above)
    for (std::size_t place = 0; place < along.cables_per_line; ++place)
      for (std::size_t below = 0; below < along.stride; ++below) {
        const std::size_t start = above * along.size * along.stride + below;
        const std::size_t next = place + 1 == along.size ? 0 : place + 1;
        add_link(parts, NodeId(start + place * along.stride), NodeId(start + next * along.stride),
                 link);
      }
  for (std::size_t cable = 0; cable < along.cables; ++cable)
    add_reverse_link(parts, LinkId(along.base + cable), link);
}

// Every dimension may turn, by even numbers where that decides on ties.  A link in decreasing
// direction lies where its opposite begins; of a dimension of 2 both directions are alike.
Topology::Turning turning(const std::vector<Dimension>& dimensions, bool ties_rotate) {
  Topology::Turning turning;
  for (const Dimension& along : dimensions)
    turning.digits.push_back(
        {static_cast<std::uint32_t>(along.size), ties_rotate && has_ties(along) ? 2U : 1U});
  turning.place = [dimensions](LinkId id) {
    std::uint32_t kind = 0;
    for (const Dimension& along : dimensions) {
      kind += 2;
      const std::size_t number = id.index() - along.base;
      if (number >= 2 * along.cables) continue;
      const bool decreasing = number >= along.cables;
      const std::size_t cable = decreasing ? number - along.cables : number;
      const std::size_t line = cable / along.stride / along.cables_per_line;
      std::size_t place = cable / along.stride % along.cables_per_line;
      const bool pair = along.size == 2;
      if (pair && decreasing) place = 1;
      const std::size_t rank = (line * along.size + place) * along.stride + cable % along.stride;
      return LinkPlace{kind + (decreasing && !pair ? 1 : 0), Rank(rank)};
    }
    COLLSIM_CHECK(false, "a link beyond the last dimension");
  };
  return turning;
}

Topology::Parts grid_parts(const std::string& shape, const std::vector<std::size_t>& sizes,
                           bool closed, const std::vector<LinkParameters>& links) {
  for (const LinkParameters& link : links) check_shape_link(shape, link);
  if (links.size() != 1 && links.size() != sizes.size())
    throw_error(ErrorCode::invalid_argument, shape, ": ", links.size(), " links for ", sizes.size(),
                " dimensions; give one, or one per dimension");
  const Grid grid = make_grid(sizes, closed);
  Topology::Parts parts = shape_parts(shape, grid.ranks, grid.links);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dimension& along = grid.dimensions[i];
    add_dimension(parts, along, links[links.size() == 1 ? 0 : i]);
    parts.link_levels.push_back({.name = concat("dimension", i), .count = 2 * along.cables});
  }
  // A ring keeps its symmetry: half way round all ranks go up.
  const bool ties_rotate = shape == "torus";
  parts.ways = std::make_shared<GridWays>(grid.dimensions, ties_rotate);
  const auto turns = [closed](const Dimension& along) { return closed || along.size <= 2; };
  if (std::none_of(links.begin(), links.end(), std::mem_fn(&LinkParameters::half_duplex)) &&
      std::all_of(grid.dimensions.begin(), grid.dimensions.end(), turns))
    parts.turnings.push_back(turning(grid.dimensions, ties_rotate));
  return parts;
}

std::string to_text(const std::vector<int>& dims) {
  std::string text;
  for (const int size : dims) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

std::vector<std::size_t> checked_sizes(const std::string& shape, const std::vector<int>& dims) {
  if (dims.empty())
    throw_error(ErrorCode::invalid_argument, shape + ": no dimensions; at least 1 is needed");
  std::size_t ranks = 1;
  for (const int size : dims) {
    if (size < 1)
      throw_error(ErrorCode::invalid_argument, shape, ": dimensions ", to_text(dims),
                  "; each must be at least 1, not ", size);
    ranks *= static_cast<std::size_t>(size);
    if (ranks > max_ranks)
      throw_error(ErrorCode::too_large, shape, ": dimensions ", to_text(dims), " make more than ",
                  max_ranks, " ranks");
  }
  return {dims.begin(), dims.end()};
}

}  // namespace

Topology make_chain(std::size_t ranks, const LinkParameters& link) {
  check_rank_count("chain", ranks);
  Topology::Parts parts = grid_parts("chain", {ranks}, false, {link});
  parts.routes_ignore_bandwidth = true;
  return Topology(std::move(parts));
}

Topology make_ring(std::size_t ranks, const LinkParameters& link) {
  check_rank_count("ring", ranks);
  return Topology(grid_parts("ring", {ranks}, true, {link}));
}

Topology make_torus(const std::vector<int>& dims, const LinkParameters& link) {
  return make_torus(dims, std::vector{link});
}

Topology make_torus(const std::vector<int>& dims, const std::vector<LinkParameters>& links) {
  Topology::Parts parts = grid_parts("torus", checked_sizes("torus", dims), true, links);
  parts.dims = dims;
  parts.routes_ignore_bandwidth = true;  // dimension by dimension, also over a slow link
  return Topology(std::move(parts));
}

Topology make_mesh(const std::vector<int>& dims, const LinkParameters& link) {
  return make_mesh(dims, std::vector{link});
}

Topology make_mesh(const std::vector<int>& dims, const std::vector<LinkParameters>& links) {
  Topology::Parts parts = grid_parts("mesh", checked_sizes("mesh", dims), false, links);
  parts.dims = dims;
  parts.routes_ignore_bandwidth = true;  // dimension by dimension, also over a slow link
  return Topology(std::move(parts));
}

Topology make_hypercube(std::size_t ranks, const LinkParameters& link) {
  check_rank_count("hypercube", ranks);
  if (!std::has_single_bit(ranks))
    throw_error(ErrorCode::invalid_argument, "hypercube: ", ranks,
                " ranks; only powers of two are possible, such as ", std::bit_floor(ranks), " or ",
                std::bit_ceil(ranks));
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(std::countr_zero(ranks)), 2);
  Topology::Parts parts = grid_parts("hypercube", sizes, false, {link});
  return Topology(std::move(parts));
}

}  // namespace collsim
