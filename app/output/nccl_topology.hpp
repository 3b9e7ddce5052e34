// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// What a topology does not say of its nodes.  Empty: unknown.
struct ExportedMachine {
  std::string preset;   // says what GPUs these are
  std::string network;  // the kind of what joins the nodes
  std::string cpu;      // its maker as NCCL's tuner calls it
};

// One machine in the format of NCCL_TOPO_FILE.
struct NcclTopologyText {
  std::string xml;
  std::vector<std::string> changed;  // what the format cannot say as it is, in words
};

// The first node of a topology.  Switches with GPUs alone are NVSwitches, links from GPU to GPU or
// to these NVLinks; everything else must hang as a tree on CPUs, of which one is added when there
// is none. The format knows NVLinks by their number and their GPUs, and PCIe by generation and
// lanes: a bandwidth in between becomes the nearest.  AMD's GPUs are written as RCCL does, in
// version 2.  What the format has no words for is in attributes whose names begin with "collsim_",
// which NCCL passes over and `topo import` reads.  Throws Error when the links are no tree.
//
[[nodiscard]] NcclTopologyText nccl_topology(const Topology& topology,
                                             const ExportedMachine& machine);

}  // namespace collsim
