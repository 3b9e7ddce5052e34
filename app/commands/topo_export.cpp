// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "app/commands/topo_internal.hpp"
#include "app/output/nccl_topology.hpp"
#include "app/scenario/presets.hpp"
#include "app/study/nccl_tuner.hpp"

namespace collsim {
namespace {

struct MachineExport {
  OneCaseOptions one_case;
  std::string preset, output;
  bool nccl_xml = false;
};

// With two nodes where one is written: only then the links of the NICs into the network are there.
std::optional<Cluster> with_network(JsonValue cluster, Diagnostics& diagnostics) {
  const JsonValue* const nodes = cluster.find("nodes");
  const bool has_network =
      cluster.find("shape") == nullptr &&
      (cluster.find("network") != nullptr || cluster.find("devices") == nullptr);
  const bool one = nodes == nullptr || nodes->integer() == 1;
  JsonValue resolved;
  if (has_network && one) {
    JsonValue two = cluster;
    two.set("nodes", 2);
    Diagnostics ignored;  // a machine without NICs stands alone
    if (auto read = read_cluster(two, "/cluster", ignored, resolved)) return read;
  }
  return read_cluster(cluster, "/cluster", diagnostics, resolved);
}

std::optional<Cluster> exported_cluster(const MachineExport& options, Terminal& terminal) {
  const bool file = !options.one_case.file.empty();
  if (file && !options.preset.empty()) throw UsageError("FILE and --preset do not go together");
  if (!file && options.preset.empty())
    throw UsageError("a scenario file or --preset NAME is missing");
  JsonValue document = JsonValue::object();
  if (file) {
    const auto chosen = load_one_case(options.one_case, terminal);
    if (!chosen) return std::nullopt;
    document = *chosen->scenario.resolved.find("cluster");
  } else {
    const auto name = preset_words().canonical(options.preset);
    if (!name)
      throw UsageError("there is no preset" + did_you_mean(options.preset, preset_words().allowed));
    document.set("preset", *name);
  }
  Diagnostics diagnostics;
  auto cluster = with_network(std::move(document), diagnostics);
  if (!cluster) show_mistakes(diagnostics, Sources{}, terminal);
  return cluster;
}

int export_machine(const MachineExport& options, Terminal& terminal) {
  const auto cluster = exported_cluster(options, terminal);
  if (!cluster) return exit_usage;
  ExportedMachine machine{cluster->preset, cluster->network_kind, cluster->nccl_graph.cpu};
  if (const NcclGraph* const known = NcclTuner::of_version("2.28").machine(cluster->preset))
    machine.cpu = known->cpu;
  const NcclTopologyText text = nccl_topology(cluster->topology, machine);
  const std::string file = options.output.empty() ? "-" : options.output;
  write_file(file, terminal, [&](std::ostream& out) { out << text.xml; });
  if (terminal.quiet) return exit_fine;
  for (const std::string& changed : text.changed) terminal.err << "note: " << changed << '\n';
  if (file != "-")
    terminal.err << fmt::format("wrote {0}; NCCL reads it with NCCL_TOPO_FILE={0}\n", file);
  return exit_fine;
}

}  // namespace

Action declare_topo_export(Options& topo) {
  const auto options = std::make_shared<MachineExport>();
  Options& command =
      topo.command("export", "Writes one machine of a scenario as a file that NCCL reads.",
                   "collsim topo export --nccl-xml --preset dgx-h100 -o topo.xml\n"
                   "collsim topo export --nccl-xml case.json --set cluster.nic=200Gb/s");
  command.value("FILE", options->one_case.file, "FILE",
                "a scenario file; \"-\" reads standard input");
  command.flag("--nccl-xml", options->nccl_xml,
               "the format of NCCL_TOPO_FILE, which is the default and the only one");
  command.value("--preset", options->preset, "NAME", "a machine that collsim knows by name");
  command.value("--set", options->one_case.set, "PATH=VALUE",
                "override a scenario value (may be repeated)");
  command.value("-o,--output", options->output, "FILE", "file to write; default: standard output");
  return [options](Terminal& terminal) { return export_machine(*options, terminal); };
}

}  // namespace collsim
