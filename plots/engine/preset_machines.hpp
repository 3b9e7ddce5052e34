// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "topo/topology.hpp"

namespace collsim {

// The machines of scenarios/presets as tables, which embed_presets.py writes.
struct PresetDevice {
  std::string_view name;
  NodeKind kind;
};
struct PresetLink {
  std::int64_t bytes_per_s;
  std::int64_t latency_ps;
  std::int64_t startup_ps;
  bool fair;
  bool half_duplex;
};
struct PresetCable {
  std::uint16_t from, to;  // devices
  std::uint16_t link;
};
struct PresetMachine {
  std::string_view name;
  std::string_view title;
  std::size_t gpus;
  bool switches_add;  // by NVLS
  std::span<const PresetDevice> devices;
  std::span<const PresetLink> links;
  std::span<const PresetCable> cables;
  std::size_t nic_link;
  std::string_view accuracy;  // of predictions with NCCL's protocols: accuracy_of() there
};

[[nodiscard]] std::span<const PresetMachine> preset_machines();

// As a scenario file's {"preset": ..., "nodes": ...}.
[[nodiscard]] Topology topology_of_preset(const PresetMachine& preset, std::size_t nodes);

}  // namespace collsim
