// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/run.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "topo/units.hpp"

namespace collsim {

// What is to be predicted, in the words of the command line; what is not given is empty.
struct PredictOptions {
  std::string operation, smallest, largest, step, preset, shape, bandwidth, latency, overhead;
  std::string machine;  // a file, whose cluster and model the caller puts in
  std::string network, type, reduction;
  std::string algorithm;  // empty: what the scenario's default is, of a shape auto
  std::string nccl_algo, nccl_proto, nccl_tuner;  // any of them: nccl in place of auto
  std::optional<std::int64_t> factor, gpus, threads, nodes, root, chunks, channels;
  // In place of a range of sizes, and of -g and -t: what a log says (collsim compare).
  std::vector<Bytes> exact_sizes;
  std::optional<std::int64_t> gpus_of_each_node;
  std::string launch_mode;
  bool in_place = false;
  bool sharp = false;
  RunCommandOptions run;

  // -g, in all threads: the ranks of a shape, or of each node of presets; nothing: all of them.
  [[nodiscard]] std::optional<std::int64_t> ranks() const;
  [[nodiscard]] const char* ranks_option() const { return threads ? "-t times -g" : "-g"; }
};

// The scenario that they stand for.  Its values remember the option they came from.  Throws
// UsageError.
[[nodiscard]] JsonValue predicted_scenario(const PredictOptions& options, Sources& sources);

}  // namespace collsim
