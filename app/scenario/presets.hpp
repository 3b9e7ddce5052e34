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
//   { "preset": "dgx-h100", "title": "NVIDIA DGX H100 ...", "gpus": 8, "calibrated": false,
//     "source": "where the numbers of devices come from", "notes": ["..."],
//     "link_types": {
//       "nvlink": { "title": "what it is", "bandwidth": "...", "latency": "...", "overhead": "...",
//                   "sharing": "fair",
//                   "source": { "bandwidth": "where this number comes from", ... } }, ... },
//     "cluster": { "devices": [...], "links": [{ "from", "to", "link": "nvlink" }],
//                  "network": { "link": "nic" } } }
//
// Its cluster is a graph of the scenario format, in which a link is the name of a link type.  A
// scenario's "override": {"nic.bandwidth": "400Gb/s"} changes a link type.
struct Preset {
  std::string name;
  std::string title = {};
  int gpus = 0;  // of one node
  bool calibrated = false;
  JsonValue document = {};  // the whole file
};
[[nodiscard]] std::span<const Preset> presets();
// By its name or a common short form ("h100"); null if there is none.
[[nodiscard]] const Preset* find_preset(std::string_view name);
[[nodiscard]] const Vocabulary& preset_words();
// What a link type says: bandwidth, latency, overhead, sharing.
[[nodiscard]] std::span<const std::string_view> preset_link_values();

}  // namespace collsim
