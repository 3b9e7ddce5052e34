// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "app/import/imported_machine.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/nccl_graph.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

// "nccl_topo": "machine.xml" and "topo_matrix": "machine.txt" of the cluster become the text of
// that file, whose name is relative to the file that names it (on a command line: to the working
// directory).  What has several lines or begins with '<' or '{' is the text already.  What cannot
// be read read_cluster() reports.
void load_machine_file(JsonValue& document, Sources& sources);

// The words of "gpu" and "pcie" (gen3 to gen6).
[[nodiscard]] const Vocabulary& gpu_words();
[[nodiscard]] const Vocabulary& pcie_words();
[[nodiscard]] int pcie_generation_of(std::string_view word);

// The preset that is most like a machine.
[[nodiscard]] std::string_view nearest_preset(const ImportedMachine& machine);

// A machine that complete() completed as a cluster: "devices", "links" and, when it has NICs,
// "network".
//
// No such file says what latency its links have: that, overhead and sharing are those of the
// nearest preset, its slots' for links that it lacks.  A NIC's latency makes up for the switches
// before it, so that the whole hop between nodes takes as long as in the preset.
[[nodiscard]] JsonValue cluster_value(const ImportedMachine& machine);
// What NCCL's tuner needs to know, as far as the file says it.
[[nodiscard]] NcclGraph nccl_graph_of(const ImportedMachine& machine);
// The "model" of the nearest preset; null: it has none.
[[nodiscard]] const JsonValue* model_value(const ImportedMachine& machine);
// Adds to what is assumed where all that comes from.
void note_latencies(ImportedMachine& machine);

}  // namespace collsim
