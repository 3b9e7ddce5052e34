// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

// The machines that collsim knows by name: the files of scenarios/presets/, built into the program.
//
//   { "preset": "dgx-h100", "title": "NVIDIA DGX H100 ...", "gpus": 8, "gpu": "hopper",
//     "network": "ib", "calibrated": false,
//     "source": "where the numbers of devices come from", "notes": ["..."],
//     "link_types": {
//       "nvlink": { "title": "what it is", "bandwidth": "...", "latency": "...", "overhead": "...",
//                   "sharing": "fair", "protocols": "hopper", "hops": 2, "per_gpu": 1,
//                   "source": { "bandwidth": "where this number comes from", ... } }, ... },
//     "cluster": { "devices": [...], "links": [{ "from", "to", "link": "nvlink" }],
//                  "network": { "link": "nic" } } }
//
// Its cluster is a graph of the scenario format, in which a link is the name of a link type.  A
// scenario's "override": {"nic.bandwidth": "400Gb/s"} changes a link type.  What NCCL's protocols
// and kernels cost is not written there but filled in, see app/scenario/fitted.hpp: "gpu" and
// "network" are kinds that the fitted constants know, the latter one that a scenario may choose.
struct Preset {
  std::string name;
  std::string title = {};
  int gpus = 0;  // of one node
  bool calibrated = false;
  JsonValue written = {};    // the whole file
  std::string network = {};  // its kind
  JsonValue document = {};   // the file with the fitted constants for its network
};
// The document for another kind of network.
[[nodiscard]] JsonValue on_network(const Preset& preset, std::string_view network);
[[nodiscard]] std::span<const Preset> presets();
// By its name or a common short form ("h100"); null if there is none.
[[nodiscard]] const Preset* find_preset(std::string_view name);
[[nodiscard]] const Vocabulary& preset_words();
// What a link type says: bandwidth, latency, overhead, sharing.
[[nodiscard]] std::span<const std::string_view> preset_link_values();

}  // namespace collsim
