// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at everything that reads a real machine from a file of another program.  Whatever
// comes in, there must be a machine of which a cluster can be built, a question, or a diagnostic,
// never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/import/imported_machine.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/cluster/imported.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void build(ImportedMachine machine, const MachineAnswers& answers) {
  if (complete(machine, answers)) return;
  for (const ImportedMachine::Cable& cable : machine.cables) {
    must(cable.gbs > 0);
    must(cable.from < machine.devices.size() && cable.to < machine.devices.size());
  }
  Diagnostics diagnostics;
  JsonValue resolved;
  const auto cluster = read_cluster(cluster_value(machine), "/cluster", diagnostics, resolved);
  must(cluster.has_value() && diagnostics.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source =
      sources.add(Sources::Kind::file, "fuzz", std::string(data, data + size));
  const auto machine = read_machine(sources.text(source), source, diagnostics);
  must(machine.has_value() == diagnostics.empty());
  if (machine) {
    build(*machine, {});
    build(*machine, {.gpu = "H100", .network_gbs = 25, .pcie_generation = 4});
  }
  (void)to_text(diagnostics, sources);
  (void)to_json(to_value(diagnostics, sources));
  return 0;
}
