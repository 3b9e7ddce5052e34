// SPDX-License-Identifier: Apache-2.0
#include "app/study/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "app/scenario/nccl_rings.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/workload/device.hpp"
#include "app/study/nccl_machine.hpp"

namespace collsim {
namespace {

bool point_to_point(LinkProtocol protocol) {
  return protocol == LinkProtocol::p2p_ll || protocol == LinkProtocol::p2p_simple;
}

bool is_one_gpu_per_node(const Case& asked) {
  const std::vector<int>& dims = asked.cluster->topology.dims();
  if (dims.size() != 2 || asked.collective.size() < 2) return false;
  std::set<std::size_t> nodes;
  for (const Rank rank : asked.collective.group)
    if (!nodes.insert(rank.index() / static_cast<std::size_t>(dims[1])).second) return false;
  return true;
}

struct Way {
  NcclAlgorithm nccl;
  std::string_view algorithm;
  LinkProtocol protocol;
  // As many channels as a node has GPUs, each through another NIC.
  bool through_all_nics = true;
  // Switches of the network add.
  bool by_network = false;
};

void add_ways(std::vector<Way>& ways, NcclAlgorithm nccl, std::string_view algorithm,
              bool through_all_nics = true) {
  for (const LinkProtocol protocol : {LinkProtocol::ll, LinkProtocol::ll128, LinkProtocol::simple})
    ways.push_back({nccl, algorithm, protocol, through_all_nics});
}

constexpr int fewest_beyond_nvls = 2;   // GPUs of a node that NCCL has no NVLS for
constexpr int most_heads_of_nvls = 32;  // every GPU that gathers or scatters is one

// What NVSwitches add: sums, and minima and maxima other than of 32 and 64 bit floats.
bool switches_add(const Collective& collective) {
  if (collective.operation == Operation::all_gather) return true;
  const ElementType type = collective.type;
  if (size_of(type) == 1) return false;
  const bool is_wide_float = type == ElementType::f32 || type == ElementType::f64;
  switch (collective.reduction) {
    case Reduction::sum: return true;
    case Reduction::min:
    case Reduction::max: return !is_wide_float;
    default: return false;
  }
}

// Which of NCCL's ways are looked at: those that it hardly ever takes only when asked for.
enum class Ways : std::uint8_t { usual, all };
Ways ways_asked_for(const NcclChoice& choice) {
  const bool named = !choice.algo_text.empty() && !leaves_out(choice.algo_text);
  return named || !choice.tuner.empty() ? Ways::all : Ways::usual;
}

// What switches of the network add: sums, minima and maxima.
bool network_adds(const Case& asked) {
  const Collective& collective = asked.collective;
  if (!asked.cluster->topology.network_adds()) return false;
  if (collective.operation == Operation::all_gather) return true;
  return size_of(collective.type) > 1 && collective.reduction != Reduction::prod &&
         collective.reduction != Reduction::avg;
}

// Whether the widest links of a node's GPUs that take part lead to one switch, which is none of
// PCIe.
bool has_nvswitch(const Case& asked, int members) {
  const std::string& gpus = asked.cluster->gpu_kind;
  if (asked.nccl_graph.path == "pci" || gpus == "pcie" || gpus == "host-memory") return false;
  const Topology& topology = asked.cluster->topology;
  std::map<NodeId, const Link*> widest;
  for (int i = 0; i < members; ++i)
    widest[topology.node_of(asked.collective.group[static_cast<std::size_t>(i)])] = nullptr;
  for (const Link& link : topology.links()) {
    const auto of = widest.find(link.from);
    if (link.down || of == widest.end()) continue;
    if (of->second == nullptr || of->second->bandwidth < link.bandwidth) of->second = &link;
  }
  const Link* const first = widest.begin()->second;
  return first != nullptr && topology.kind(first->to) == NodeKind::network_switch &&
         std::all_of(widest.begin(), widest.end(), [&](const auto& of) {
           return of.second != nullptr && of.second->to == first->to;
         });
}

bool has_nvls(const Case& asked, int members) {
  return members > fewest_beyond_nvls && switches_add(asked.collective) &&
         has_nvswitch(asked, members);
}

bool has_nic_per_gpu(const Topology& topology) {
  const auto& kinds = topology.parts().kinds;
  const auto nics = std::count(kinds.begin(), kinds.end(), NodeKind::nic);
  return static_cast<std::size_t>(nics) >= topology.rank_count();
}

constexpr int most_gpus_of_collnet_direct = 8;  // of a node

void add_ways_by_network(std::vector<Way>& ways, const Case& asked, int members) {
  using enum NcclAlgorithm;
  const Collective& collective = asked.collective;
  const bool several_nodes = members < collective.size();
  if (!several_nodes || !network_adds(asked)) return;
  const bool sums_up = collective.operation == Operation::all_reduce;
  // Gathering and scattering, every GPU has a NIC of its own.
  if (!sums_up && !has_nic_per_gpu(asked.cluster->topology)) return;
  const bool direct = members <= most_gpus_of_collnet_direct && has_nvswitch(asked, members);
  if (direct) ways.push_back({collnet_direct, "collnet-direct", LinkProtocol::simple, false, true});
  if (sums_up) ways.push_back({collnet_chain, "collnet-chain", LinkProtocol::simple, true, true});
  if (members <= most_heads_of_nvls && has_nvls(asked, members))
    ways.push_back({nvls, sums_up ? "nvls-sharp" : "nvls", LinkProtocol::nvls, false, true});
}

void add_ways_to_reduce_everywhere(std::vector<Way>& ways, const Case& asked, int members,
                                   Ways which) {
  using enum NcclAlgorithm;
  const bool several_nodes = members < asked.collective.size();
  add_ways(ways, ring, "ring");
  if (has_nvls(asked, members))
    ways.push_back({several_nodes ? nvls_tree : nvls, "nvls", LinkProtocol::nvls, false});
  add_ways_by_network(ways, asked, members);
  if (several_nodes) return add_ways(ways, tree, "double-tree");
  // On one node a tree is a chain there and back, which NCCL hardly ever takes.
  if (members > 1 && which == Ways::all) add_ways(ways, tree, "chain", false);
}

void add_ways_to_gather_or_scatter(std::vector<Way>& ways, const Case& asked, int members,
                                   Ways which) {
  using enum NcclAlgorithm;
  add_ways(ways, ring, "ring");
  if (is_one_gpu_per_node(asked)) ways.push_back({pat, "pat", LinkProtocol::simple, false});
  add_ways_by_network(ways, asked, members);
  const Collective& collective = asked.collective;
  const bool one_node = members == collective.size();
  // Its tuner hardly ever takes it on one node, because no byte is saved.
  if (one_node && members <= most_heads_of_nvls && has_nvls(asked, members) && which == Ways::all)
    ways.push_back({nvls, "nvls", LinkProtocol::nvls, false});
}

// What NCCL has, whatever the links carry.
std::vector<Way> ways(const Case& asked, Ways which) {
  const int members = members_per_node(asked.cluster->topology, asked.collective.group);
  using enum NcclAlgorithm;
  std::vector<Way> known;
  const auto add_transfers = [&](std::string_view algorithm) {
    known = {{p2p, algorithm, LinkProtocol::p2p_ll, false},
             {p2p, algorithm, LinkProtocol::p2p_simple, false}};
  };
  switch (asked.collective.operation) {
    case Operation::all_reduce: add_ways_to_reduce_everywhere(known, asked, members, which); break;
    case Operation::all_gather:
    case Operation::reduce_scatter:
      add_ways_to_gather_or_scatter(known, asked, members, which);
      break;
    case Operation::broadcast:
    case Operation::reduce: add_ways(known, ring, "chain"); break;
    case Operation::all_to_all:
    case Operation::send_recv: add_transfers("direct"); break;
    case Operation::gather:
    case Operation::scatter: add_transfers("flat"); break;
    case Operation::barrier: break;
  }
  return known;
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

// One GPU only copies, without a kernel of NCCL's: every byte is read from its memory and written.
void copy_at_full_speed(Case& made) {
  const Preset* const preset = find_preset(made.cluster->preset);
  const auto known = preset != nullptr ? device_of_preset(*preset) : std::nullopt;
  if (known && known->device.memory_bandwidth > 0)
    made.costs.local_bandwidth = Bandwidth(std::llround(known->device.memory_bandwidth / 2));
}

// `direct_rings`: nccl_rings() of the group.
Case candidate(const Case& asked, const Way& way,
               const std::vector<std::vector<int>>& direct_rings) {
  Case made = asked;
  const Collective& collective = asked.collective;
  auto cluster = std::make_shared<Cluster>(*asked.cluster);
  const LaunchCosts& launch = asked.launch;
  const int members = members_per_node(asked.cluster->topology, asked.collective.group);
  const bool several_nodes = members < collective.size();
  cluster->topology = asked.cluster->topology.under(
      way.protocol, message_of(collective, way.protocol, members), way.by_network);
  if (cluster->link && !cluster->topology.links().empty())
    cluster->link = cluster->topology.parameters(LinkId(0));
  made.cluster = cluster;
  made.protocol = way.protocol;
  made.nccl = way.nccl;

  AlgorithmChoice choice;
  choice.name = way.algorithm;
  choice.local_pass = way.algorithm == "ring" && collective.size() > 1;
  // Sends and receives are the same wherever the peer is; so ranks go on standing for each other.
  if (several_nodes && !point_to_point(way.protocol)) choice.per_node = members;
  if (several_nodes && way.through_all_nics) choice.channels = members;
  // No rank of a chain can stand for others, so that more channels cost time to simulate.
  constexpr int most_channels = 32;
  if (way.algorithm == "chain") choice.channels = std::min(choice.channels, most_channels);
  const bool in_order = way.algorithm == "ring" || way.algorithm == "chain";
  if (in_order || (several_nodes && way.algorithm == "double-tree")) choice.orders = direct_rings;
  if (!choice.orders.empty()) choice.channels = static_cast<int>(choice.orders.size());
  if (way.algorithm == "chain")
    choice.chunk_size = chain_piece(collective.bytes() / choice.channels, choice.channels);
  if (way.algorithm == "double-tree")
    choice.chunks = tree_pieces(collective.bytes() / 2 / choice.channels);
  if (way.protocol == LinkProtocol::nvls || way.by_network) {
    constexpr int most_pieces = 128;
    if (way.nccl == NcclAlgorithm::nvls_tree) choice.channels = 2;  // a tree each
    const int blocks = way.nccl == NcclAlgorithm::collnet_chain ? 1 : members;
    const Bytes block = collective.bytes() / blocks / choice.channels;
    choice.chunks = static_cast<int>(std::clamp<Bytes>(block / 1024, 1, most_pieces));
  }
  made.choose(std::move(choice));

  made.costs.launch = launch.base;
  made.costs.local_bandwidth = launch.local_bandwidth;
  if (point_to_point(way.protocol)) made.costs.instruction_overhead = launch.per_peer;
  if (collective.size() == 1) copy_at_full_speed(made);
  return made;
}

std::vector<std::vector<int>> direct_rings_of(const Case& asked) {
  const Topology& topology = asked.cluster->topology;
  const std::vector<Rank>& group = asked.collective.group;
  return nccl_rings(topology, group, members_per_node(topology, group));
}

// "NVLS under LL"
std::string wish_in_words(const NcclChoice& choice) {
  if (choice.proto_text.empty()) return choice.algo_text;
  if (choice.algo_text.empty()) return "way under " + choice.proto_text;
  return choice.algo_text + " under " + choice.proto_text;
}

[[noreturn]] void refuse_wish(const Case& asked, const std::vector<Way>& carried) {
  constexpr LinkProtocol simple_way = LinkProtocol::simple;
  std::string there;
  for (const Way& way : carried)
    there += (there.empty() ? "" : ", ") + nccl_text(way.nccl, way.protocol);
  const bool for_networks = asked.nccl_choice.allows(NcclAlgorithm::collnet_direct, simple_way) ||
                            asked.nccl_choice.allows(NcclAlgorithm::collnet_chain, simple_way);
  const bool said = asked.cluster->topology.network_adds();
  throw_error(
      ErrorCode::invalid_argument,
      fmt::format("NCCL has no {} for {} here: as far as collsim simulates it, it has {}{}",
                  wish_in_words(asked.nccl_choice), to_string(asked.collective.operation), there,
                  for_networks && !said ? "; CollNet needs a network that adds: \"sharp\": true "
                                          "of the cluster, --sharp of predict"
                                        : ""));
}

// Those that the links carry.
std::vector<Way> carried_ways(const Case& asked, Ways which) {
  std::vector<Way> known = ways(asked, which);
  if (known.empty()) return known;
  std::erase_if(known, [&](const Way& way) {
    return !asked.cluster->topology.carries(way.protocol, way.by_network);
  });
  if (known.empty())
    throw_error(ErrorCode::invalid_argument,
                "what NCCL would run is unknown here: the links of this cluster say nothing of "
                "NCCL's protocols; those of presets do, such as dgx-h100");
  return known;
}

// Of these those that the user allows.
std::vector<Way> allowed_ways(const Case& asked) {
  const auto left_of = [&](std::vector<Way> ways) {
    std::erase_if(
        ways, [&](const Way& way) { return !asked.nccl_choice.allows(way.nccl, way.protocol); });
    return ways;
  };
  const std::vector<Way> known = carried_ways(asked, ways_asked_for(asked.nccl_choice));
  if (known.empty()) return {};
  std::vector<Way> allowed = left_of(known);
  // Leaving out all usual ones asks for the others.
  if (allowed.empty()) allowed = left_of(carried_ways(asked, Ways::all));
  if (allowed.empty()) refuse_wish(asked, known);
  return allowed;
}

// How many ranks each node has; all are on one where there are no nodes.
std::map<std::size_t, int> ranks_by_node(const Case& one_case) {
  const std::vector<int>& dims = one_case.cluster->topology.dims();
  if (dims.size() != 2) return {{0, one_case.collective.size()}};
  std::map<std::size_t, int> on_node;
  for (const Rank rank : one_case.collective.group)
    ++on_node[rank.index() / static_cast<std::size_t>(dims[1])];
  return on_node;
}
int most_on_a_node(const Case& one_case) {
  int most = 0;
  for (const auto& [node, ranks] : ranks_by_node(one_case)) most = std::max(most, ranks);
  return most;
}
int nodes_of(const Case& one_case) {
  const Collective& collective = one_case.collective;
  const bool one_node =
      members_per_node(one_case.cluster->topology, collective.group) == collective.size();
  return one_node ? 1 : static_cast<int>(ranks_by_node(one_case).size());
}

}  // namespace

std::vector<Case> nccl_candidates(const Case& asked) {
  std::vector<Case> made;
  const std::vector<std::vector<int>> direct_rings = direct_rings_of(asked);
  for (const Way& way : allowed_ways(asked)) made.push_back(candidate(asked, way, direct_rings));
  return made;
}

std::optional<ErrorClass> error_class(const Case& candidate) {
  if (!candidate.protocol) return std::nullopt;
  const Cluster& cluster = *candidate.cluster;
  if (cluster.gpu_kind.empty())
    return ErrorClass{.machines = "this machine",
                      .outside = "nothing was measured on this machine"};
  if (cluster.overridden || (!cluster.preset_changes.empty() && !cluster.fitted))
    return ErrorClass{.machines = cluster.preset, .outside = "links are not those of the preset"};
  if (const auto& fit = cluster.fitted)
    return ErrorClass{.machines = "this machine",
                      .half = fit->half,
                      .most = fit->most,
                      .rows = fit->rows,
                      .tables = fit->logs,
                      .own_logs = true};
  const Collective& collective = candidate.collective;
  const int nodes = nodes_of(candidate);
  ErrorClass found =
      error_class(cluster.gpu_kind, nodes > 1 ? cluster.network_kind : "", collective.bytes());
  const Preset* const preset = find_preset(cluster.preset);
  if (preset == nullptr)
    found.outside =
        "an imported machine, on which NCCL's protocols cost what they do on the "
        "nearest preset";
  else if (!preset->calibrated)
    found.outside = "no published table of " + preset->name;
  else if (found.tables > 0)
    found.outside = outside_of_tables(cluster.gpu_kind, cluster.network_kind, nodes,
                                      to_string(collective.operation));
  if (collective.size() == 1) found.outside = "one GPU only copies, of which no table was used";
  const bool sharp_nvls = candidate.nccl == NcclAlgorithm::nvls && nodes > 1;
  if (found.outside.empty() && candidate.nccl && (is_collnet(*candidate.nccl) || sharp_nvls))
    found.outside = "no published table says that switches of the network added";
  const NcclChoice& wish = candidate.nccl_choice;
  found.forced = !wish.algo_text.empty() || !wish.proto_text.empty();
  return found;
}

bool nccl_has(Operation operation, std::string_view algorithm) {
  switch (operation) {
    case Operation::all_reduce:
      return algorithm == "ring" || algorithm == "double-tree" || algorithm == "nvls" ||
             algorithm == "nvls-sharp" || algorithm == "collnet-direct" ||
             algorithm == "collnet-chain";
    case Operation::all_gather:
    case Operation::reduce_scatter:
      return algorithm == "ring" || algorithm == "pat" || algorithm == "nvls" ||
             algorithm == "collnet-direct";
    case Operation::broadcast:
    case Operation::reduce: return algorithm == "chain";
    case Operation::all_to_all:
    case Operation::send_recv: return algorithm == "direct";
    case Operation::gather:
    case Operation::scatter: return algorithm == "flat";
    case Operation::barrier: break;
  }
  return false;
}

std::optional<TunerVerdict> tuner_verdict(const Case& asked) {
  const std::string& version = asked.nccl_choice.tuner;
  if (version.empty()) return std::nullopt;
  const std::vector<Way> allowed = allowed_ways(asked);
  if (allowed.empty() || point_to_point(allowed.front().protocol)) return std::nullopt;
  const NcclTuner& tuner = NcclTuner::of_version(version);
  const int members = members_per_node(asked.cluster->topology, asked.collective.group);
  const Collective& collective = asked.collective;
  const TunerQuestion question{collective.operation, collective.size(), nodes_of(asked)};
  TunerVerdict verdict{.version = version, .machine = tuner_machine(asked, members, tuner)};
  for (const Way& way : allowed)
    verdict.expected.push_back(
        {way.nccl, way.protocol,
         tuner.expected_us(verdict.machine, question, way.nccl, way.protocol, collective.bytes())});
  std::stable_sort(verdict.expected.begin(), verdict.expected.end(),
                   [](const TunerVerdict::Expected& a, const TunerVerdict::Expected& b) {
                     return a.microseconds < b.microseconds;
                   });
  const TunerVerdict::Expected& best = verdict.expected.front();
  verdict.work =
      tuner.work(verdict.machine, question, best.algorithm, best.protocol, collective.bytes());
  return verdict;
}

std::vector<Case> nccl_choices(const Case& asked) {
  const std::optional<TunerVerdict> verdict = tuner_verdict(asked);
  if (!verdict) return nccl_candidates(asked);
  const TunerVerdict::Expected& best = verdict->expected.front();
  for (const Way& way : allowed_ways(asked))
    if (way.nccl == best.algorithm && way.protocol == best.protocol)
      return {candidate(asked, way, direct_rings_of(asked))};
  return {};
}

Time host_time(const Case& candidate) {
  const LaunchCosts& launch = candidate.launch;
  const int ranks = candidate.collective.size();
  const int on_a_node = most_on_a_node(candidate);
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
