// SPDX-License-Identifier: Apache-2.0
//
// The machine in the lines of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=GRAPH, in which every rank
// prints
//
//   host:pid:tid [0] NCCL INFO === System : maxBw 48.0 totalBw 370.8 ===
//   host:pid:tid [0] NCCL INFO CPU/0 (1/1/2)
//   host:pid:tid [0] NCCL INFO + PCI[48.0] - PCI/16000 (1000c0301000100b)
//   host:pid:tid [0] NCCL INFO               + PCI[48.0] - GPU/18000 (0)
//   host:pid:tid [0] NCCL INFO                             + NVL[370.8] - NVS/0
//   host:pid:tid [0] NCCL INFO + SYS[10.0] - CPU/1
//   host:pid:tid [0] NCCL INFO ==========================================
//   host:pid:tid [0] NCCL INFO GPU/18000 :GPU/18000 (0/5000.0/LOC) CPU/0 (2/24.0/PHB) ...
//
// (src/graph/topo.cc, paths.cc of NCCL).  What a line hangs on follows from where its + stands.  Of
// a tree that was cut the paths of the last kind of line give back GPUs that hang on a CPU
// directly.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "app/import/machine_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Cable = ImportedMachine::Cable;

constexpr std::string_view info = "NCCL INFO ";

// What one thread of one rank printed.
struct Printed {
  std::vector<std::string_view> lines;
};

// "+ PCI[48.0] - GPU/18000 (0)"
struct Branch {
  std::string_view type;  // of the link
  double gbs = 0;
  std::string_view node;  // "GPU/18000"
  std::string_view rest;  // "(0)"
};

bool is_node(std::string_view word) {
  const std::string_view kind = word.substr(0, word.find('/'));
  return word.find('/') != std::string_view::npos && word.size() > 4 &&
         (kind == "GPU" || kind == "CPU" || kind == "PCI" || kind == "NIC" || kind == "NET" ||
          kind == "NVS");
}

std::optional<Branch> branch_of(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 4 || words[0] != "+" || words[2] != "-" || !is_node(words[3]))
    return std::nullopt;
  const std::size_t open = words[1].find('[');
  if (open == std::string_view::npos || !words[1].ends_with(']')) return std::nullopt;
  const auto rate = decimal(words[1].substr(open + 1, words[1].size() - open - 2));
  constexpr double most = 1e6;
  if (!rate || *rate > most) return std::nullopt;
  return Branch{words[1].substr(0, open), *rate, words[3], words.size() > 4 ? words[4] : ""};
}

class GraphReader {
 public:
  std::optional<ImportedMachine> read(const Printed& printed);
  [[nodiscard]] std::size_t gpus() const { return gpus_; }

 private:
  void read_line(std::string_view line);
  void read_paths(const std::vector<std::string_view>& words);
  std::size_t device_of(std::string_view node);
  void join(std::size_t from, std::size_t to, std::string_view type, double gbs);
  void put_gpus_first();

  ImportedMachine machine_;
  std::map<std::string, std::size_t, std::less<>> nodes_;  // "GPU/18000" -> device
  std::map<std::size_t, int> ranks_;                       // device -> rank
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> cables_;
  std::vector<std::pair<std::size_t, std::size_t>> open_;  // where the + stood, device
  std::size_t gpus_ = 0;
};

std::size_t GraphReader::device_of(std::string_view node) {
  const auto known = nodes_.find(node);
  if (known != nodes_.end()) return known->second;
  const std::string_view kind = node.substr(0, 3);
  const NodeKind of = kind == "GPU"   ? NodeKind::gpu
                      : kind == "CPU" ? NodeKind::cpu
                      : kind == "NIC" ? NodeKind::nic
                                      : NodeKind::network_switch;
  const std::size_t device = machine_.devices.size();
  const std::string name = kind == "NVS" ? "nvswitch" : lower(kind) + std::string(node.substr(4));
  machine_.devices.push_back({free_name(machine_, name), of});
  nodes_.emplace(node, device);
  if (of == NodeKind::gpu) ++gpus_;
  return device;
}

void GraphReader::join(std::size_t from, std::size_t to, std::string_view type, double gbs) {
  if (from == to || gbs <= 0) return;
  const auto [known, is_new] = cables_.emplace(std::minmax(from, to), machine_.cables.size());
  if (!is_new) return;
  const NodeKind a = machine_.devices[from].kind, b = machine_.devices[to].kind;
  const bool joints =
      a != NodeKind::gpu && b != NodeKind::gpu && a != NodeKind::nic && b != NodeKind::nic;
  CableKind kind = joints ? CableKind::uplink : CableKind::pcie;
  if (type == "SYS" || type == "QPI") kind = CableKind::socket;
  if (type == "C2C") kind = CableKind::c2c;
  if (type == "NVL" || type == "XGMI")
    kind = a == NodeKind::gpu && b == NodeKind::gpu ? CableKind::nvlink : CableKind::nvswitch;
  machine_.cables.push_back({from, to, kind, gbs, 0});
}

void GraphReader::read_line(std::string_view line) {
  if (machine_.devices.size() > max_imported_devices) return;
  const auto words = words_of(line);
  if (words.empty()) return;
  if (words[0].starts_with("CPU/") && words.size() == 2 && words[1].starts_with('(')) {
    open_ = {{0, device_of(words[0])}};
    return;
  }
  if (words.size() > 2 && is_node(words[0]) && words[1].starts_with(':')) return read_paths(words);
  const auto branch = branch_of(line);
  if (!branch) return;
  const std::size_t column = line.find('+');
  // The CPU stands where its first branches do.
  while (open_.size() > 1 && open_.back().first >= column + 1) open_.pop_back();
  if (branch->type == "NET") {
    if (!open_.empty() && machine_.devices[open_.back().second].kind == NodeKind::nic)
      machine_.devices[open_.back().second].network_gbs += branch->gbs;
    return;
  }
  if (branch->node.starts_with("NET/")) return;
  const std::size_t device = device_of(branch->node);
  if (branch->node.starts_with("GPU/") && branch->type != "NVL" && branch->rest.size() > 2)
    if (const auto rank = small_number(branch->rest.substr(1, branch->rest.find(')') - 1)))
      ranks_[device] = *rank;
  if (!open_.empty()) join(open_.back().second, device, branch->type, branch->gbs);
  if (branch->type == "PCI" || branch->type == "LOC") open_.emplace_back(column + 1, device);
}

// "GPU/2A000 :GPU/2A000 (0/5000.0/LOC) CPU/0 (1/24.0/PHB)": hops, GB/s, kind.
void GraphReader::read_paths(const std::vector<std::string_view>& words) {
  if (!words[0].starts_with("GPU/")) return;
  const bool known = nodes_.contains(words[0]);
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    std::string_view node = words[i];
    if (node.starts_with(':')) node.remove_prefix(1);
    const std::string_view way = words[i + 1];
    if (known || !node.starts_with("CPU/") || !way.starts_with("(1/")) continue;
    const std::size_t end = way.find('/', 3);
    const auto rate = end == way.npos ? std::nullopt : decimal(way.substr(3, end - 3));
    if (rate) join(device_of(node), device_of(words[0]), "PCI", *rate);
  }
}

void GraphReader::put_gpus_first() {
  std::vector<std::size_t> order(machine_.devices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t device) {
    const auto rank = ranks_.find(device);
    const bool gpu = machine_.devices[device].kind == NodeKind::gpu;
    return std::pair(!gpu, rank == ranks_.end() ? -1 : rank->second);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> place(order.size());
  std::vector<ImportedMachine::Device> devices;
  for (const std::size_t device : order) {
    place[device] = devices.size();
    devices.push_back(std::move(machine_.devices[device]));
    if (devices.back().kind == NodeKind::gpu)
      devices.back().name = fmt::format("gpu{}", place[device]);
  }
  machine_.devices = std::move(devices);
  for (Cable& cable : machine_.cables) {
    cable.from = place[cable.from];
    cable.to = place[cable.to];
  }
}

std::optional<ImportedMachine> GraphReader::read(const Printed& printed) {
  machine_.format = "system graph in an NCCL log";
  for (const std::string_view line : printed.lines) read_line(line);
  if (gpus_ < 2 || machine_.devices.size() > max_imported_devices) return std::nullopt;
  put_gpus_first();
  tidy(machine_);
  return std::move(machine_);
}

// Every rank prints the same; the lines of several ranks run into each other in one file.
std::map<std::string_view, Printed> by_thread(std::string_view text) {
  std::map<std::string_view, Printed> threads;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t found = line.find(info);
    if (found == std::string_view::npos) continue;
    std::string_view who = line.substr(0, found);
    while (who.ends_with(' ')) who.remove_suffix(1);
    const std::size_t blank = who.substr(0, who.rfind('[')).find_last_not_of(' ');
    const std::size_t begin = who.substr(0, blank == who.npos ? 0 : blank).rfind(' ');
    if (begin != who.npos) who.remove_prefix(begin + 1);
    threads[who].lines.push_back(line.substr(found + info.size()));
  }
  return threads;
}

Refusal refuse_log(const MachineText& file, std::size_t most_gpus) {
  constexpr std::string_view how =
      "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH, or better with "
      "NCCL_TOPO_DUMP_FILE=topo.xml, and import that";
  if (most_gpus == 0)
    return file.refuse("no-machine",
                       "this NCCL log does not describe the machine: it has no system graph (\"=== "
                       "System\" and the lines below)",
                       std::string(how));
  return file.refuse("cut",
                     fmt::format("the system graph in this NCCL log is cut: it has {} only",
                                 count_text(most_gpus, "GPU")),
                     std::string(how));
}

}  // namespace

bool looks_like_nccl_log(std::string_view text) {
  return text.find(info) != std::string_view::npos;
}

std::optional<ImportedMachine> read_nccl_graph_log(const MachineText& file) {
  std::optional<ImportedMachine> best;
  std::size_t most_gpus = 0, parts = 0;
  for (const auto& [who, printed] : by_thread(file.text)) {
    GraphReader reader;
    std::optional<ImportedMachine> read = reader.read(printed);
    most_gpus = std::max(most_gpus, reader.gpus());
    const std::size_t size = read ? read->devices.size() + read->cables.size() : 0;
    if (size <= parts) continue;
    parts = size;
    best = std::move(read);
  }
  if (!best) return refuse_log(file, most_gpus);
  return best;
}

}  // namespace collsim
