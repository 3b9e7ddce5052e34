// SPDX-License-Identifier: Apache-2.0
#include "app/study/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace collsim {
namespace {

struct Way {
  std::string_view algorithm;
  LinkProtocol protocol;
};

std::span<const Way> ways(Operation operation) {
  static constexpr std::array rings = {Way{"ring", LinkProtocol::ll},
                                       Way{"ring", LinkProtocol::ll128},
                                       Way{"ring", LinkProtocol::simple}};
  static constexpr std::array chains = {Way{"chain", LinkProtocol::ll},
                                        Way{"chain", LinkProtocol::ll128},
                                        Way{"chain", LinkProtocol::simple}};
  static constexpr std::array exchanges = {Way{"direct", LinkProtocol::p2p_ll},
                                           Way{"direct", LinkProtocol::p2p_simple}};
  static constexpr std::array stars = {Way{"flat", LinkProtocol::p2p_ll},
                                       Way{"flat", LinkProtocol::p2p_simple}};
  switch (operation) {
    case Operation::all_reduce:
    case Operation::all_gather:
    case Operation::reduce_scatter: return rings;
    case Operation::broadcast:
    case Operation::reduce: return chains;
    case Operation::all_to_all:
    case Operation::send_recv: return exchanges;
    case Operation::gather:
    case Operation::scatter: return stars;
    case Operation::barrier: return {};
  }
  return {};
}

bool point_to_point(LinkProtocol protocol) {
  return protocol == LinkProtocol::p2p_ll || protocol == LinkProtocol::p2p_simple;
}

// How many neighbouring positions of the group share a node; 1 where nodes have different numbers
// of members, or there are none.
int members_per_node(const Case& asked) {
  const std::vector<int>& dims = asked.cluster->topology.dims();
  const std::vector<Rank>& group = asked.collective.group;
  if (dims.size() != 2) return 1;
  const auto node_of = [&](std::size_t position) {
    return group[position].index() / static_cast<std::size_t>(dims[1]);
  };
  std::size_t members = 1;
  while (members < group.size() && node_of(members) == node_of(0)) ++members;
  if (group.size() % members != 0) return 1;
  for (std::size_t position = 1; position < group.size(); ++position)
    if ((node_of(position) == node_of(position - 1)) != (position % members != 0)) return 1;
  return static_cast<int>(members);
}

// NCCL's slices are small enough for a chain to work as one pipeline.
Bytes chain_piece(Bytes size) {
  constexpr Bytes smallest = 4096;
  constexpr Bytes most_pieces = 1024;
  return std::max(smallest, size / most_pieces);
}

Case candidate(const Case& asked, const Way& way) {
  Case made = asked;
  const Collective& collective = asked.collective;
  auto cluster = std::make_shared<Cluster>(*asked.cluster);
  cluster->topology =
      asked.cluster->topology.under(way.protocol, collective.bytes() / collective.size());
  if (cluster->link) cluster->link = cluster->topology.parameters(LinkId(0));
  made.cluster = std::move(cluster);
  made.protocol = way.protocol;

  AlgorithmChoice choice;
  choice.name = way.algorithm;
  choice.local_pass = way.algorithm == "ring";
  const int members = members_per_node(asked);
  if (way.algorithm == "ring" && members < collective.size())
    choice.channels = choice.per_node = members;
  if (way.algorithm == "chain") choice.chunk_size = chain_piece(collective.bytes());
  made.choose(std::move(choice));

  const LaunchCosts& launch = asked.launch;
  made.costs.launch = launch.base;
  made.costs.local_bandwidth = launch.local_bandwidth;
  if (point_to_point(way.protocol)) made.costs.instruction_overhead = launch.per_peer;
  return made;
}

}  // namespace

std::vector<Case> nccl_candidates(const Case& asked) {
  std::vector<Case> made;
  const Topology& topology = asked.cluster->topology;
  for (const Way& way : ways(asked.collective.operation))
    if (topology.carries(way.protocol)) made.push_back(candidate(asked, way));
  if (made.empty() && !ways(asked.collective.operation).empty())
    throw_error(ErrorCode::invalid_argument,
                "what NCCL would run is unknown here: the links of this cluster say nothing of "
                "NCCL's protocols; those of NVSwitch presets do, such as dgx-h100");
  return made;
}

Time host_time(const Case& candidate) {
  const LaunchCosts& launch = candidate.launch;
  const int ranks = candidate.collective.size();
  const std::vector<int>& dims = candidate.cluster->topology.dims();
  const int on_a_node = dims.size() == 2 ? std::min(ranks, dims[1]) : ranks;
  const int driven = launch.mode == LaunchMode::one_thread ? on_a_node : 1;
  const bool pairs = candidate.protocol && point_to_point(*candidate.protocol);
  return driven * (launch.host + (pairs ? ranks * launch.pair : Time{}));
}

Time with_launches(Time kernel, Time host) {
  constexpr double power = 8;
  const double longer = static_cast<double>(std::max(kernel, host).ps());
  const double shorter = static_cast<double>(std::min(kernel, host).ps());
  if (longer == 0) return kernel;
  return rounded_picoseconds(longer * std::pow(1 + std::pow(shorter / longer, power), 1 / power));
}

}  // namespace collsim
