// SPDX-License-Identifier: Apache-2.0
#include "app/study/nccl_tuner.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

#include "app/embedded_files.hpp"
#include "app/json/parse_json.hpp"

namespace collsim {
namespace {

const JsonValue& constant(const JsonValue& object, std::string_view key) {
  const JsonValue* const found = object.find(key);
  COLLSIM_CHECK(found != nullptr, "NCCL's tuner without \"" + std::string(key) + "\"");
  return *found;
}

std::vector<double> numbers(const JsonValue& list) {
  std::vector<double> read;
  for (const JsonValue& item : list.items()) read.push_back(item.number());
  return read;
}
std::array<double, 3> three_numbers(const JsonValue& list) {
  const std::vector<double> read = numbers(list);
  COLLSIM_CHECK(read.size() == 3, "a list of NCCL's tuner has three numbers");
  return {read[0], read[1], read[2]};
}

std::size_t column(LinkProtocol protocol) {
  return static_cast<std::size_t>(nccl_protocol_of(protocol));
}
std::size_t column_of_nodes(int nodes) {
  return static_cast<std::size_t>(std::min(nodes, 3) - 1);
}
int whole_log2(int value) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1;
}

bool gathers(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter;
}
// Through all ranks, one after the other.
bool is_chain(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce;
}
int steps_of(const TunerQuestion& question) {
  if (question.operation == Operation::all_reduce) return 2 * (question.ranks - 1);
  return gathers(question.operation) ? question.ranks - 1 : question.ranks;
}

// Since Hopper NCCL builds plain trees between nodes, and has links with plenty of channels.
bool is_hopper_or_later(const TunerMachine& machine) {
  return machine.gpu == "hopper" || machine.gpu == "blackwell";
}

// With two nodes the tuner counts on the rate inside of them.
double rate_of(const NcclChannels& graph, int nodes) {
  return graph.channels * (nodes <= 2 ? graph.intra : graph.inter);
}

}  // namespace

const NcclChannels& TunerMachine::channels_of(NcclAlgorithm algorithm) const {
  switch (algorithm) {
    case NcclAlgorithm::ring: return ring;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree: return nvls;
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain: return collnet;
    default: return tree;
  }
}

NcclTuner::NcclTuner(const JsonValue& constants) {
  for (const JsonValue::Member& link : constant(constants, "latency").members())
    for (const JsonValue::Member& algorithm : link.value.members())
      latencies_[link.key][algorithm.key] = three_numbers(algorithm.value);
  for (const JsonValue::Member& gpu : constant(constants, "gpus").members()) {
    const auto cap = [&](std::string_view key) { return three_numbers(constant(gpu.value, key)); };
    gpus_[gpu.key] = {
        .ll_max = cap("ll_max"),
        .ring_ll128 = cap("ring_ll128"),
        .tree_ll128 = cap("tree_ll128"),
        .tree = cap("tree"),
        .nvls_tree = cap("nvls_tree"),
        .nvls_efficiency = constant(gpu.value, "nvls_efficiency").number(),
        .nvls_channels = static_cast<int>(constant(gpu.value, "nvls_channels").number()),
        .intra = numbers(constant(gpu.value, "intra")),
        .inter = numbers(constant(gpu.value, "inter"))};
  }
  for (const JsonValue::Member& cpu : constant(constants, "cpus").members())
    cpus_[cpu.key] = {.ll_max_between_nodes = constant(cpu.value, "ll_max_between_nodes").string(),
                      .network_overhead = constant(cpu.value, "network_overhead").number(),
                      .pci_share = constant(cpu.value, "pci_share").number()};
  for (const LinkProtocol protocol : {LinkProtocol::ll, LinkProtocol::ll128, LinkProtocol::simple})
    corrections_[column(protocol)] =
        numbers(constant(constant(constants, "corrections"), to_string(protocol)));
  Diagnostics mistakes;
  ObjectReader machines(constant(constants, "machines"), "/machines", mistakes);
  for (const JsonValue::Member& machine : constant(constants, "machines").members())
    machines_[machine.key] = read_nccl_graph(machines, machine.key);
  COLLSIM_CHECK(mistakes.empty(), "what NCCL's tuner says of machines can be read");
}

const NcclTuner& NcclTuner::of_version(std::string_view version) {
  static const auto all = [] {
    std::map<std::string, NcclTuner, std::less<>> made;
    for (const EmbeddedFile& file : embedded_nccl_tuners()) {
      const JsonValue constants = parse_builtin("NCCL\'s tuner", file.text);
      made.emplace(constant(constants, "nccl_tuner").string(), NcclTuner(constants));
    }
    return made;
  }();
  const auto found = all.find(version);
  COLLSIM_CHECK(found != all.end(), "no tuner of NCCL " + std::string(version));
  return found->second;
}

const NcclGraph* NcclTuner::machine(const std::string& preset) const {
  const auto found = machines_.find(preset);
  return found == machines_.end() ? nullptr : &found->second;
}
const std::vector<double>& NcclTuner::speeds_inside(const std::string& gpu) const {
  return gpus_.at(gpu).intra;
}
const std::vector<double>& NcclTuner::speeds_between(const std::string& gpu) const {
  return gpus_.at(gpu).inter;
}
double NcclTuner::pci_share(const std::string& cpu) const {
  return cpus_.at(cpu).pci_share;
}

double NcclTuner::hop(std::string_view link, NcclAlgorithm algorithm, LinkProtocol protocol) const {
  const Latencies& latencies = latencies_.find(link)->second;
  return latencies.find(to_string(algorithm))->second[column(protocol)];
}

double NcclTuner::ring_latency(const TunerMachine& machine, const TunerQuestion& question,
                               LinkProtocol protocol) const {
  const int nodes = question.nodes;
  const bool one_gpu_each = question.ranks == nodes;
  const double intra = hop(machine.path, NcclAlgorithm::ring, protocol);
  if (is_chain(question.operation)) {
    if (nodes == 1 && machine.same_channels) return intra;
    const NcclAlgorithm whose =
        protocol == LinkProtocol::simple ? NcclAlgorithm::tree : NcclAlgorithm::ring;
    return steps_of(question) * hop(nodes == 1 ? machine.path : "network", whose, protocol);
  }
  const int both_ways = question.operation == Operation::all_reduce ? 2 : 1;
  const int between = nodes == 1 ? 0 : both_ways * (nodes - 1);
  const double overhead = nodes == 1 ? 0
                                     : cpus_.at(machine.cpu).network_overhead *
                                           (protocol == LinkProtocol::simple ? 3 : 1);
  const double inter =
      hop("network", one_gpu_each ? NcclAlgorithm::tree : NcclAlgorithm::ring, protocol);
  return (steps_of(question) - between) * std::max(intra, overhead) + between * inter;
}

double NcclTuner::latency(const TunerMachine& machine, const TunerQuestion& question,
                          NcclAlgorithm algorithm, LinkProtocol protocol) const {
  const int nodes = question.nodes;
  const int per_node = question.ranks / nodes;
  const double intra = hop(machine.path, algorithm, protocol);
  const double inter = hop("network", algorithm, protocol);
  const double base = hop("base", algorithm, protocol);
  const int levels = whole_log2(nodes);
  switch (algorithm) {
    case NcclAlgorithm::ring: return base + ring_latency(machine, question, protocol);
    case NcclAlgorithm::tree: return base + 2 * ((per_node - 1) * intra + levels * inter);
    case NcclAlgorithm::nvls: return intra + (nodes > 1 ? inter : 0);
    case NcclAlgorithm::nvls_tree: return intra + 2 * levels * inter;
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain: return base + collnet_latency(machine, question, algorithm);
    case NcclAlgorithm::pat: {
      constexpr double share = 3.5, of_a_rank = 2.8;
      return base + levels * inter / share + of_a_rank * question.ranks;
    }
    default: return 0;
  }
}

double NcclTuner::collnet_latency(const TunerMachine& machine, const TunerQuestion& question,
                                  NcclAlgorithm algorithm) const {
  constexpr double of_a_peer = 0.4;
  constexpr LinkProtocol simple = LinkProtocol::simple;
  const int others = question.ranks / question.nodes - 1;
  const double intra = hop(machine.path, algorithm, simple);
  const double inter = hop("network", others == 0 ? NcclAlgorithm::tree : algorithm, simple);
  const bool chain = algorithm == NcclAlgorithm::collnet_chain;
  const double up = chain ? others * intra : std::min(others, 1) * intra + others * of_a_peer;
  return 2 * up + inter;
}

double NcclTuner::ll_max(const TunerMachine& machine, const TunerQuestion& question) const {
  const std::string& whose =
      question.nodes == 1 ? machine.gpu : cpus_.at(machine.cpu).ll_max_between_nodes;
  return gpus_.at(whose).ll_max[column_of_nodes(question.nodes)];
}

double NcclTuner::tree_rate(const TunerMachine& machine, const TunerQuestion& question,
                            LinkProtocol protocol) const {
  constexpr double share = 0.92, ll_share = 3.8, plain_tree = 0.85;
  const Gpu& gpu = gpus_.at(machine.gpu);
  const std::size_t nodes = column_of_nodes(question.nodes);
  const int channels = machine.tree.channels;
  double rate = std::min(share * rate_of(machine.tree, question.nodes), channels * gpu.tree[nodes]);
  if (protocol == LinkProtocol::ll) rate = std::min(rate / ll_share, ll_max(machine, question));
  if (protocol == LinkProtocol::ll128) {
    const double of_lines = question.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
    rate = std::min(rate * of_lines, channels * gpu.tree_ll128[nodes]);
  }
  return question.nodes > 1 && is_hopper_or_later(machine) ? plain_tree * rate : rate;
}

double NcclTuner::nvls_rate(const TunerMachine& machine, const TunerQuestion& question,
                            NcclAlgorithm algorithm) const {
  const Gpu& gpu = gpus_.at(machine.gpu);
  const int per_node = question.ranks / question.nodes;
  const int channels = machine.nvls.channels;
  double intra = machine.nvls.intra * gpu.nvls_efficiency * (channels - 1) / channels;
  intra *= question.operation == Operation::all_reduce ? 2 : 1.0 * (per_node - 1) / per_node;
  double inter = machine.nvls.inter;
  if (algorithm == NcclAlgorithm::nvls_tree && question.nodes <= 2) inter *= 2;
  double rate = std::min(intra, inter);
  if (algorithm == NcclAlgorithm::nvls_tree)
    rate = std::min(rate, gpu.nvls_tree[column_of_nodes(question.nodes)]);
  return channels * rate;
}

double NcclTuner::collnet_direct_rate(const TunerMachine& machine,
                                      const TunerQuestion& question) const {
  constexpr double network_share = 0.9, share_since_hopper = 0.85;
  const NcclChannels& graph = machine.collnet;
  const double per_node = 1.0 * question.ranks / question.nodes;
  if (gathers(question.operation))
    return per_node * std::min(graph.intra, graph.inter * network_share);
  double gpus_per_nic = per_node / graph.channels;
  gpus_per_nic -= (gpus_per_nic - 1) / 2;
  const double rate = graph.channels * graph.intra / gpus_per_nic;
  return is_hopper_or_later(machine) ? share_since_hopper * rate : rate;
}

double NcclTuner::bus_rate(const TunerMachine& machine, const TunerQuestion& question,
                           NcclAlgorithm algorithm, LinkProtocol protocol) const {
  constexpr double ll_share = 0.5, ll128_share = 0.92, pat_share = 0.75;
  switch (algorithm) {
    case NcclAlgorithm::ring: {
      const double rate = rate_of(machine.ring, question.nodes);
      if (protocol == LinkProtocol::ll) return std::min(ll_max(machine, question), ll_share * rate);
      if (protocol == LinkProtocol::simple) return rate;
      const double cap = gpus_.at(machine.gpu).ring_ll128[column_of_nodes(question.nodes)];
      return std::min(ll128_share * rate, machine.ring.channels * cap);
    }
    case NcclAlgorithm::tree: return tree_rate(machine, question, protocol);
    case NcclAlgorithm::pat: return pat_share * rate_of(machine.tree, question.nodes);
    case NcclAlgorithm::collnet_direct: return collnet_direct_rate(machine, question);
    case NcclAlgorithm::collnet_chain: return machine.collnet.channels * machine.collnet.intra;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree: return nvls_rate(machine, question, algorithm);
    default: return 0;
  }
}

TunerCell NcclTuner::cell(const TunerMachine& machine, const TunerQuestion& question,
                          NcclAlgorithm algorithm, LinkProtocol protocol) const {
  double rate = bus_rate(machine, question, algorithm, protocol);
  const bool halved = algorithm == NcclAlgorithm::tree || is_collnet(algorithm);
  // What gathers otherwise than around a ring is not converted.
  if (algorithm == NcclAlgorithm::ring || !gathers(question.operation))
    rate *= halved ? 0.5 : 1.0 * question.ranks / steps_of(question);
  return {latency(machine, question, algorithm, protocol), rate};
}

double NcclTuner::expected_us(const TunerMachine& machine, const TunerQuestion& question,
                              NcclAlgorithm algorithm, LinkProtocol protocol, Bytes bytes) const {
  TunerCell expected = cell(machine, question, algorithm, protocol);
  const auto size = static_cast<double>(bytes);
  if (question.operation == Operation::all_reduce && algorithm == NcclAlgorithm::tree) {
    constexpr Bytes first = 64;
    const std::vector<double>& corrections = corrections_[column(protocol)];
    const auto power = std::bit_width(static_cast<std::uint64_t>(bytes / first));
    if (power > 0 && static_cast<std::size_t>(power) <= corrections.size())
      expected.gb_per_s *= corrections[static_cast<std::size_t>(power) - 1];
  }
  if (question.operation == Operation::all_reduce && algorithm == NcclAlgorithm::ring &&
      protocol == LinkProtocol::simple && question.nodes > 1) {
    constexpr double least = 64, slower = 1.4, slower_before_ampere = 1.9;
    if (size / (machine.ring.channels * question.ranks) >= least)
      expected.latency_us *= machine.gpu == "volta" ? slower_before_ampere : slower;
  }
  return expected.latency_us + size / (1000 * expected.gb_per_s);
}

TunerWork NcclTuner::work(const TunerMachine& machine, const TunerQuestion& question,
                          NcclAlgorithm algorithm, LinkProtocol protocol, Bytes bytes) const {
  constexpr int most_channels = 64, fewest_threads = 96, threads_of_trees = 640;
  const bool nvls = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  TunerWork work{nvls ? gpus_.at(machine.gpu).nvls_channels
                      : std::min(2 * machine.channels_of(algorithm).channels, most_channels),
                 protocol == LinkProtocol::ll128 ? 640 : 512};
  Bytes per_thread = nccl_protocol_of(protocol) == LinkProtocol::simple ? 64 : 8;
  if (protocol == LinkProtocol::ll && algorithm == NcclAlgorithm::ring)
    per_thread *= question.ranks;
  if (is_collnet(algorithm)) per_thread = 512;
  const auto too_many = [&] { return bytes < Bytes{work.channels} * work.threads * per_thread; };
  while (work.channels > 1 && too_many()) --work.channels;
  const bool all_threads = nvls || algorithm == NcclAlgorithm::collnet_direct;
  while (!all_threads && work.threads % 128 == 0 && too_many()) work.threads /= 2;
  const bool tree = algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::pat;
  work.threads = tree ? threads_of_trees : std::max(work.threads, fewest_threads);
  return work;
}

}  // namespace collsim
