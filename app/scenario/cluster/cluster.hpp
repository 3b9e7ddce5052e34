// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/nccl_graph.hpp"
#include "topo/topology.hpp"

namespace collsim {

// The machine of a scenario: "cluster" read and built.
struct Cluster {
  Topology topology;
  // The parameters of its links when all are alike, before links_override: alpha, B and L of
  // expressions.  Nothing when there are several kinds (nodes, presets, explicit graphs).
  std::optional<LinkParameters> link;
  std::vector<std::pair<Rank, Time>> late;
  std::string preset;                            // its name; empty: none
  std::string gpu_kind = {}, network_kind = {};  // the preset's (app/scenario/fitted.hpp)
  JsonValue model;  // the preset's: launch costs, for what the scenario's model omits; null: none
  NcclGraph nccl_graph = {};  // to NCCL's tuner: what the file of a real machine says
  std::string
      description;  // "chain of 8 ranks, 25 GB/s, 5 us per message"; "dgx-h100 x 2 (16 ranks)"
  bool overridden = false;  // links_override changed something
  // Keys of the preset's "override" that change something: "nic.latency".
  std::vector<std::string> preset_changes = {};
  std::optional<FitToLogs> fitted = {};   // by collsim calibrate
  std::vector<std::string> assumed = {};  // what the file of a real machine leaves open, in words
};

// Reads "cluster" (scenario format, section 2) and builds it; `resolved` gets it with every
// default.  Nothing when something is wrong with it, which is then in the diagnostics.
[[nodiscard]] std::optional<Cluster> read_cluster(const JsonValue& cluster,
                                                  const std::string& pointer,
                                                  Diagnostics& diagnostics, JsonValue& resolved);

}  // namespace collsim
