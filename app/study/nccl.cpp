// SPDX-License-Identifier: Apache-2.0
#include "app/study/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "app/study/nccl_rings.hpp"

namespace collsim {
namespace {

struct Way {
  std::string_view algorithm;
  LinkProtocol protocol;
  // As many channels as a node has GPUs, each through another NIC.
  bool through_all_nics = true;
};

// `members` of the group share a node.
std::span<const Way> ways(Operation operation, int members, int nodes) {
  static constexpr std::array all_reduces = {
      Way{"ring", LinkProtocol::ll},           Way{"ring", LinkProtocol::ll128},
      Way{"ring", LinkProtocol::simple},       Way{"nvls", LinkProtocol::nvls, false},
      Way{"double-tree", LinkProtocol::ll},    Way{"double-tree", LinkProtocol::ll128},
      Way{"double-tree", LinkProtocol::simple}};
  constexpr std::size_t without_trees = 4;
  constexpr std::size_t without_nvls = 3;
  static constexpr std::array rings = {Way{"ring", LinkProtocol::ll},
                                       Way{"ring", LinkProtocol::ll128},
                                       Way{"ring", LinkProtocol::simple}};
  static constexpr std::array chains = {Way{"chain", LinkProtocol::ll},
                                        Way{"chain", LinkProtocol::ll128},
                                        Way{"chain", LinkProtocol::simple}};
  static constexpr std::array exchanges = {Way{"direct", LinkProtocol::p2p_ll, false},
                                           Way{"direct", LinkProtocol::p2p_simple, false}};
  static constexpr std::array stars = {Way{"flat", LinkProtocol::p2p_ll, false},
                                       Way{"flat", LinkProtocol::p2p_simple, false}};
  switch (operation) {
    case Operation::all_reduce:
      if (nodes > 1) return all_reduces;
      return std::span(all_reduces).first(members > 2 ? without_trees : without_nvls);
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

// How many neighbouring positions of the group share a node: all where there are no nodes, 1 where
// nodes have different numbers of members.
int members_per_node(const Case& asked) {
  const std::vector<int>& dims = asked.cluster->topology.dims();
  const std::vector<Rank>& group = asked.collective.group;
  if (dims.size() != 2) return asked.collective.size();
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

// NCCL's slices are small enough for a chain or a tree to work as one pipeline.
Bytes chain_piece(Bytes of_channel, int channels) {
  constexpr Bytes smallest = 4096;
  const Bytes most_pieces = channels == 1 ? 1024 : 256;
  return std::max(smallest, of_channel / most_pieces);
}
int tree_pieces(Bytes of_lane) {
  constexpr Bytes smallest = 512;
  constexpr Bytes most_pieces = 128;
  return static_cast<int>(std::clamp<Bytes>(of_lane / smallest, 1, most_pieces));
}

// The pieces that NVLS works on: 128 KiB at most, fewer bytes when there are few for every channel.
Bytes nvls_chunk(Bytes size, int heads) {
  constexpr double channels = 16, most = 32, smallest = 16 << 10, law = 0.6;
  const double share = static_cast<double>(size) / (2 * channels * heads * (128 << 10));
  return std::llround(smallest * std::pow(std::clamp(share, 1.0, most), law));
}

// About how long the messages are that a protocol's costs depend on.
Bytes message_of(const Collective& collective, LinkProtocol protocol, int members) {
  if (protocol == LinkProtocol::nvls) return nvls_chunk(collective.bytes(), members);
  return collective.bytes() / collective.size();
}

Case candidate(const Case& asked, const Way& way) {
  Case made = asked;
  const Collective& collective = asked.collective;
  auto cluster = std::make_shared<Cluster>(*asked.cluster);
  const LaunchCosts& launch = asked.launch;
  const int members = members_per_node(asked);
  const bool several_nodes = members < collective.size();
  cluster->topology =
      asked.cluster->topology.under(way.protocol, message_of(collective, way.protocol, members));
  if (cluster->link) cluster->link = cluster->topology.parameters(LinkId(0));
  made.cluster = cluster;
  made.protocol = way.protocol;

  AlgorithmChoice choice;
  choice.name = way.algorithm;
  choice.local_pass =
      way.algorithm == "ring" && collective.operation != Operation::all_reduce;
  if (several_nodes) choice.per_node = members;
  if (several_nodes && way.through_all_nics) choice.channels = members;
  if (!several_nodes && (way.algorithm == "ring" || way.algorithm == "chain"))
    choice.orders = rings_of_direct_links(cluster->topology, collective.group);
  if (!choice.orders.empty()) choice.channels = static_cast<int>(choice.orders.size());
  if (way.algorithm == "chain")
    choice.chunk_size = chain_piece(collective.bytes() / choice.channels, choice.channels);
  if (way.algorithm == "double-tree")
    choice.chunks = tree_pieces(collective.bytes() / (2 * choice.channels));
  if (way.algorithm == "nvls") {
    constexpr int most_pieces = 128;
    choice.channels = several_nodes ? 2 : 1;
    const Bytes block = collective.bytes() / (members * choice.channels);
    choice.chunks = static_cast<int>(std::clamp<Bytes>(block / 1024, 1, most_pieces));
  }
  made.choose(std::move(choice));

  made.costs.launch = launch.base;
  made.costs.local_bandwidth = launch.local_bandwidth;
  if (point_to_point(way.protocol)) made.costs.instruction_overhead = launch.per_peer;
  return made;
}

}  // namespace

std::vector<Case> nccl_candidates(const Case& asked) {
  std::vector<Case> made;
  const Topology& topology = asked.cluster->topology;
  const int members = members_per_node(asked);
  const std::span<const Way> known =
      ways(asked.collective.operation, members, asked.collective.size() / members);
  for (const Way& way : known)
    if (topology.carries(way.protocol)) made.push_back(candidate(asked, way));
  if (made.empty() && !known.empty())
    throw_error(ErrorCode::invalid_argument,
                "what NCCL would run is unknown here: the links of this cluster say nothing of "
                "NCCL's protocols; those of NVSwitch presets do, such as dgx-h100");
  return made;
}

std::optional<ErrorClass> error_class(const Case& candidate) {
  const Cluster& cluster = *candidate.cluster;
  if (cluster.gpu_kind.empty() || !candidate.protocol || cluster.overridden) return std::nullopt;
  const bool one_node = members_per_node(candidate) == candidate.collective.size();
  return error_class(cluster.gpu_kind, one_node ? "" : cluster.network_kind,
                     candidate.collective.bytes());
}

bool nccl_has(Operation operation, std::string_view algorithm) {
  if (algorithm == "pat")
    return operation == Operation::all_gather || operation == Operation::reduce_scatter;
  constexpr int any = 4, several = 2;  // a group that all algorithms work for
  for (const Way& way : ways(operation, any, several))
    if (way.algorithm == algorithm) return true;
  return false;
}

Time host_time(const Case& candidate) {
  const LaunchCosts& launch = candidate.launch;
  const int ranks = candidate.collective.size();
  const std::vector<int>& dims = candidate.cluster->topology.dims();
  const int on_a_node = dims.size() == 2 ? std::min(ranks, dims[1]) : ranks;
  const int of_thread = std::min(launch.gpus_per_thread.value_or(on_a_node), on_a_node);
  const int driven = launch.mode == LaunchMode::one_thread ? of_thread : 1;
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
