// SPDX-License-Identifier: Apache-2.0
//
// The tables of `rocm-smi --showtopo` and of `amd-smi topology`:
//
//   =========================== Weight between two GPUs ====    WEIGHT TABLE:
//          GPU0         GPU1                                     0000:05:00.0 0000:26:00.0
//   GPU0   0            15                           0000:05:00.0 0            15
//   GPU1   15           0                            0000:26:00.0 15           0
//
// A weight of 15 is a direct xGMI link, 30 a way over another GPU; 20 and more per segment is PCIe
// (rocm_smi.py).  rocm-smi also names NUMA nodes: "GPU[0] : (Topology) Numa Node: 0".
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/import/machine_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_amd_gpus = 128;
constexpr int one_xgmi_hop = 15;

bool is_weight_title(std::string_view line) {
  return line.find("Weight between two GPUs") != line.npos ||
         line.find("WEIGHT TABLE") != line.npos;
}
bool is_type_title(std::string_view line) {
  return line.find("Link Type between two GPUs") != line.npos ||
         line.find("LINK TYPE TABLE") != line.npos;
}

using Table = std::vector<std::vector<std::string_view>>;  // cells without the labels

// The table below line `at`.  Empty when it has no header or is wrong, which is reported.
Table read_table(const MachineText& file, const std::vector<std::string_view>& lines,
                 std::size_t at) {
  std::vector<std::string_view> labels;
  while (++at < lines.size() && labels.empty()) labels = words_of(lines[at]);
  if (labels.empty() || labels.size() > most_amd_gpus) return {};
  Table table;
  for (const std::string_view label : labels) {
    std::vector<std::string_view> words =
        at < lines.size() ? words_of(lines[at]) : std::vector<std::string_view>{};
    if (words.size() != labels.size() + 1 || words.front() != label) {
      file.wrong(at < lines.size() ? lines[at] : lines.back(), "cut",
                 fmt::format("the row of {} with {} should stand here",
                             printable(shortened(label, 20)), count_text(labels.size(), "cell")),
                 "paste the whole table");
      return {};
    }
    words.erase(words.begin());
    table.push_back(std::move(words));
    ++at;
  }
  return table;
}

// "GPU[3] : (Topology) Numa Node: 2"
std::map<std::size_t, int> numa_nodes(const std::vector<std::string_view>& lines) {
  std::map<std::size_t, int> nodes;
  for (const std::string_view line : lines) {
    constexpr std::string_view numa = "Numa Node:";
    const std::size_t at = line.find(numa);
    const auto words = words_of(line);
    if (at == line.npos || words.empty() || !words[0].ends_with(']')) continue;
    const auto gpu = number_behind(words[0].substr(0, words[0].size() - 1), "GPU[");
    const auto node = small_number(words.back());
    if (gpu && node) nodes.emplace(static_cast<std::size_t>(*gpu), *node);
  }
  return nodes;
}

void add_cpus(ImportedMachine& machine, std::size_t gpus, const std::map<std::size_t, int>& nodes) {
  std::map<int, std::size_t> cpus;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const auto node = nodes.find(gpu);
    const int at = node == nodes.end() ? 0 : node->second;
    const auto [cpu, is_new] = cpus.emplace(at, machine.devices.size());
    if (is_new) machine.devices.push_back({fmt::format("cpu{}", cpus.size() - 1), NodeKind::cpu});
    machine.cables.push_back({gpu, cpu->second, CableKind::pcie, 0, 16});
  }
  for (auto a = cpus.begin(); a != cpus.end(); ++a)
    for (auto b = cpus.begin(); b != a; ++b)
      machine.cables.push_back({b->second, a->second, CableKind::socket, 0, 0});
}

std::optional<ImportedMachine> machine_of_tables(const MachineText& file, const Table& weights,
                                                 const Table& types,
                                                 const std::map<std::size_t, int>& nodes) {
  ImportedMachine machine;
  machine.format = "rocm-smi or amd-smi topology";
  const std::size_t gpus = weights.size();
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    machine.devices.push_back({fmt::format("gpu{}", gpu), NodeKind::gpu});
  for (std::size_t a = 0; a < gpus; ++a)
    for (std::size_t b = a + 1; b < gpus; ++b) {
      const auto weight = small_number(weights[a][b]);
      if (!weight)
        return file.wrong(
            weights[a][b], "bad-cell",
            fmt::format("\"{}\" is not a weight", printable(shortened(weights[a][b], 20))),
            "weights are whole numbers");
      const bool xgmi = types.size() != gpus || types[a][b] == "XGMI";
      if (*weight == one_xgmi_hop && xgmi) machine.cables.push_back({a, b, CableKind::xgmi, 0, 1});
    }
  add_cpus(machine, gpus, nodes);
  if (nodes.empty())
    machine.assumed.push_back("CPUs: one; the tables do not name the NUMA nodes of the GPUs");
  machine.assumed.push_back("NICs: none; such tables do not list them");
  return machine;
}

}  // namespace

bool looks_like_amd_tables(std::string_view text) {
  return is_weight_title(text) || is_type_title(text) ||
         text.find("(Topology) Numa Node:") != text.npos || text.find("ACCESS TABLE:") != text.npos;
}

std::optional<ImportedMachine> read_amd_tables(const MachineText& file) {
  const auto lines = lines_of(file.text);
  Table weights, types;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (weights.empty() && is_weight_title(lines[i])) weights = read_table(file, lines, i);
    if (types.empty() && is_type_title(lines[i])) types = read_table(file, lines, i);
    if (!file.diagnostics->empty()) return std::nullopt;
  }
  if (weights.empty())
    return file.refuse("no-machine",
                       "these tables do not say how the GPUs are connected: there is no table of "
                       "weights",
                       "import all that rocm-smi --showtopo or amd-smi topology prints");
  return machine_of_tables(file, weights, types, numa_nodes(lines));
}

}  // namespace collsim
