// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/nccl_choice.hpp"
#include "app/scenario/program_files.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/collective.hpp"

namespace collsim {

// What "collective" is read against.
struct CollectiveContext {
  const Cluster* cluster = nullptr;  // null: unknown, because something is wrong with it
  // A sweep changes the operation or the algorithm.  Keys that only some of them know are then no
  // mistake where they mean nothing.
  bool operation_varies = false;
  bool algorithm_varies = false;
  const ProgramFiles* programs = nullptr;
};

// What the scenario leaves open: what "auto" chooses besides the algorithm, and dims, which follow
// from it.
struct OpenKnobs {
  bool chunks = false;
  bool channels = false;
  bool dims = false;
};

struct CollectiveReading {
  Collective collective;
  AlgorithmChoice choice;  // its name is that of the table, or "auto", or of a listed schedule
  OpenKnobs open;
  NcclChoice nccl_choice;
  std::optional<std::vector<std::vector<double>>> data;
};

// Reads "collective" (scenario format, section 3); `resolved` gets it with every default.
//
//   op, algorithm, size, dtype, reduction, ranks, root, in_place; the algorithm may be
//   {"msccl": FILE}, of the programs that the context has
//   chunks or chunk_size, channels, slots
//   nccl_algo, nccl_proto (lists in the syntax of NCCL_ALGO and NCCL_PROTO), nccl_tuner: what the
//   algorithm nccl may choose from, and how
//   radix (k-nomial), aggregation (pat), dims (hierarchical, torus)
//   pattern (send-recv): "shift", "exchange", {"shift": 2} or [[from, to], ...]
//   data: the input of every rank, one list of numbers each; for broadcast and scatter the root's
//         list alone will do.  It says the size.  Where a rank has no input its list is empty, or
//         as long as the others', and left out.
//
// Ranks (ranks, root, pattern) are those of the cluster, whatever the group.  Nothing when
// something is wrong, which is then in the diagnostics; these must be empty before.
[[nodiscard]] std::optional<CollectiveReading> read_collective(const JsonValue& collective,
                                                               const std::string& pointer,
                                                               const CollectiveContext& context,
                                                               Diagnostics& diagnostics,
                                                               JsonValue& resolved);

}  // namespace collsim
