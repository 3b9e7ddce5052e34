// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "collectives/algorithms.hpp"
#include "collectives/cost/cost_model.hpp"
#include "sim/simulate.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Everything that can be turned on the page, as numbers.  JavaScript writes it, in this order.
// Numbers that must be whole are rounded; what makes no sense is refused by the core.
struct Setting {
  double shape;      // index into setting_shapes()
  double algorithm;  // index into algorithms(), which fixes the operation too
  double ranks;
  double gpus_per_node;  // of shape nodes alone
  double root;           // 0 where there is none
  double bytes;          // as in nccl-tests; whole float32 elements
  double chunks;
  double channels;
  double slots;  // 0: no limit
  double bandwidth_bytes_per_s;
  double network_bytes_per_s;  // between nodes, of shape nodes alone
  double overhead_ps;
  double latency_ps;
  double fair;                // 0: links serve message after message; 1: messages share them
  double reduce_bytes_per_s;  // 1 / gamma; 0: adding takes no time
  double slow_link;           // the link's id, or -1: none
  double slow_bandwidth_bytes_per_s;
  double late_rank;  // -1: none
  double late_ps;
  double preset;  // index into preset_machines(), in place of shape and links; -1: none
};

// Names as in scenario files.
[[nodiscard]] std::span<const std::string_view> setting_shapes();

// All links have the setting's bandwidth, but for the slow one.
[[nodiscard]] bool has_one_kind_of_link(const Setting& setting);
[[nodiscard]] const Algorithm& algorithm_of(const Setting& setting);

// What the core makes of it.  Ranks of a preset are whole nodes of it.  Torus and mesh are as
// square as the number of ranks allows.  Nodes are switches of GPUs, each of which has a port of
// its own into one network; startup and latency are the same there.
[[nodiscard]] Topology topology_of(const Setting& setting);
[[nodiscard]] Collective collective_of(const Setting& setting);
[[nodiscard]] AlgorithmChoice choice_of(const Setting& setting, const Topology& topology);
[[nodiscard]] CostModel costs_of(const Setting& setting);
[[nodiscard]] SimulationOptions options_of(const Setting& setting);

}  // namespace collsim
