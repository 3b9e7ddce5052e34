// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/object_reader.hpp"

namespace collsim {

// Channels that NCCL found for an algorithm; each has these rates inside a node and between nodes.
struct NcclChannels {
  int channels = 0;
  double intra = 0, inter = 0;  // GB/s
};

// What the tuner of NCCL needs to know of a machine; what is empty or missing follows from the
// network (app/study/nccl_machine.hpp).
//
//   "nccl_graph": {"gpu": "hopper", "cpu": "intel", "path": "nvlink",
//                  "ring": {"channels": 12, "intra": "30GB/s", "inter": "30GB/s"},
//                  "tree": {...}, "nvls": {...}, "collnet": {...}, "same_channels": true}
struct NcclGraph {
  std::string gpu;   // "volta", "ampere", "hopper", "blackwell"
  std::string cpu;   // "intel", "amd", "arm"
  std::string path;  // between GPUs of a node: "nvlink", "pci"
  std::optional<NcclChannels> ring, tree, nvls, collnet;
  // Whether all channels go through the GPUs in one order; nothing: on one node they do.
  std::optional<bool> same_channels;
};

// Which GPUs, CPUs and path these are, as far as it says so.
[[nodiscard]] JsonValue to_value(const NcclGraph& graph);

// Of an object at `key`, of which `resolved` gets what is written; nothing of it when absent.
[[nodiscard]] NcclGraph read_nccl_graph(ObjectReader& owner, std::string_view key);

}  // namespace collsim
