// SPDX-License-Identifier: Apache-2.0
#include "app/output/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/import/gpu_models.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr double one_gb = 1e9;
constexpr std::string_view gcn = "gfx942";  // AMD's only GPUs among those of presets

// NCCL reads no file with more elements.
constexpr std::size_t most_elements = 256;

double gbs_of(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bytes_per_second()) / one_gb;
}

struct Slot {
  int generation = 5, lanes = 16;
  double off = 0;  // relative
};

// Full slots first, so that 12 GB/s is Gen3 x16 and not Gen4 x8.
Slot nearest_slot(double gbs) {
  constexpr double better = 1e-6;
  Slot best{5, 16, 1e9};
  for (const int lanes : {16, 8, 4, 2, 1})
    for (int generation = 1; generation <= 6; ++generation) {
      const double off = std::abs(pcie_gbs(generation, lanes) / gbs - 1);
      if (off < best.off - better) best = {generation, lanes, off};
    }
  return best;
}

constexpr std::array<std::string_view, 6> speeds{"2.5 GT/s PCIe",  "5.0 GT/s PCIe",
                                                 "8.0 GT/s PCIe",  "16.0 GT/s PCIe",
                                                 "32.0 GT/s PCIe", "64.0 GT/s PCIe"};

// What NCCL passes over.
std::string own_attributes(double gbs, double written, bool half_duplex) {
  constexpr double rounding = 1e-9;
  std::string text;
  if (std::abs(written / gbs - 1) > rounding) text += fmt::format(" collsim_gbs=\"{}\"", gbs);
  if (half_duplex) text += " collsim_duplex=\"half\"";
  return text;
}

// Of this maker, if it is known, the CPU whose link to others NCCL takes for the most nearly so
// fast.
std::string cpu_attributes(std::string_view maker, double socket_gbs) {
  struct Cpu {
    std::string_view maker;
    double gbs;
    std::string_view attributes;
  };
  constexpr Cpu cpus[] = {
      {"intel", 22, R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143")"},
      {"intel", 6, R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79")"},
      {"intel", 10, R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85")"},
      {"intel", 40, R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207")"},
      {"amd", 16, R"(arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49")"},
      {"arm", 6, R"(arch="arm64")"}};
  const Cpu* best = nullptr;
  const auto off = [&](const Cpu& cpu) {
    return socket_gbs > 0 ? std::abs(cpu.gbs / socket_gbs - 1) : 0;
  };
  for (const Cpu& cpu : cpus)
    if (maker.empty() ? cpu.maker != "arm" : cpu.maker == maker)
      if (best == nullptr || off(cpu) < off(*best)) best = &cpu;
  return std::string(best->attributes) +
         (socket_gbs > 0 ? own_attributes(socket_gbs, best->gbs, false) : "");
}

// Of NICs that only one kind of network has; else those of ConnectX-7.
std::string_view nic_ids(std::string_view network) {
  if (network == "efa") return R"(vendor="0x1d0f" device="0xefa1")";
  if (network == "tcp") return R"(vendor="0x1ae0" device="0x0042")";
  return R"(vendor="0x15b3" device="0x1021")";
}

class NcclWriter {
 public:
  NcclWriter(const Topology& topology, const ExportedMachine& machine);
  NcclTopologyText write();

 private:
  struct Cable {
    std::size_t from, to;
    double gbs;
    bool half_duplex;
  };
  struct Device {
    NodeKind kind;
    bool nvswitch = false;
    std::vector<std::size_t> cables;    // of PCIe, and between CPUs
    std::vector<std::size_t> nvlinks;   // to GPUs and NVSwitches
    std::vector<std::size_t> children;  // in the tree
    double up_gbs = 0;                  // to the parent
    bool up_half = false;               // that link's duplex
    bool placed = false;
    double network_gbs = 0;
    std::string busid;
  };

  void take_node();
  void find_nvswitches();
  void hang_on_cpus();
  void hang_the_rest();
  void grow_from(std::size_t root);
  std::size_t add_device(NodeKind kind, std::size_t parent, double gbs);
  void place(std::size_t device, std::size_t parent, const Cable& cable);
  void place(std::size_t device, std::size_t parent, double gbs);
  void number_buses();
  void choose_gpus();
  void write_cpus(std::string& xml);
  // With links of their own kind, and a name for their architecture.
  [[nodiscard]] bool is_amd() const { return model_ != nullptr && model_->sm == 0; }
  [[nodiscard]] double gbs_of_link() const { return is_amd() ? xgmi_gbs(gcn) : nvlink_gbs(sm_); }
  [[nodiscard]] std::string_view class_of(NodeKind kind) const;
  [[nodiscard]] std::string ids_of(NodeKind kind) const;
  void open_pci(std::string& xml, std::size_t device, std::size_t depth);
  void write_nvlinks(std::string& xml, std::size_t device, const std::string& indent);
  void write_device(std::string& xml, std::size_t device, std::size_t depth);
  [[nodiscard]] std::size_t other(std::size_t cable, std::size_t device) const {
    return cables_[cable].from == device ? cables_[cable].to : cables_[cable].from;
  }
  void change(std::string text) {
    if (std::find(result_.changed.begin(), result_.changed.end(), text) == result_.changed.end())
      result_.changed.push_back(std::move(text));
  }

  const Topology& topology_;
  const ExportedMachine& machine_;
  std::vector<Device> devices_;
  std::vector<Cable> cables_;
  std::vector<std::size_t> roots_;
  const GpuModel* model_;
  int sm_ = 80;
  std::map<std::size_t, int> rank_, nic_;
  NcclTopologyText result_;
};

NcclWriter::NcclWriter(const Topology& topology, const ExportedMachine& machine)
    : topology_(topology), machine_(machine), model_(gpu_model_of_preset(machine.preset)) {
  take_node();
  find_nvswitches();
}

// The devices of the first node come first, the network that joins the nodes is the last one.
void NcclWriter::take_node() {
  const std::vector<int>& dims = topology_.dims();
  const bool explicit_graph = topology_.shape() == "explicit";
  const auto nodes = explicit_graph && dims.size() == 2 ? static_cast<std::size_t>(dims[0]) : 1;
  if (!explicit_graph && topology_.shape() == "nodes")
    throw_error(ErrorCode::invalid_argument,
                "a topology file describes the devices of one machine, and the shape nodes has "
                "none; use a preset, or devices and links");
  const std::size_t all = topology_.node_count();
  const std::size_t own = nodes > 1 ? (all - 1) / nodes : all;
  for (std::size_t i = 0; i < own; ++i) devices_.push_back({topology_.kind(NodeId(i))});
  std::set<std::pair<std::size_t, std::size_t>> back;
  bool costs = false;
  for (const Link& link : topology_.links()) {
    const std::size_t from = link.from.index(), to = link.to.index();
    if (from >= own) continue;
    costs = costs || link.latency > Time{} || link.startup > Time{};
    if (to >= own) {
      devices_[from].network_gbs = gbs_of(link.bandwidth);
      continue;
    }
    if (link.half_duplex)
      change("half-duplex links are marked for collsim; NCCL takes them for full-duplex ones");
    if (from > to && topology_.links_between(link.to, link.from).size() > 0) continue;
    cables_.push_back({from, to, gbs_of(link.bandwidth), link.half_duplex});
  }
  if (costs) change("latencies and overheads are left out, which the format does not have");
  int rank = 0, nic = 0;
  for (std::size_t i = 0; i < own; ++i) {
    if (devices_[i].kind == NodeKind::gpu) rank_[i] = rank++;
    if (devices_[i].kind == NodeKind::nic) nic_[i] = nic++;
  }
}

void NcclWriter::find_nvswitches() {
  std::vector<bool> only_gpus(devices_.size(), true);
  for (const Cable& cable : cables_)
    for (const std::size_t end : {cable.from, cable.to})
      if (devices_[cable.from + cable.to - end].kind != NodeKind::gpu) only_gpus[end] = false;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    devices_[i].nvswitch = devices_[i].kind == NodeKind::network_switch && only_gpus[i];
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    Device& from = devices_[cables_[i].from];
    Device& to = devices_[cables_[i].to];
    const auto is_end = [](const Device& d) { return d.kind == NodeKind::gpu || d.nvswitch; };
    const bool nvlink = is_end(from) && is_end(to);
    (nvlink ? from.nvlinks : from.cables).push_back(i);
    (nvlink ? to.nvlinks : to.cables).push_back(i);
  }
}

void NcclWriter::place(std::size_t device, std::size_t parent, double gbs) {
  if (devices_[device].placed)
    throw_error(ErrorCode::invalid_argument,
                "the links between switches, CPUs, GPUs and NICs are no tree, and an NCCL topology "
                "file holds nothing else");
  devices_[device].placed = true;
  devices_[device].up_gbs = gbs;
  devices_[parent].children.push_back(device);
}

void NcclWriter::place(std::size_t device, std::size_t parent, const Cable& cable) {
  place(device, parent, cable.gbs);
  devices_[device].up_half = cable.half_duplex;
}

std::size_t NcclWriter::add_device(NodeKind kind, std::size_t parent, double gbs) {
  const std::size_t made = devices_.size();
  devices_.push_back({kind});
  if (kind == NodeKind::cpu) {
    devices_[made].placed = true;
    roots_.push_back(made);
  } else {
    place(made, parent, gbs);
  }
  return made;
}

// Everything below, except other CPUs; what hangs on a GPU or a NIC hangs on what that hangs on.
void NcclWriter::grow_from(std::size_t root) {
  std::deque<std::pair<std::size_t, std::size_t>> waiting{{root, root}};
  std::set<std::size_t> used;
  while (!waiting.empty()) {
    const auto [at, joint] = waiting.front();
    waiting.pop_front();
    const std::vector<std::size_t> cables = devices_[at].cables;
    for (const std::size_t cable : cables) {
      const std::size_t next = other(cable, at);
      const bool sockets =
          devices_[at].kind == NodeKind::cpu && devices_[next].kind == NodeKind::cpu;
      if (sockets || !used.insert(cable).second) continue;
      place(next, joint, cables_[cable]);
      const bool inner = devices_[next].kind == NodeKind::network_switch;
      waiting.emplace_back(next, inner ? next : joint);
    }
  }
}

void NcclWriter::hang_on_cpus() {
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].kind == NodeKind::cpu) {
      devices_[i].placed = true;
      roots_.push_back(i);
    }
  const std::vector<std::size_t> roots = roots_;
  for (const std::size_t root : roots) grow_from(root);
}

// Without a CPU: below one that is added, behind the switch that is there or one that is added too.
void NcclWriter::hang_the_rest() {
  constexpr double unknown_slot = 48;
  const auto cpu = [&] {
    if (!roots_.empty()) return roots_.front();
    change("one CPU was added, on which all PCIe hangs");
    return add_device(NodeKind::cpu, 0, 0);
  };
  const std::size_t own = devices_.size();
  for (const NodeKind kind : {NodeKind::network_switch, NodeKind::gpu, NodeKind::nic})
    for (std::size_t i = 0; i < own; ++i) {
      if (devices_[i].placed || devices_[i].nvswitch || devices_[i].kind != kind) continue;
      double gbs = 0;
      for (const std::size_t cable : devices_[i].cables) gbs = std::max(gbs, cables_[cable].gbs);
      if (kind == NodeKind::network_switch) {
        place(i, cpu(), gbs);
        grow_from(i);
        continue;
      }
      if (gbs == 0) {
        place(i, cpu(), unknown_slot);
        continue;
      }
      change("PCIe switches were added between GPUs and NICs that are linked directly");
      const std::size_t joint = add_device(NodeKind::network_switch, cpu(), gbs);
      place(i, joint, gbs);
      const std::vector<std::size_t> cables = devices_[i].cables;
      for (const std::size_t cable : cables) place(other(cable, i), joint, cables_[cable]);
    }
}

// The first GPUs whose NVLinks are as fast as these, with a whole number of them.
void NcclWriter::choose_gpus() {
  constexpr double exact = 1e-3;
  if (model_ != nullptr) {
    sm_ = model_->sm;
    return;
  }
  change("which GPUs these are is not known: their architecture is made up");
  double best = 1e9;
  for (const int sm : {90, 80, 100, 70, 60, 86}) {
    double worst = 0;
    for (const Device& device : devices_)
      for (const std::size_t cable : device.nvlinks) {
        const double links = std::max(1.0, std::round(cables_[cable].gbs / nvlink_gbs(sm)));
        worst = std::max(worst, std::abs(links * nvlink_gbs(sm) / cables_[cable].gbs - 1));
      }
    if (worst < best - exact) {
      best = worst;
      sm_ = sm;
    }
  }
}

void NcclWriter::number_buses() {
  std::size_t number = 0;
  for (Device& device : devices_) {
    ++number;
    device.busid = fmt::format("{:04x}:{:02x}:00.0", number / 256, number % 256);
  }
}

std::string_view NcclWriter::class_of(NodeKind kind) const {
  if (kind == NodeKind::gpu) return is_amd() ? "0x120000" : "0x030200";
  return kind == NodeKind::nic ? "0x020700" : "0x060400";
}

std::string NcclWriter::ids_of(NodeKind kind) const {
  if (kind == NodeKind::nic) return std::string(nic_ids(machine_.network));
  constexpr std::uint32_t nvidia = 0x10de;
  PciIds ids;
  if (kind == NodeKind::gpu) ids = model_ != nullptr ? pci_ids_of(model_->name) : PciIds{nvidia, 0};
  return fmt::format(R"(vendor="0x{:04x}" device="0x{:04x}")", ids.vendor, ids.device);
}

void NcclWriter::open_pci(std::string& xml, std::size_t number, std::size_t depth) {
  constexpr double noticeable = 0.01;
  const Device& device = devices_[number];
  const Slot slot = nearest_slot(device.up_gbs);
  if (slot.off > noticeable)
    change(fmt::format("PCIe of {:.4g} GB/s is written as Gen{} x{}, {:.4g} GB/s", device.up_gbs,
                       slot.generation, slot.lanes, pcie_gbs(slot.generation, slot.lanes)));
  xml += fmt::format(
      R"({:{}}<pci busid="{}" class="{}" {} )"
      R"(subsystem_vendor="0x0000" subsystem_device="0x0000" link_speed="{}" link_width="{}"{}>)"
      "\n",
      "", 2 * depth, device.busid, class_of(device.kind), ids_of(device.kind),
      speeds[static_cast<std::size_t>(slot.generation - 1)], slot.lanes,
      own_attributes(device.up_gbs, pcie_gbs(slot.generation, slot.lanes), device.up_half));
}

void NcclWriter::write_nvlinks(std::string& xml, std::size_t number, const std::string& indent) {
  constexpr double noticeable = 0.01;
  for (const std::size_t cable : devices_[number].nvlinks) {
    const double gbs = cables_[cable].gbs, each = gbs_of_link();
    const auto links = std::max<long long>(1, std::llround(gbs / each));
    const double written = each * static_cast<double>(links);
    if (std::abs(written / gbs - 1) > noticeable)
      change(is_amd()
                 ? fmt::format("xGMI of {:.4g} GB/s is written as {} of {}, {:.4g} GB/s", gbs,
                               links, gcn, written)
                 : fmt::format("NVLinks of {:.4g} GB/s are written as {} of sm_{}, {:.4g} GB/s",
                               gbs, links, sm_, written));
    const Device& peer = devices_[other(cable, number)];
    xml += fmt::format("{}<{} target=\"{}\" count=\"{}\" tclass=\"{}\"{}/>\n", indent,
                       is_amd() ? "xgmi" : "nvlink", peer.busid, links,
                       peer.nvswitch ? "0x068000" : class_of(NodeKind::gpu),
                       own_attributes(gbs, written, false));
  }
}

void NcclWriter::write_device(std::string& xml, std::size_t number, std::size_t depth) {
  constexpr double megabits = 8000;
  const Device& device = devices_[number];
  const std::string indent(2 * depth + 2, ' ');
  open_pci(xml, number, depth);
  if (device.kind == NodeKind::gpu) {
    const int rank = rank_.at(number);
    const std::string arch =
        is_amd() ? fmt::format(R"(sm="94" gcn="{}")", gcn) : fmt::format(R"(sm="{}")", sm_);
    xml += fmt::format("{0}<gpu dev=\"{1}\" {2} rank=\"{1}\" gdr=\"1\">\n", indent, rank, arch);
    write_nvlinks(xml, number, indent + "  ");
    xml += indent + "</gpu>\n";
  } else if (device.kind == NodeKind::nic) {
    const int nic = nic_.at(number);
    const double gbs = device.network_gbs > 0 ? device.network_gbs : device.up_gbs;
    if (device.network_gbs == 0) change("the rate of NICs without a network is that of their slot");
    xml += fmt::format(
        "{0}<nic>\n{0}  <net name=\"{1}\" dev=\"{2}\" speed=\"{3}\" port=\"1\" guid=\"0x{4:x}\" "
        "maxconn=\"131072\" gdr=\"1\"/>\n{0}</nic>\n",
        indent, "nic" + std::to_string(nic), nic, std::llround(gbs * megabits), nic + 1);
  }
}

// Depth first, without recursion: how deep a user's switches nest is unknown.
void NcclWriter::write_cpus(std::string& xml) {
  for (std::size_t root = 0; root < roots_.size(); ++root) {
    double socket = 0;
    for (const std::size_t cable : devices_[roots_[root]].cables)
      if (devices_[other(cable, roots_[root])].kind == NodeKind::cpu)
        socket = std::max(socket, cables_[cable].gbs);
    std::string affinity = "ffffffff";
    for (std::size_t word = 0; word < root % 32; ++word) affinity += ",00000000";
    xml += fmt::format("  <cpu numaid=\"{}\" affinity=\"{}\" {}>\n", root, affinity,
                       cpu_attributes(machine_.cpu, socket));
    struct Open {
      std::size_t device, next_child, depth;
    };
    std::vector<Open> open{{roots_[root], 0, 1}};
    while (!open.empty()) {
      Open& now = open.back();
      const std::vector<std::size_t>& children = devices_[now.device].children;
      if (now.next_child == children.size()) {
        const std::size_t depth = now.depth;
        open.pop_back();
        if (!open.empty()) xml += fmt::format("{:{}}</pci>\n", "", 2 * depth);
        continue;
      }
      const std::size_t child = children[now.next_child++];
      const std::size_t depth = now.depth + 1;
      write_device(xml, child, depth);
      open.push_back({child, 0, depth});
    }
    xml += "  </cpu>\n";
  }
}

NcclTopologyText NcclWriter::write() {
  hang_on_cpus();
  hang_the_rest();
  number_buses();
  choose_gpus();
  std::set<std::set<std::size_t>> switches;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i].nvswitch) continue;
    std::set<std::size_t> gpus;
    for (const std::size_t cable : devices_[i].nvlinks) gpus.insert(other(cable, i));
    switches.insert(std::move(gpus));
  }
  if (switches.size() > 1) change("NVSwitches that join different GPUs are one to NCCL");
  if (devices_.size() * 2 > most_elements)
    change(fmt::format("NCCL itself reads no more than {} elements of such a file", most_elements));
  result_.xml = fmt::format("<system version=\"{}\"", is_amd() ? 2 : 1);
  if (!machine_.preset.empty())
    result_.xml += fmt::format(" collsim_preset=\"{}\"", machine_.preset);
  if (!machine_.network.empty())
    result_.xml += fmt::format(" collsim_network=\"{}\"", machine_.network);
  result_.xml += ">\n";
  write_cpus(result_.xml);
  result_.xml += "</system>\n";
  return std::move(result_);
}

}  // namespace

NcclTopologyText nccl_topology(const Topology& topology, const ExportedMachine& machine) {
  return NcclWriter(topology, machine).write();
}

}  // namespace collsim
