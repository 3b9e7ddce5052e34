// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "app/commands/machine_option.hpp"
#include "app/commands/topo_internal.hpp"
#include "app/import/imported_machine.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/imported.hpp"
#include "app/scenario/cluster/names.hpp"
#include "app/scenario/fitted.hpp"

namespace collsim {
namespace {

using MachineDevice = ImportedMachine::Device;
using MachineCable = ImportedMachine::Cable;

struct MachineImport {
  std::string file, output, gpu, nic, pcie, network;
};

MachineAnswers answers_of(const MachineImport& options) {
  MachineAnswers answers;
  if (!options.gpu.empty()) {
    const auto model = gpu_words().canonical(options.gpu);
    if (!model)
      throw UsageError("--gpu: there is no model" + did_you_mean(options.gpu, gpu_words().allowed));
    answers.gpu = *model;
  }
  if (!options.nic.empty()) {
    const auto rate = parse_bandwidth(options.nic);
    if (!rate.value)
      throw UsageError(
          fmt::format("--nic {}: {}; {}", options.nic, rate.error.message, rate.error.hint));
    answers.network_gbs = static_cast<double>(rate.value->bytes_per_second()) / 1e9;
  }
  answers.network = options.network;
  if (!options.pcie.empty()) answers.pcie_generation = pcie_generation_of(options.pcie);
  return answers;
}

std::string in_words_of(const ImportedMachine& machine, NodeKind kind) {
  std::vector<std::string> names;
  for (const MachineDevice& device : machine.devices)
    if (device.kind == kind) names.push_back(device.name);
  return names.empty() ? "none" : fmt::format("{:<4}  {}", names.size(), in_words(names));
}

std::string nics_in_words(const ImportedMachine& machine) {
  std::map<double, std::size_t> rates;
  for (const MachineDevice& device : machine.devices)
    if (device.kind == NodeKind::nic) ++rates[device.network_gbs];
  std::string text = in_words_of(machine, NodeKind::nic);
  for (const auto& [rate, count] : rates)
    text += rate == 0           ? ", no rate in the file"
            : rates.size() == 1 ? fmt::format(", {:g} Gb/s each", rate * 8)
                                : fmt::format(", {} of {:g} Gb/s", count, rate * 8);
  return text;
}

// What the rate of a link is made of.
std::string parts_in_words(CableKind kind, double rate, int lanes) {
  const bool bundle =
      kind == CableKind::nvlink || kind == CableKind::nvswitch || kind == CableKind::xgmi;
  if (lanes == 0) return "";
  if (!bundle) return fmt::format(", {} lane{}", lanes, lanes == 1 ? "" : "s");
  return fmt::format(", {} link{} of {:.4g} GB/s", lanes, lanes == 1 ? "" : "s", rate / lanes);
}

// Kind, how many, the rate of each; of many rates only the least and the greatest.
std::string links_in_words(const ImportedMachine& machine) {
  constexpr std::size_t most_rates = 6;
  struct Alike {
    std::map<std::pair<double, int>, std::size_t> counts;  // by rate and lanes
    std::size_t all = 0;
  };
  std::map<CableKind, Alike> kinds;
  for (const MachineCable& cable : machine.cables) {
    Alike& alike = kinds[cable.kind];
    ++alike.counts[{-cable.gbs, cable.lanes}];
    ++alike.all;
  }
  std::string text;
  for (const auto& [kind, alike] : kinds) {
    if (alike.counts.size() > most_rates) {
      text += fmt::format("  {:>4} x  {:.4g} to {:.4g} GB/s  {}\n", alike.all,
                          -alike.counts.rbegin()->first.first, -alike.counts.begin()->first.first,
                          to_string(kind));
      continue;
    }
    for (const auto& [what, count] : alike.counts) {
      const std::string rate =
          what.first == 0 ? "no rate" : fmt::format("{:.4g} GB/s", -what.first);
      text += fmt::format("  {:>4} x  {:>11}  {}{}\n", count, rate, to_string(kind),
                          parts_in_words(kind, -what.first, what.second));
    }
  }
  return text;
}

std::string understood(const ImportedMachine& machine) {
  std::string text = machine.format + '\n';
  const std::string model = machine.gpu.empty() ? "" : ", " + machine.gpu;
  text += fmt::format("  GPUs      {}{}\n", in_words_of(machine, NodeKind::gpu), model);
  text += fmt::format("  NICs      {}\n", nics_in_words(machine));
  text += fmt::format("  switches  {}\n", in_words_of(machine, NodeKind::network_switch));
  text += fmt::format("  CPUs      {}\n", in_words_of(machine, NodeKind::cpu));
  text += "links, each direction\n" + links_in_words(machine);
  for (const std::string& note : machine.notes) text += "note: " + note + '\n';
  for (const std::string& assumed : machine.assumed) text += "assumed: " + assumed + '\n';
  return text;
}

JsonValue fragment(const ImportedMachine& machine, const std::string& file) {
  JsonValue document = JsonValue::object();
  JsonValue notes = JsonValue::array();
  notes.items().emplace_back(fmt::format("imported from {} ({})", file, machine.format));
  for (const std::string& note : machine.notes) notes.items().emplace_back(note);
  for (const std::string& assumed : machine.assumed)
    notes.items().emplace_back("assumed: " + assumed);
  document.set("notes", std::move(notes));
  document.set("cluster", cluster_value(machine));
  JsonValue model = JsonValue::object();
  if (const JsonValue* const costs = model_value(machine)) model = *costs;
  if (JsonValue graph = to_value(nccl_graph_of(machine)); !graph.members().empty())
    model.set("nccl_graph", std::move(graph));
  document.set("model", std::move(model));
  return document;
}

int import_machine(const MachineImport& options, Terminal& terminal) {
  const MachineAnswers answers = answers_of(options);
  Sources sources;
  Diagnostics diagnostics;
  const auto source = read_source(options.file, sources, diagnostics, {}, max_imported_bytes);
  auto machine = source ? read_machine(sources.text(*source), *source, diagnostics) : std::nullopt;
  if (!machine) return show_mistakes(diagnostics, sources, terminal);
  const auto question = complete(*machine, answers);
  if (!question) note_latencies(*machine);
  const bool file_is_the_output = options.output == "-";
  const bool is_heard = options.output.empty() || !terminal.quiet;
  if (!file_is_the_output && is_heard) terminal.out << understood(*machine);
  if (question)
    throw UsageError(fmt::format("{}: {}\n  --gpu MODEL: {}", sources.name(*source),
                                 question->message, question->hint));
  if (options.output.empty()) return exit_fine;
  const std::string text = to_pretty_json(fragment(*machine, sources.name(*source))) + '\n';
  write_file(options.output, terminal, [&](std::ostream& out) { out << text; });
  if (!terminal.quiet && !file_is_the_output)
    terminal.err << fmt::format(
        "wrote {0}; use it in a scenario beside it: \"include\": [\"{0}\"]\n", options.output);
  return exit_fine;
}

}  // namespace

Action declare_topo_import(Options& topo) {
  const auto options = std::make_shared<MachineImport>();
  Options& command = topo.command(
      "import", "Reads a real machine from a file, says what it understood, writes a cluster.",
      "collsim topo import topo.xml                       # NCCL_TOPO_DUMP_FILE=topo.xml\n"
      "collsim topo import scenarios/tuner/four-gpu-box.txt --gpu RTX-4090 --nic 100Gb/s\n"
      "collsim topo import matrix.txt --gpu H100 -o machine.json\n"
      "nvidia-smi topo -m | collsim topo import - --gpu A100");
  command
      .value("FILE", options->file, "FILE",
             "what NCCL_TOPO_DUMP_FILE wrote, or nvidia-smi topo -m, NCCL_DEBUG=INFO with "
             "NCCL_DEBUG_SUBSYS=GRAPH, rocm-smi --showtopo, amd-smi topology, "
             "p2pBandwidthLatencyTest or nvbandwidth printed; \"-\" reads standard input")
      .required = true;
  command.value("--gpu", options->gpu, "MODEL", "the GPUs, when the file does not say: H100");
  command.value("--nic", options->nic, "RATE", "the rate of every NIC: 400Gb/s");
  word_option(command, "--pcie", options->pcie, pcie_words(), "the generation of all PCIe");
  word_option(command, "--network", options->network, network_words(),
              "the kind of network that joins such machines");
  command.value("-o,--output", options->output, "FILE",
                "write a cluster that scenarios can include, such as machine.json");
  return [options](Terminal& terminal) { return import_machine(*options, terminal); };
}

}  // namespace collsim
