// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// One machine in the format of NCCL_TOPO_FILE, version 1.
struct NcclTopologyText {
  std::string xml;
  std::vector<std::string> changed;  // what the format cannot say as it is, in words
};

// The first node of a topology.  Switches with GPUs alone are NVSwitches, links from GPU to GPU or
// to these NVLinks; everything else must hang as a tree on CPUs, of which one is added when there
// is none. The format knows NVLinks by their number and their GPUs, and PCIe by generation and
// lanes: a bandwidth in between becomes the nearest.  Throws Error when the links are no tree.
//
// `preset`: its name, which says what GPUs these are; empty: none.
[[nodiscard]] NcclTopologyText nccl_topology(const Topology& topology, std::string_view preset);

}  // namespace collsim
