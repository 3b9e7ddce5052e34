// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/uniform_network.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "topo/routes.hpp"

namespace collsim {
namespace {

Hop hop_over(const Link& link) {
  return {link.startup.seconds(), static_cast<double>(link.bandwidth.bytes_per_second()),
          link.latency.seconds()};
}

bool all_links_alike(std::span<const Link> links) {
  const Link& first = links.front();
  for (std::size_t id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    if (link.sharing != Sharing::exclusive || link.down || link.resource != LinkId(id) ||
        link.bandwidth != first.bandwidth || link.latency != first.latency ||
        link.startup != first.startup)
      return false;
  }
  return true;
}

// No two links join the same ordered pair of ranks.
bool joins_each_pair_once(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  if (topology.links().size() != ranks * (ranks - 1)) return false;
  std::vector<bool> joined(ranks * ranks, false);
  for (const Link& link : topology.links()) {
    const std::size_t pair =
        topology.rank_at(link.from)->index() * ranks + topology.rank_at(link.to)->index();
    if (joined[pair] || link.from == link.to) return false;
    joined[pair] = true;
  }
  return true;
}

// One link from every rank to the next and one to the previous; those that close the ring may be
// missing together.
std::optional<UniformNetwork::Kind> chain_or_ring(const Topology& topology) {
  const std::size_t ranks = topology.rank_count();
  std::vector<std::uint8_t> up(ranks, 0);    // from r to r + 1
  std::vector<std::uint8_t> down(ranks, 0);  // from r + 1 to r
  for (const Link& link : topology.links()) {
    const std::size_t from = topology.rank_at(link.from)->index();
    const std::size_t to = topology.rank_at(link.to)->index();
    if ((from + 1) % ranks == to && up[from] == 0)
      up[from] = 1;
    else if ((to + 1) % ranks == from && down[to] == 0)
      down[to] = 1;
    else
      return std::nullopt;
  }
  for (std::size_t r = 0; r + 1 < ranks; ++r)
    if (up[r] == 0 || down[r] == 0) return std::nullopt;
  if (up[ranks - 1] != down[ranks - 1]) return std::nullopt;
  return up[ranks - 1] == 1 ? UniformNetwork::Kind::ring : UniformNetwork::Kind::chain;
}

// One switch, and one cable from each rank to it.
bool is_one_switch(const Topology& topology) {
  if (topology.node_count() != topology.rank_count() + 1 ||
      topology.links().size() != 2 * topology.rank_count())
    return false;
  std::vector<std::uint8_t> out(topology.rank_count(), 0);
  std::vector<std::uint8_t> in(topology.rank_count(), 0);
  for (const Link& link : topology.links()) {
    const std::optional<Rank> from = topology.rank_at(link.from);
    const std::optional<Rank> to = topology.rank_at(link.to);
    if (from.has_value() == to.has_value()) return false;
    std::uint8_t& port = from ? out[from->index()] : in[to->index()];
    if (port++ != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<UniformNetwork> uniform_network(const Topology& topology) {
  const std::span<const Link> links = topology.links();
  if (links.empty() || !all_links_alike(links) || topology.has_segments()) return std::nullopt;
  // Half way round a ring there are two ways.
  if (chooses_per_message(topology)) return std::nullopt;
  UniformNetwork network;
  network.hop = hop_over(links.front());
  network.ranks = topology.rank_count();
  if (is_one_switch(topology)) {
    network.kind = UniformNetwork::Kind::ports;
    network.hop.latency = (2 * links.front().latency).seconds();
    return network;
  }
  if (topology.node_count() != topology.rank_count()) return std::nullopt;
  if (joins_each_pair_once(topology)) {
    network.kind = UniformNetwork::Kind::independent_links;
    return network;
  }
  const std::optional<UniformNetwork::Kind> kind = chain_or_ring(topology);
  if (!kind) return std::nullopt;
  network.kind = *kind;
  return network;
}

void check_members(std::span<const Rank> group, std::size_t ranks) {
  for (const Rank rank : group)
    if (rank.index() >= ranks)
      throw_error(ErrorCode::invalid_argument, "rank ", rank.index(),
                  " is in the group, but the network has only ranks 0 to ", ranks - 1);
}

std::optional<std::vector<Hop>> hops_without_contention(const Topology& topology,
                                                        std::span<const RankPair> messages) {
  if (chooses_per_message(topology)) return std::nullopt;
  Router router(topology);
  std::vector<bool> used(topology.links().size(), false);
  std::vector<Hop> hops;
  hops.reserve(messages.size());
  for (const auto& [from, to] : messages) {
    Time startup{};
    Time latency{};
    std::optional<Bandwidth> narrowest;
    bool one_is_slowest = true;  // whatever the size of a message
    for (const LinkId id : router.route(from, to)) {
      const Link& link = topology.link(id);
      if (link.sharing != Sharing::exclusive || used[link.resource.index()]) return std::nullopt;
      used[link.resource.index()] = true;
      latency += link.latency;
      const bool slower = !narrowest || (link.startup >= startup && link.bandwidth <= *narrowest);
      const bool faster = narrowest && link.startup <= startup && link.bandwidth >= *narrowest;
      if (!slower && !faster) one_is_slowest = false;
      if (!slower) continue;
      startup = link.startup;
      narrowest = link.bandwidth;
    }
    if (!one_is_slowest) return std::nullopt;
    COLLSIM_CHECK(narrowest, "a message to another rank crosses links");
    hops.push_back(
        {startup.seconds(), static_cast<double>(narrowest->bytes_per_second()), latency.seconds()});
  }
  return hops;
}

std::optional<Hop> shift_without_contention(const Topology& topology, std::span<const Rank> group,
                                            int stride, int size, int distance) {
  const auto worth = static_cast<std::size_t>(stride);
  const auto places = static_cast<std::size_t>(size);
  std::vector<RankPair> messages;
  messages.reserve(group.size());
  for (std::size_t p = 0; p < group.size(); ++p) {
    const std::size_t place = p / worth % places;
    const std::size_t target = (place + static_cast<std::size_t>(distance)) % places;
    messages.emplace_back(group[p], group[p - place * worth + target * worth]);
  }
  const std::optional<std::vector<Hop>> hops = hops_without_contention(topology, messages);
  if (!hops ||
      std::any_of(hops->begin(), hops->end(), [&](const Hop& hop) { return hop != hops->front(); }))
    return std::nullopt;
  return hops->front();
}

}  // namespace collsim
