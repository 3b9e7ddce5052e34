// SPDX-License-Identifier: Apache-2.0
#include "app/study/nccl_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "topo/routes.hpp"

namespace collsim {
namespace {

double gigabytes(const Link& link) {
  return static_cast<double>(link.bandwidth.bytes_per_second()) / 1e9;
}

// What is written wins over what is known of the preset, or what the machine's file says.
NcclGraph known_graph(const Case& asked, int members, const NcclTuner& tuner) {
  NcclGraph graph = asked.nccl_graph;
  const NcclGraph* const preset = tuner.machine(asked.cluster->preset);
  if (preset == nullptr) {
    const NcclGraph& file = asked.cluster->nccl_graph;
    if (graph.gpu.empty()) graph.gpu = file.gpu;
    if (graph.cpu.empty()) graph.cpu = file.cpu;
    if (graph.path.empty()) graph.path = file.path;
    return graph;
  }
  if (graph.gpu.empty()) graph.gpu = preset->gpu;
  if (graph.cpu.empty()) graph.cpu = preset->cpu;
  if (graph.path.empty()) graph.path = preset->path;
  if (!graph.same_channels) graph.same_channels = preset->same_channels;
  const std::vector<int>& dims = asked.cluster->topology.dims();
  const bool whole_node =
      members == asked.collective.size() &&
      members ==
          (dims.size() == 2 ? dims[1] : static_cast<int>(asked.cluster->topology.rank_count()));
  if (whole_node && !graph.ring) graph.ring = preset->ring;
  if (whole_node && !graph.tree) graph.tree = preset->tree;
  return graph;
}

void refuse_unknown(const NcclGraph& graph, const Case& asked) {
  if (!graph.gpu.empty() && !graph.cpu.empty() && !graph.path.empty()) return;
  const char* const lacking = graph.gpu.empty()   ? "which GPUs these are"
                              : graph.cpu.empty() ? "which CPUs these are"
                                                  : "what connects the GPUs of a node";
  throw_error(ErrorCode::invalid_argument,
              fmt::format("what NCCL's tuner would choose is unknown here, because nothing says {} "
                          "({}); write \"model\": {{\"nccl_graph\": {{\"gpu\": \"hopper\", "
                          "\"cpu\": \"intel\", \"path\": \"nvlink\"}}}}, or leave out nccl_tuner: "
                          "then the fastest of what NCCL has is taken",
                          lacking, asked.cluster->description));
}

class GraphRules {
 public:
  GraphRules(const Case& asked, int members, const NcclTuner& tuner, const NcclGraph& known)
      : topology_(&asked.cluster->topology),
        group_(&asked.collective.group),
        members_(members),
        nodes_(asked.collective.size() / members),
        tuner_(&tuner),
        known_(&known) {}

  [[nodiscard]] NcclChannels ring() const {
    if (nodes_ > 1) return between_nodes();
    return known_->path == "nvlink" ? over_nvlinks() : over_pci();
  }

  [[nodiscard]] NcclChannels tree(const NcclChannels& ring) const {
    NcclChannels tree = ring;
    if (nodes_ > 1 && known_->path == "nvlink")
      tree.intra = std::max(ring.inter, fitting_speed(nvlinks() / ring.channels));
    if (nodes_ == 1 && members_ == 2 && known_->path == "nvlink") tree.intra *= 2;
    return tree;
  }

  [[nodiscard]] NcclChannels nvls(const NcclChannels& ring) const {
    if (known_->path != "nvlink") return {1, 0, 0};
    const double fastest = tuner_->speeds_inside(known_->gpu).front();
    return {members_, fitting_speed(nvlinks() / (members_ + 1)), nodes_ > 1 ? ring.inter : fastest};
  }

 private:
  [[nodiscard]] bool since_hopper() const {
    return known_->gpu == "hopper" || known_->gpu == "blackwell";
  }
  // The fastest that NCCL tries and that fits; else what there is.
  static double fitting(const std::vector<double>& speeds, double rate) {
    constexpr double rounding = 1e-6;
    for (const double speed : speeds)
      if (speed <= rate * (1 + rounding)) return speed;
    return rate;
  }
  [[nodiscard]] double fitting_speed(double rate) const {
    return fitting(tuner_->speeds_inside(known_->gpu), rate);
  }

  // Of the first GPU: those to others of the group, or the one to a switch.
  [[nodiscard]] double nvlinks() const {
    const NodeId gpu = topology_->node_of(group_->front());
    std::set<NodeId> peers;
    for (int i = 1; i < members_; ++i)
      peers.insert(topology_->node_of((*group_)[static_cast<std::size_t>(i)]));
    double to_gpus = 0, widest = 0;
    for (const Link& link : topology_->links()) {
      if (link.from != gpu) continue;
      if (peers.contains(link.to)) to_gpus += gigabytes(link);
      widest = std::max(widest, gigabytes(link));
    }
    return to_gpus > 0 ? to_gpus : widest;
  }

  [[nodiscard]] NcclChannels over_nvlinks() const {
    const double rate = nvlinks();
    double best = fitting_speed(rate);
    const auto channels = [&](double speed) {
      constexpr double rounding = 1e-6;
      return std::max(1.0, std::floor(rate / speed + rounding));
    };
    constexpr double most_channels = 32;  // half of NCCL's, because they are doubled
    for (const double speed : tuner_->speeds_inside(known_->gpu))
      if (speed <= rate && channels(speed) <= most_channels &&
          channels(speed) * speed > channels(best) * best)
        best = speed;
    return doubled({static_cast<int>(channels(best)), best, best});
  }

  [[nodiscard]] NcclChannels over_pci() const {
    double narrowest = 0;
    bool through_cpu = false;
    Router router(*topology_);
    for (int i = 0; i < members_; ++i) {
      const Rank from = (*group_)[static_cast<std::size_t>(i)];
      const Rank to = (*group_)[static_cast<std::size_t>((i + 1) % members_)];
      if (from == to) continue;
      for (const LinkId id : router.route(from, to)) {
        const Link& link = topology_->link(id);
        if (narrowest == 0 || gigabytes(link) < narrowest) narrowest = gigabytes(link);
        through_cpu = through_cpu || topology_->kind(link.to) == NodeKind::cpu;
      }
    }
    if (through_cpu) narrowest *= tuner_->pci_share(known_->cpu);
    const double speed = fitting_speed(narrowest);
    return {1, speed, speed};
  }

  // A NIC is as fast as the narrowest of its links.
  [[nodiscard]] NcclChannels between_nodes() const {
    std::map<NodeId, double> nics;
    for (const Link& link : topology_->links()) {
      if (topology_->kind(link.from) != NodeKind::nic) continue;
      const auto [nic, added] = nics.try_emplace(link.from, gigabytes(link));
      nic->second = std::min(nic->second, gigabytes(link));
    }
    const std::vector<int>& dims = topology_->dims();
    if (nics.empty() || dims.size() != 2)
      throw_error(ErrorCode::invalid_argument,
                  "what NCCL's tuner would choose is unknown here: no NICs join the nodes; write "
                  "\"nccl_graph\": {\"ring\": {\"channels\": 8, \"intra\": \"48GB/s\"}} with "
                  "what NCCL's log says, or leave out nccl_tuner");
    const int of_node = std::max(1, static_cast<int>(nics.size()) / dims[0]);
    const double speed = fitting(tuner_->speeds_between(known_->gpu), nics.begin()->second);
    return doubled({std::min(of_node, members_), speed, speed});
  }

  // Fast channels NCCL takes twice, each with half of the speed.
  [[nodiscard]] NcclChannels doubled(const NcclChannels& found) const {
    constexpr double fast = 25, fast_since_hopper = 50;
    constexpr int many = 4;
    const bool enough = since_hopper() && found.intra < fast_since_hopper && found.channels > many;
    if (found.intra < fast || enough) return found;
    return {2 * found.channels, found.intra / 2, found.inter / 2};
  }

  const Topology* topology_;
  const std::vector<Rank>* group_;
  int members_, nodes_;
  const NcclTuner* tuner_;
  const NcclGraph* known_;
};

}  // namespace

TunerMachine tuner_machine(const Case& asked, int members, const NcclTuner& tuner) {
  const NcclGraph known = known_graph(asked, members, tuner);
  refuse_unknown(known, asked);
  const GraphRules rules(asked, members, tuner, known);
  TunerMachine machine{.gpu = known.gpu, .cpu = known.cpu, .path = known.path};
  machine.ring = known.ring ? *known.ring : rules.ring();
  machine.tree = known.tree ? *known.tree : rules.tree(machine.ring);
  machine.nvls = known.nvls ? *known.nvls : rules.nvls(machine.ring);
  machine.collnet = known.collnet ? *known.collnet : machine.ring;
  machine.same_channels = known.same_channels.value_or(members == asked.collective.size());
  return machine;
}

}  // namespace collsim
