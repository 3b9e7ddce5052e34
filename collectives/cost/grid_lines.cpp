// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/grid_lines.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

namespace collsim {

std::optional<GridStep> grid_step(const Link& link, const std::vector<std::size_t>& dims) {
  std::size_t a = link.from.index();
  std::size_t b = link.to.index();
  std::optional<GridStep> step;
  for (std::size_t d = dims.size(); d-- > 0 && a != b;) {
    const std::size_t places = dims[d];
    const std::size_t x = d == 0 ? a : a % places;
    const std::size_t y = d == 0 ? b : b % places;
    if (d > 0) a /= places, b /= places;
    if (x == y) continue;
    if (step) return std::nullopt;
    if (y == (x + 1 == places ? 0 : x + 1))
      step = GridStep{d, x, true};
    else if (x == (y + 1 == places ? 0 : y + 1))
      step = GridStep{d, y, false};
    else
      return std::nullopt;
  }
  return step;
}

namespace {

// Lines of more places are not tried from everywhere to everywhere.
constexpr std::size_t most_places_tried = 128;

// What leads from every place of a dimension to the next, and back, and how many members are
// before it.
struct Places {
  std::vector<double> up, down;
  std::vector<std::size_t> before;  // and all
};

struct NarrowLine {
  double worth = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

// Sees every line once that is worth looking at: `length` places from `from` on.
template <class See>
void for_each_line(std::size_t places, bool closed, const See& see) {
  const std::size_t starts = closed || places <= most_places_tried ? places : 1;
  for (std::size_t from = 0; from < starts; ++from) {
    const std::size_t most = closed ? places - 1 : std::min(places - 1, places - from);
    if (places <= most_places_tried || from == 0)
      for (std::size_t length = 1; length <= most; ++length) see(from, length);
    else
      see(from, places / 2);
  }
}

// Those with the largest worth: 1 / capacity, and pairs of members / capacity.
std::vector<NarrowLine> narrowest_lines(const Places& at) {
  const std::size_t places = at.up.size();
  const std::size_t members = at.before.back();
  const bool closed = at.up.back() > 0 || at.down.back() > 0;
  NarrowLine narrow, busy;
  for_each_line(places, closed, [&](std::size_t from, std::size_t length) {
    const std::size_t end = from + length;  // one after the last
    const std::size_t inside = end <= places ? at.before[end] - at.before[from]
                                             : members - at.before[from] + at.before[end - places];
    if (inside == 0 || inside == members) return;
    const std::size_t last = end <= places ? end - 1 : end - 1 - places;
    const std::size_t previous = from > 0 ? from - 1 : places - 1;
    const double capacity =
        std::min(at.up[last] + at.down[previous], at.down[last] + at.up[previous]);
    if (capacity == 0) return;
    const double pairs = static_cast<double>(inside) * static_cast<double>(members - inside);
    if (1 / capacity > narrow.worth) narrow = {1 / capacity, from, last};
    if (pairs / capacity > busy.worth) busy = {pairs / capacity, from, last};
  });
  std::vector<NarrowLine> found;
  if (busy.worth > 0) found.push_back(busy);
  if (narrow.worth > 0 && (narrow.from != busy.from || narrow.to != busy.to))
    found.push_back(narrow);
  return found;
}

std::vector<std::vector<std::size_t>> possible_dims(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  if (topology.node_count() != ranks || ranks < 3) return {};
  std::vector<std::vector<std::size_t>> guesses;
  guesses.emplace_back(topology.dims().begin(), topology.dims().end());
  guesses.push_back({ranks});
  if (std::has_single_bit(ranks))
    guesses.emplace_back(static_cast<std::size_t>(std::countr_zero(ranks)), 2);
  std::erase_if(guesses, [ranks](const std::vector<std::size_t>& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>{}) != ranks;
  });
  return guesses;
}

// Sees every link and its step; false as soon as one is none.
template <class See>
bool for_each_step(const Topology& topology, const std::vector<std::size_t>& dims, const See& see) {
  for (const Link& link : topology.links()) {
    const std::optional<GridStep> step = grid_step(link, dims);
    if (!step) return false;
    see(link, *step);
  }
  return true;
}

std::vector<GridLine> lines_of(std::vector<Places> at, const Topology& topology,
                               std::span<const Rank> group, const std::vector<std::size_t>& dims) {
  const auto place_of = [&](std::size_t rank, std::size_t dimension) {
    for (std::size_t d = dims.size() - 1; d > dimension; --d) rank /= dims[d];
    return dimension == 0 ? rank : rank % dims[dimension];
  };
  std::vector<GridLine> lines;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 2) continue;
    for (const Rank rank : group) ++at[d].before[place_of(rank.index(), d) + 1];
    std::partial_sum(at[d].before.begin(), at[d].before.end(), at[d].before.begin());
    for (const NarrowLine& narrow : narrowest_lines(at[d])) {
      GridLine& line = lines.emplace_back(GridLine{d, narrow.from, narrow.to, {}});
      line.block_of_device.resize(topology.node_count(), Division::no_block);
      for (std::size_t r = 0; r < topology.node_count(); ++r) {
        const std::size_t place = place_of(r, d);
        const bool inside = narrow.from <= narrow.to ? narrow.from <= place && place <= narrow.to
                                                     : narrow.from <= place || place <= narrow.to;
        if (inside) line.block_of_device[r] = 0;
      }
    }
  }
  return lines;
}

}  // namespace

std::vector<std::size_t> grid_dims(const Topology& topology) {
  for (const std::vector<std::size_t>& dims : possible_dims(topology))
    if (for_each_step(topology, dims, [](const Link&, const GridStep&) {})) return dims;
  return {};
}

std::optional<std::vector<GridLine>> narrow_lines(const Topology& topology,
                                                  std::span<const Rank> group) {
  for (const std::vector<std::size_t>& dims : possible_dims(topology)) {
    std::vector<Places> at(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      at[d].up.resize(dims[d]);
      at[d].down.resize(dims[d]);
      at[d].before.resize(dims[d] + 1);
    }
    if (for_each_step(topology, dims, [&](const Link& link, const GridStep& step) {
          auto& way = step.up ? at[step.dimension].up : at[step.dimension].down;
          if (!link.down) way[step.from] += static_cast<double>(link.bandwidth.bytes_per_second());
        }))
      return lines_of(std::move(at), topology, group, dims);
  }
  return std::nullopt;
}

}  // namespace collsim
