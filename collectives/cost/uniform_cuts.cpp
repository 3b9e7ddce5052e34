// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/uniform_cuts.hpp"

#include <algorithm>
#include <utility>

#include "collectives/cost/grid_lines.hpp"

namespace collsim {
namespace {

bool are_alike(const Link& a, const Link& b) {
  return a.bandwidth == b.bandwidth && a.latency == b.latency && a.startup == b.startup &&
         a.sharing == b.sharing;
}

// Ranks that can be turned into all others.
std::vector<std::size_t> representatives(const std::vector<TurnDigit>& digits) {
  std::vector<std::size_t> ranks{0};
  for (const TurnDigit& digit : digits) {
    std::vector<std::size_t> longer;
    for (const std::size_t rank : ranks)
      for (std::size_t place = 0; place < digit.step; ++place)
        longer.push_back(rank * digit.size + place);
    ranks = std::move(longer);
  }
  return ranks;
}

// How many links a rank has to the next place of each dimension, and to the one before.
using Ways = std::vector<std::uint64_t>;

// Where all ranks have as many.  Of a switch: out to it, and in from it.
std::optional<Ways> ways_of_ranks(const Topology& topology, const std::vector<TurnDigit>& digits) {
  std::vector<std::size_t> dims;
  dims.reserve(digits.size());
  for (const TurnDigit& digit : digits) dims.push_back(digit.size);
  const bool star = topology.node_count() > topology.rank_count();
  const std::vector<std::size_t> looked_at = representatives(digits);
  std::vector<Ways> ways(looked_at.size() + 1, Ways(2 * dims.size(), 0));
  std::vector<std::uint32_t> number(topology.node_count(), 0);  // of `ways`; 0: of all others
  for (std::size_t i = 0; i < looked_at.size(); ++i)
    number[topology.node_of(Rank(looked_at[i])).index()] = static_cast<std::uint32_t>(i + 1);
  for (const Link& link : topology.links()) {
    const std::uint32_t from = number[link.from.index()];
    const std::uint32_t to = number[link.to.index()];
    if (from == 0 && (to == 0 || !star)) continue;
    if (!are_alike(link, topology.links().front())) return std::nullopt;
    if (star) {
      if (topology.rank_at(link.from) && topology.rank_at(link.to)) return std::nullopt;
      ++(from != 0 ? ways[from][0] : ways[to][1]);
      continue;
    }
    const std::optional<GridStep> step = grid_step(link, dims);
    if (!step) return std::nullopt;
    ++ways[from][2 * step->dimension + (step->up ? 0 : 1)];
  }
  if (std::any_of(ways.begin() + 1, ways.end(), [&](const Ways& its) { return its != ways[1]; }) ||
      (star && ways[1][0] != ways[1][1]))
    return std::nullopt;
  return ways[1];
}

UniformCuts cuts_of(const Topology& topology, const std::vector<TurnDigit>& digits,
                    const Ways& ways) {
  const Link& link = topology.links().front();
  const bool star = topology.node_count() > topology.rank_count();
  UniformCuts cuts;
  std::size_t stride = topology.rank_count();
  for (std::size_t d = 0; d < digits.size() && !star; ++d) {
    const std::size_t places = digits[d].size;
    stride /= places;
    const std::uint64_t links = ways[2 * d] + ways[2 * d + 1];
    cuts.links_of_rank += links;
    for (const std::size_t length : {std::size_t{1}, places / 2})
      if (places > 1)
        cuts.lines.push_back({stride, places, length, links * (topology.rank_count() / places)});
  }
  if (star) cuts.links_of_rank = ways[0];
  cuts.link = {.out = static_cast<std::uint64_t>(link.bandwidth.bytes_per_second()),
               .startup_out = link.startup.ps(),
               .startup_in = link.startup.ps(),
               .fair = link.sharing == Sharing::fair};
  cuts.around.most_out = cuts.around.most_in = static_cast<std::uint32_t>(cuts.links_of_rank);
  cuts.around.exclusive = !cuts.link.fair;
  cuts.around.fair = cuts.link.fair;
  cuts.around.startup_out = cuts.around.startup_in = link.startup;
  cuts.around.latency = star ? link.latency + link.latency : link.latency;
  return cuts;
}

}  // namespace

std::uint64_t UniformCuts::Line::ranks_below(std::size_t rank) const {
  const std::size_t period = stride * places;
  return rank / period * stride * length + std::min(rank % period, stride * length);
}

Boundary UniformCuts::border(std::uint64_t links) const {
  Boundary all = link;
  if (__builtin_mul_overflow(link.out, links, &all.out)) all.out = Boundary::unlimited;
  all.in = all.out;
  return all;
}

std::optional<UniformCuts> uniform_cuts(const Topology& topology) {
  if (topology.node_count() > topology.rank_count() + 1 || topology.links().empty() ||
      topology.link_to_adding_switch(Rank(0)) || topology.network_adds())
    return std::nullopt;
  for (const Topology::Turning& turning : topology.turnings())
    if (const std::optional<Ways> ways = ways_of_ranks(topology, turning.digits))
      return cuts_of(topology, turning.digits, *ways);
  return std::nullopt;
}

}  // namespace collsim
