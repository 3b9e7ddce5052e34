// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "plots/engine/preset_machines.hpp"
#include "topo/graph_nodes.hpp"

namespace collsim {
namespace {

LinkParameters parameters_of(const PresetMachine& preset, std::size_t number) {
  const PresetLink& link = preset.links[number];
  LinkParameters parameters{.bandwidth = Bandwidth(link.bytes_per_s),
                            .latency = Time(link.latency_ps),
                            .startup = Time(link.startup_ps),
                            .sharing = link.fair ? Sharing::fair : Sharing::exclusive,
                            .half_duplex = link.half_duplex};
  // What protocols of NCCL cost is not asked here, only whether there is NVLS.
  if (preset.switches_add)
    parameters.protocols[static_cast<std::size_t>(LinkProtocol::nvls)] = ProtocolCost{};
  return parameters;
}

}  // namespace

Topology topology_of_preset(const PresetMachine& preset, std::size_t nodes) {
  TopologyBuilder node;
  for (const PresetDevice& device : preset.devices)
    node.add_node(device.kind, std::string(device.name));
  for (const PresetCable& cable : preset.cables)
    node.connect(NodeId(cable.from), NodeId(cable.to), parameters_of(preset, cable.link));
  return make_switched_copies(node.build(), nodes, parameters_of(preset, preset.nic_link));
}

}  // namespace collsim
