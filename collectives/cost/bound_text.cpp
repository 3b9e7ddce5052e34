// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/bound_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "collectives/cost/grid_lines.hpp"

namespace collsim {
namespace {

std::string bandwidth_text(double bytes_per_second) {
  constexpr auto most = static_cast<double>(std::int64_t{1} << 62U);
  return to_text(Bandwidth(std::llround(std::clamp(bytes_per_second, 1.0, most))));
}

// "ranks 0 to 7, 16 to 23"
std::string ranks_text(const NarrowestLinks& narrowest, const Collective& collective) {
  std::vector<std::size_t> ranks;
  for (const int p : narrowest.positions)
    ranks.push_back(collective.group[static_cast<std::size_t>(p)].index());
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  constexpr int most_ranges = 4;
  int ranges = 0;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (++ranges > most_ranges) return text + ", ...";
    text += (ranges > 1 ? ", " : "") + std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i > 2 ? " to " : ", ") + std::to_string(ranks[end - 1]);
  }
  return text;
}

std::string block_text(const NarrowestLinks& narrowest, const Collective& collective,
                       const Topology& topology) {
  std::string ranks = ranks_text(narrowest, collective);
  switch (narrowest.kind) {
    case Division::Kind::nodes: {
      const auto rank = collective.group[static_cast<std::size_t>(narrowest.positions.front())];
      const auto per_node = static_cast<std::size_t>(topology.dims()[1]);
      return "node " + std::to_string(rank.index() / per_node) + " (" + ranks + ")";
    }
    case Division::Kind::subtree:
      return "what is behind " + topology.name(narrowest.device) + " (" + ranks + ")";
    case Division::Kind::line: {
      const std::vector<std::size_t> dims = grid_dims(topology);
      if (dims.size() < 2) return ranks;
      std::string places = "place " + std::to_string(narrowest.from);
      if (narrowest.to != narrowest.from)
        places = "places " + std::to_string(narrowest.from) + " to " + std::to_string(narrowest.to);
      return places + " of dimension " + std::to_string(narrowest.dimension) + " (" +
             std::to_string(narrowest.positions.size()) + " ranks)";
    }
    case Division::Kind::ranks:
    case Division::Kind::other: break;
  }
  return ranks;
}

std::string ranks_do(CutDirection direction) {
  return direction == CutDirection::out  ? "send"
         : direction == CutDirection::in ? "receive"
                                         : "send and receive";
}

// 2(M-1) N between all blocks of a division, or twice that when both directions count.
std::string all_blocks_text(const NarrowestLinks& narrowest, const Collective& collective) {
  const bool both = narrowest.direction == CutDirection::both;
  const bool alone = narrowest.kind == Division::Kind::ranks;
  const std::string blocks = alone ? "K" : std::to_string(narrowest.blocks);
  const std::string traffic = std::string(" at least ") + (both ? "4" : "2") + "(" + blocks +
                              "-1) times the vector, " + bytes_to_text(narrowest.bytes) + ", and ";
  const std::string carry = " carry " + bandwidth_text(narrowest.bytes_per_second) + " together";
  if (alone)
    return "all ranks together must " + ranks_do(narrowest.direction) + traffic + "their links" +
           carry;
  const std::string what =
      narrowest.kind == Division::Kind::nodes
          ? "the " + blocks + " nodes"
          : blocks + " sets of ranks, the first one " + ranks_text(narrowest, collective) + ",";
  return what + (both ? " must send to and receive from each other" : " must send each other") +
         traffic + "the links between them" + carry;
}

}  // namespace

std::string to_text(const NarrowestLinks& narrowest, const Collective& collective,
                    const Topology& topology) {
  if (narrowest.together) return all_blocks_text(narrowest, collective);
  const std::string traffic = bytes_to_text(narrowest.bytes);
  const std::string rate = bandwidth_text(narrowest.bytes_per_second);
  const bool one = narrowest.links == 1;
  const std::string links =
      one ? "one link of " + rate : std::to_string(narrowest.links) + " links of together " + rate;
  if (narrowest.kind == Division::Kind::ranks)
    return ranks_text(narrowest, collective) + " must " + ranks_do(narrowest.direction) +
           " at least " + traffic + " through its " + links;
  const char* const passes = narrowest.direction == CutDirection::out  ? " must leave "
                             : narrowest.direction == CutDirection::in ? " must enter "
                                                                       : " must leave and enter ";
  return "at least " + traffic + passes + block_text(narrowest, collective, topology) +
         " through " + links;
}

}  // namespace collsim
