// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/value.hpp"
#include "app/scenario/nccl_choice.hpp"
#include "app/scenario/nccl_graph.hpp"
#include "collectives/collective.hpp"

namespace collsim {

// A machine as NCCL's tuner knows it: no value is left open (app/study/nccl_machine.hpp).
struct TunerMachine {
  std::string gpu, cpu, path;  // as in NcclGraph
  NcclChannels ring, tree, nvls, collnet;
  bool same_channels = true;

  [[nodiscard]] const NcclChannels& channels_of(NcclAlgorithm algorithm) const;
};

struct TunerQuestion {
  Operation operation{};
  int ranks = 0;
  int nodes = 1;
};

// What the tuner expects of an algorithm and a protocol: lat and bw in NCCL's log.
struct TunerCell {
  double latency_us = 0;
  double gb_per_s = 0;  // of the size, not of the bus; 0: it does not consider the pair
};

struct TunerWork {
  int channels = 0, threads = 0;
};

// The tuning model of NCCL, which chooses among algorithms and protocols and is no prediction: it
// is right about which one NCCL runs, and up to two times wrong about how long that takes.
//
//   time = latency + size / bandwidth
//   latency   base + a hop per step, of NVLink, PCI or the network
//   bandwidth channels x rate of a channel, capped per protocol, GPU and number of nodes; times
//             n / steps for Ring and NVLS, 1/2 for Tree and CollNet
//
// Corrected by size for Tree, and for Ring Simple among nodes.  The constants are those of a
// version, scenarios/presets/nccl-VERSION.json.
class NcclTuner {
 public:
  // "2.28"; the word must be one of nccl_tuner_versions().
  [[nodiscard]] static const NcclTuner& of_version(std::string_view version);

  [[nodiscard]] TunerCell cell(const TunerMachine& machine, const TunerQuestion& question,
                               NcclAlgorithm algorithm, LinkProtocol protocol) const;
  [[nodiscard]] double expected_us(const TunerMachine& machine, const TunerQuestion& question,
                                   NcclAlgorithm algorithm, LinkProtocol protocol,
                                   Bytes bytes) const;
  // The channels and the threads of each that NCCL gives a message of a size.
  [[nodiscard]] TunerWork work(const TunerMachine& machine, const TunerQuestion& question,
                               NcclAlgorithm algorithm, LinkProtocol protocol, Bytes bytes) const;

  // What the machines of its presets are; null: a preset that it does not know.
  [[nodiscard]] const NcclGraph* machine(const std::string& preset) const;
  // GB/s that NCCL tries for a channel, fastest first.
  [[nodiscard]] const std::vector<double>& speeds_inside(const std::string& gpu) const;
  [[nodiscard]] const std::vector<double>& speeds_between(const std::string& gpu) const;
  // Of the PCIe bandwidth, what peers have that meet at a CPU.
  [[nodiscard]] double pci_share(const std::string& cpu) const;

  explicit NcclTuner(const JsonValue& constants);

 private:
  using Cap = std::array<double, 3>;  // of 1 node, 2 nodes, more nodes
  struct Gpu {
    Cap ll_max{}, ring_ll128{}, tree_ll128{}, tree{}, nvls_tree{};
    double nvls_efficiency = 0;
    int nvls_channels = 0;
    std::vector<double> intra, inter;
  };
  struct Cpu {
    std::string ll_max_between_nodes;
    double network_overhead = 0, pci_share = 1;
  };
  using Latencies = std::map<std::string, std::array<double, 3>, std::less<>>;  // by algorithm

  [[nodiscard]] double hop(std::string_view link, NcclAlgorithm algorithm,
                           LinkProtocol protocol) const;
  [[nodiscard]] double latency(const TunerMachine& machine, const TunerQuestion& question,
                               NcclAlgorithm algorithm, LinkProtocol protocol) const;
  [[nodiscard]] double ring_latency(const TunerMachine& machine, const TunerQuestion& question,
                                    LinkProtocol protocol) const;
  [[nodiscard]] double bus_rate(const TunerMachine& machine, const TunerQuestion& question,
                                NcclAlgorithm algorithm, LinkProtocol protocol) const;
  [[nodiscard]] double tree_rate(const TunerMachine& machine, const TunerQuestion& question,
                                 LinkProtocol protocol) const;
  [[nodiscard]] double nvls_rate(const TunerMachine& machine, const TunerQuestion& question,
                                 NcclAlgorithm algorithm) const;
  [[nodiscard]] double collnet_direct_rate(const TunerMachine& machine,
                                           const TunerQuestion& question) const;
  [[nodiscard]] double collnet_latency(const TunerMachine& machine, const TunerQuestion& question,
                                       NcclAlgorithm algorithm) const;
  [[nodiscard]] double ll_max(const TunerMachine& machine, const TunerQuestion& question) const;

  std::map<std::string, Latencies, std::less<>> latencies_;  // by link
  std::map<std::string, Gpu, std::less<>> gpus_;
  std::map<std::string, Cpu, std::less<>> cpus_;
  std::array<std::vector<double>, 3> corrections_;  // of Tree, by protocol
  std::map<std::string, NcclGraph, std::less<>> machines_;
};

}  // namespace collsim
