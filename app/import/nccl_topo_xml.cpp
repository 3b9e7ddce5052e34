// SPDX-License-Identifier: Apache-2.0
//
// The machine as NCCL writes it to NCCL_TOPO_DUMP_FILE, and reads it from NCCL_TOPO_FILE; RCCL
// likewise.
//
//   system version="1"                                        RCCL: 2
//     cpu numaid arch vendor familyid modelid host_hash
//       pci busid class link_speed link_width vendor device   switches nest
//         gpu dev sm rank                                     RCCL: gcn
//           nvlink target count tclass                        RCCL: xgmi
//           c2c bw count
//         nic
//           net name speed guid
//       nic                                                   without a slot
//
// What that cannot hold collsim topo export writes as attributes that NCCL passes over: of system
// collsim_preset and collsim_network, of links and CPUs collsim_gbs and collsim_duplex.
//
// Many published files stop at pci: NCCL finds the GPUs and NICs in such slots by itself.  What is
// read here is read as NCCL means it (src/graph/topo.cc, xml.cc of NCCL 2.28), but spaces, line
// ends, an <?xml ?> line and elements that are unknown do no harm.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "app/import/gpu_models.hpp"
#include "app/import/machine_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Device = ImportedMachine::Device;
using Cable = ImportedMachine::Cable;

// As strtoll does with base 0: what comes behind the number is passed over.
std::int64_t whole(std::string_view text, std::int64_t otherwise, int base = 10) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return parsed.ec == std::errc{} ? value : otherwise;
}

std::string_view attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}
std::int64_t number(const pugi::xml_node& node, const char* name, std::int64_t otherwise) {
  return whole(attribute(node, name), otherwise);
}
std::uint32_t pci_id(const pugi::xml_node& node, const char* name) {
  return static_cast<std::uint32_t>(whole(attribute(node, name), 0, 16) & 0xffff);
}

// GB/s one way, where the format has no words for it.
std::optional<double> own_rate(const pugi::xml_node& link) {
  constexpr double most = 1e6;
  const std::optional<double> rate = decimal(attribute(link, "collsim_gbs"));
  return rate && *rate > 0 && *rate <= most ? rate : std::nullopt;
}

// The rate between two CPUs, GB/s (ncclTopoGetInterCpuBw).
double socket_gbs(const pugi::xml_node& cpu) {
  if (const auto rate = own_rate(cpu)) return *rate;
  const std::string_view arch = attribute(cpu, "arch"), vendor = attribute(cpu, "vendor");
  if (arch == "ppc64") return 32;
  if (arch == "arm64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  const std::int64_t model = number(cpu, "modelid", 0);
  if (vendor == "CentaurHauls" || vendor.find("hanghai") != std::string_view::npos)
    return model == 0x5b ? 9 : 6;
  if (vendor != "GenuineIntel") return 5000;
  if (model >= 0xcf) return 40;
  if (model >= 0x8f) return 22;
  return model >= 0x55 ? 10 : 6;
}

enum class Slot : std::uint8_t { bridge, gpu, nic, nvswitch };

Slot slot_of(const pugi::xml_node& pci) {
  if (pci.child("gpu")) return Slot::gpu;
  if (pci.child("nic")) return Slot::nic;
  const std::string_view kind = attribute(pci, "class");
  if (kind.starts_with("0x068000")) return Slot::nvswitch;
  if (kind.starts_with("0x03") || kind.starts_with("0x12")) return Slot::gpu;
  return kind.starts_with("0x02") ? Slot::nic : Slot::bridge;
}

// "0000:0c:00.1" without the function, which NCCL passes over.
std::string slot_name(std::string_view busid) {
  return lower(busid.substr(0, busid.rfind('.')));
}

// Network adapters whose rate is known by their ids, Mb/s.  PCI ID repository; AWS's EC2 guide.
int rate_of_adapter(std::uint32_t vendor, std::uint32_t device) {
  constexpr std::uint32_t mellanox = 0x15b3, amazon = 0x1d0f;
  if (vendor == amazon && (device == 0xefa0 || device == 0xefa1)) return 100'000;
  if (vendor != mellanox) return 0;
  if (device == 0x1013 || device == 0x1017 || device == 0x1019) return 100'000;
  if (device == 0x101b) return 200'000;
  return device == 0x1021 ? 400'000 : 0;
}

class TopologyReader {
 public:
  TopologyReader(const MachineText& file, const pugi::xml_node& system)
      : file_(file), system_(system) {}

  std::optional<ImportedMachine> read();

 private:
  struct FoundGpu {
    std::size_t device, cpu;
    pugi::xml_node pci, gpu;  // the second is null in files without it
    std::int64_t rank;
  };
  struct Open {  // an element whose children are still to be read
    pugi::xml_node node;
    std::size_t above, cpu;
  };

  [[nodiscard]] std::string_view at(const pugi::xml_node& node) const {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
    return file_.text.substr(std::min(offset, file_.text.size()),
                             std::string_view(node.name()).size());
  }
  bool read_tree();
  void read_children(const Open& open, std::vector<Open>& waiting);
  void read_pci(const pugi::xml_node& pci, const Open& open, std::vector<Open>& waiting);
  void read_nic(const pugi::xml_node& pci, const Open& open);
  void count_maker(const pugi::xml_node& nic);
  void read_nets(const pugi::xml_node& nic, Device& device);
  std::size_t add(std::string_view name, NodeKind kind);
  void add_slot(std::size_t device, std::size_t above, const pugi::xml_node& pci, CableKind kind);
  bool put_gpus_in_order();
  void read_links();
  void read_link(const FoundGpu& gpu, const pugi::xml_node& link);
  void connect(std::size_t from, std::size_t to, CableKind kind, int lanes, double each,
               std::optional<double> all = {});
  void read_c2c(const FoundGpu& gpu);
  void join_cpus();
  void guess_by_sm(int sm);
  void find_model();
  void find_surroundings();
  void tell_version();
  void note(std::string text) { machine_.notes.push_back(std::move(text)); }

  const MachineText& file_;
  pugi::xml_node system_;
  ImportedMachine machine_;
  std::vector<FoundGpu> gpus_;
  std::map<std::string, std::size_t> gpu_at_;                          // busid -> of gpus_
  std::map<std::pair<std::size_t, std::string>, std::size_t> nic_at_;  // switch, slot -> device
  std::vector<std::pair<std::size_t, pugi::xml_node>> cpus_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> links_;  // ends -> cable
  std::optional<std::size_t> nvswitch_;
  std::size_t nics_ = 0, efas_ = 0, gvnics_ = 0;
  std::size_t to_itself_ = 0, to_others_ = 0, merged_ = 0, by_class_ = 0;
};

std::size_t TopologyReader::add(std::string_view name, NodeKind kind) {
  machine_.devices.push_back({std::string(name), kind});
  return machine_.devices.size() - 1;
}

void TopologyReader::add_slot(std::size_t device, std::size_t above, const pugi::xml_node& pci,
                              CableKind kind) {
  constexpr int most_lanes = 32;
  const int generation = pcie_generation(attribute(pci, "link_speed"));
  const auto lanes =
      static_cast<int>(std::clamp<std::int64_t>(number(pci, "link_width", 0), 0, most_lanes));
  Cable cable{device, above, kind, 0, lanes};
  if (generation > 0) cable.gbs = pcie_gbs(generation, lanes > 0 ? lanes : 16);
  cable.gbs = own_rate(pci).value_or(cable.gbs);
  cable.half_duplex = attribute(pci, "collsim_duplex") == "half";
  machine_.cables.push_back(cable);
}

bool TopologyReader::read_tree() {
  std::vector<Open> waiting;
  for (const pugi::xml_node& cpu : system_.children("cpu")) {
    const std::size_t device = add("cpu" + std::to_string(cpus_.size()), NodeKind::cpu);
    cpus_.emplace_back(device, cpu);
    waiting.push_back({cpu, device, device});
    // Depth first, as the file lists them: GPUs without a rank are numbered so.
    while (!waiting.empty()) {
      const Open open = waiting.back();
      waiting.pop_back();
      read_children(open, waiting);
      if (machine_.devices.size() > max_imported_devices) break;
    }
    if (machine_.devices.size() <= max_imported_devices) continue;
    return file_.refuse("too-large",
                        fmt::format("the machine has more than {} devices", max_imported_devices));
  }
  return true;
}

void TopologyReader::read_children(const Open& open, std::vector<Open>& waiting) {
  std::vector<Open> below;
  for (const pugi::xml_node& child : open.node.children()) {
    const std::string_view name = child.name();
    if (name == "pci") read_pci(child, open, below);
    if (name != "nic" || open.above != open.cpu) continue;
    // A NIC without a slot: a virtual one, or a socket.
    const std::size_t nic = add("", NodeKind::nic);
    read_nets(child, machine_.devices[nic]);
    machine_.cables.push_back({nic, open.cpu, CableKind::pcie, 5000, 0});
  }
  waiting.insert(waiting.end(), below.rbegin(), below.rend());
}

void TopologyReader::read_pci(const pugi::xml_node& pci, const Open& open,
                              std::vector<Open>& waiting) {
  switch (slot_of(pci)) {
    case Slot::nvswitch: return;
    case Slot::nic: return read_nic(pci, open);
    case Slot::gpu: {
      const std::size_t device = add("", NodeKind::gpu);
      const pugi::xml_node gpu = pci.child("gpu");
      if (!gpu) ++by_class_;
      gpus_.push_back({device, open.cpu, pci, gpu, number(gpu, "rank", -1)});
      return add_slot(device, open.above, pci, CableKind::pcie);
    }
    case Slot::bridge: break;
  }
  const std::size_t device =
      add("pcie" + std::to_string(machine_.devices.size()), NodeKind::network_switch);
  add_slot(device, open.above, pci, CableKind::uplink);
  waiting.push_back({pci, device, open.cpu});
}

void TopologyReader::read_nic(const pugi::xml_node& pci, const Open& open) {
  const auto key = std::pair(open.above, slot_name(attribute(pci, "busid")));
  const auto [known, is_new] = nic_at_.emplace(key, machine_.devices.size());
  if (is_new) {
    add_slot(add("", NodeKind::nic), open.above, pci, CableKind::pcie);
  }
  Device& device = machine_.devices[known->second];
  count_maker(pci);
  if (pci.child("nic"))
    read_nets(pci.child("nic"), device);
  else
    device.network_gbs += rate_of_adapter(pci_id(pci, "vendor"), pci_id(pci, "device")) / 8000.0;
}

// EFA and gVNIC tell the kind of network; adapters of others carry InfiniBand as well as RoCE.
void TopologyReader::count_maker(const pugi::xml_node& nic) {
  constexpr std::uint32_t amazon = 0x1d0f, google = 0x1ae0, efa = 0xefa0;
  const std::uint32_t vendor = pci_id(nic, "vendor");
  ++nics_;
  if (vendor == amazon && (pci_id(nic, "device") & 0xfff0U) == efa) ++efas_;
  if (vendor == google) ++gvnics_;
}

// Ports of one adapter are one NIC with their rates added up, as NCCL merges them (since 2.23).
void TopologyReader::read_nets(const pugi::xml_node& nic, Device& device) {
  constexpr std::int64_t too_fast = 3'200'000, default_rate = 10'000;
  if (device.network_gbs > 0 || nic.child("net") != nic.last_child()) ++merged_;
  for (const pugi::xml_node& net : nic.children("net")) {
    std::int64_t rate = number(net, "speed", default_rate);
    if (rate <= 0) rate = default_rate;
    if (rate > too_fast) {
      note(fmt::format(
          "{} has speed=\"{}\" (in Mb/s), which is too fast to be true; read as {} Mb/s",
          printable(shortened(attribute(net, "name"), 20)), rate, rate / 1000));
      rate /= 1000;
    }
    device.network_gbs += static_cast<double>(std::min(rate, too_fast)) / 8000.0;
    if (device.name.empty()) device.name = attribute(net, "name");
  }
}

// GPUs first, by rank; those without one are not in the job when others have one.
bool TopologyReader::put_gpus_in_order() {
  const bool ranked =
      std::any_of(gpus_.begin(), gpus_.end(), [](const FoundGpu& gpu) { return gpu.rank >= 0; });
  const std::size_t all = gpus_.size();
  if (ranked) std::erase_if(gpus_, [](const FoundGpu& gpu) { return gpu.rank < 0; });
  if (gpus_.size() < all)
    note(fmt::format("left out: {} without a rank, as NCCL does",
                     count_text(all - gpus_.size(), "GPU")));
  std::stable_sort(gpus_.begin(), gpus_.end(),
                   [](const FoundGpu& a, const FoundGpu& b) { return a.rank < b.rank; });
  std::vector<std::size_t> order;
  for (const FoundGpu& gpu : gpus_) order.push_back(gpu.device);
  const std::size_t ranks = order.size();
  for (std::size_t i = 0; i < machine_.devices.size(); ++i)
    if (machine_.devices[i].kind != NodeKind::gpu) order.push_back(i);
  std::vector<std::size_t> place(machine_.devices.size(), order.size());
  std::vector<Device> devices;
  for (const std::size_t device : order) {
    place[device] = devices.size();
    devices.push_back(machine_.devices[device]);
  }
  machine_.devices.clear();
  std::size_t nics = 0;
  for (Device& device : devices) {
    if (device.kind == NodeKind::gpu) device.name = "gpu" + std::to_string(machine_.devices.size());
    if (device.kind == NodeKind::nic) {
      if (device.name.empty()) device.name = "nic" + std::to_string(nics);
      ++nics;
    }
    device.name = free_name(machine_, device.name);
    machine_.devices.push_back(std::move(device));
  }
  std::erase_if(machine_.cables,
                [&](const Cable& cable) { return place[cable.from] == order.size(); });
  for (Cable& cable : machine_.cables) {
    cable.from = place[cable.from];
    cable.to = place[cable.to];
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    gpus_[i].device = i;
    gpus_[i].cpu = place[gpus_[i].cpu];
    gpu_at_.emplace(lower(attribute(gpus_[i].pci, "busid")), i);
  }
  for (auto& [device, cpu] : cpus_) device = place[device];
  return ranks > 0;
}

// Each of two GPUs lists the links between them; a GPU's links to several NVSwitches add up.
void TopologyReader::connect(std::size_t from, std::size_t to, CableKind kind, int lanes,
                             double each, std::optional<double> all) {
  const bool adds_up = kind == CableKind::nvswitch;
  const auto [known, is_new] = links_.emplace(std::minmax(from, to), machine_.cables.size());
  if (is_new) machine_.cables.push_back({from, to, kind, 0, 0});
  Cable& cable = machine_.cables[known->second];
  cable.lanes = adds_up ? cable.lanes + lanes : std::max(cable.lanes, lanes);
  cable.gbs = all.value_or(each * cable.lanes);
}

void TopologyReader::read_link(const FoundGpu& gpu, const pugi::xml_node& link) {
  constexpr int most_links = 1000;
  const auto lanes =
      static_cast<int>(std::clamp<std::int64_t>(number(link, "count", 1), 0, most_links));
  if (lanes == 0) return;
  const bool xgmi = std::string_view(link.name()) == "xgmi";
  const double each = xgmi ? xgmi_gbs(attribute(gpu.gpu, "gcn"))
                           : nvlink_gbs(static_cast<int>(number(gpu.gpu, "sm", 0)));
  const std::string_view kind = attribute(link, "tclass");
  const auto peer = gpu_at_.find(lower(attribute(link, "target")));
  if (kind.starts_with("0x068001"))
    return connect(gpu.device, gpu.cpu, CableKind::c2c, lanes, each);
  if (peer != gpu_at_.end() && gpus_[peer->second].device != gpu.device)
    return connect(gpu.device, gpus_[peer->second].device,
                   xgmi ? CableKind::xgmi : CableKind::nvlink, lanes, each, own_rate(link));
  if (peer != gpu_at_.end()) {
    ++to_itself_;
    return;
  }
  if (kind.starts_with("0x03") || kind.starts_with("0x12")) {
    ++to_others_;
    return;
  }
  if (!nvswitch_) nvswitch_ = add(free_name(machine_, "nvswitch"), NodeKind::network_switch);
  connect(gpu.device, *nvswitch_, CableKind::nvswitch, lanes, each, own_rate(link));
}

void TopologyReader::read_c2c(const FoundGpu& gpu) {
  double rate = 0;
  constexpr std::int64_t most = 10'000'000;
  for (const pugi::xml_node& c2c : gpu.gpu.children("c2c"))
    rate += static_cast<double>(std::clamp<std::int64_t>(number(c2c, "bw", 0), 0, most)) *
            static_cast<double>(std::clamp<std::int64_t>(number(c2c, "count", 1), 0, 1000)) / 1000;
  if (rate > 0) machine_.cables.push_back({gpu.device, gpu.cpu, CableKind::c2c, rate, 0});
}

void TopologyReader::read_links() {
  for (const FoundGpu& gpu : gpus_) {
    for (const pugi::xml_node& link : gpu.gpu.children("nvlink")) read_link(gpu, link);
    for (const pugi::xml_node& link : gpu.gpu.children("xgmi")) read_link(gpu, link);
    read_c2c(gpu);
  }
  machine_.nvlinks_known = by_class_ == 0;
  if (to_itself_ > 0)
    note(
        fmt::format("passed over: {} whose target is the GPU itself; which GPUs they join "
                    "the file does not say",
                    count_text(to_itself_, "NVLink element")));
  if (to_others_ > 0)
    note(fmt::format("passed over: {} to GPUs that are not in the file",
                     count_text(to_others_, "link")));
}

void TopologyReader::join_cpus() {
  // Only CPUs that lead somewhere; the all-pairs links of empty ones are nothing but work.
  std::vector<bool> used(machine_.devices.size());
  for (const Cable& cable : machine_.cables) used[cable.from] = used[cable.to] = true;
  std::erase_if(cpus_, [&](const auto& cpu) { return !used[cpu.first]; });
  constexpr std::size_t most_joined = 128;
  if (cpus_.size() > most_joined) return note("the CPUs are not joined: they are too many");
  for (std::size_t i = 0; i < cpus_.size(); ++i)
    for (std::size_t j = i + 1; j < cpus_.size(); ++j) {
      const auto& [a, first] = cpus_[i];
      const auto& [b, second] = cpus_[j];
      if (attribute(first, "host_hash") == attribute(second, "host_hash"))
        machine_.cables.push_back(
            {a, b, CableKind::socket, std::min(socket_gbs(first), socket_gbs(second)), 0});
    }
}

// Of models that have the same compute capability the first that is wired so.
void TopologyReader::guess_by_sm(int sm) {
  const bool switched = nvswitch_.has_value(), arm = machine_.cpu == "arm";
  std::string others;
  for (const GpuModel& known : gpu_models()) {
    const bool has_arm = known.name.starts_with("G");
    const bool is_switched = known.wiring == GpuWiring::nvswitch;
    if (known.sm != sm || is_switched != switched || has_arm != arm) continue;
    if (machine_.gpu.empty())
      machine_.gpu = known.name;
    else
      others += (others.empty() ? "" : ", ") + std::string(known.name);
  }
  if (!others.empty())
    machine_.assumed.push_back(
        fmt::format("GPUs: {}, by sm=\"{}\", which {} have, too", machine_.gpu, sm, others));
}

// By the ids of the cards, else by what CUDA or ROCm call their architecture.
void TopologyReader::find_model() {
  const FoundGpu& first = gpus_.front();
  machine_.preset = attribute(system_, "collsim_preset");
  const GpuModel* model = machine_.preset.empty() ? gpu_model_of_pci(pci_id(first.pci, "vendor"),
                                                                     pci_id(first.pci, "device"))
                                                  : gpu_model_of_preset(machine_.preset);
  if (model != nullptr) machine_.gpu = model->name;
  if (model != nullptr || !machine_.preset.empty()) return;
  const std::string_view gcn = attribute(first.gpu, "gcn");
  if (gcn == "906") machine_.gpu = "MI50";
  if (gcn == "908") machine_.gpu = "MI100";
  if (gcn == "910" || gcn == "gfx90a") machine_.gpu = "MI250";
  if (gcn == "942" || gcn == "gfx942") machine_.gpu = "MI300X";
  if (!gcn.empty() || !first.gpu) return;
  guess_by_sm(static_cast<int>(number(first.gpu, "sm", 0)));
}

// What joins the nodes, and the CPUs.
void TopologyReader::find_surroundings() {
  machine_.network = attribute(system_, "collsim_network");
  if (efas_ > 0) machine_.nics = "efa";
  if (gvnics_ > 0 && gvnics_ == nics_) machine_.nics = "tcp";
  const pugi::xml_node cpu = system_.child("cpu");
  if (attribute(cpu, "arch") == "arm64") machine_.cpu = "arm";
  if (attribute(cpu, "vendor") == "GenuineIntel") machine_.cpu = "intel";
  if (attribute(cpu, "vendor") == "AuthenticAMD") machine_.cpu = "amd";
}

void TopologyReader::tell_version() {
  const std::string_view version = attribute(system_, "version");
  machine_.format = fmt::format("{} topology XML", version == "2" ? "RCCL" : "NCCL");
}

std::optional<ImportedMachine> TopologyReader::read() {
  const std::string_view version = attribute(system_, "version");
  if (!version.empty() && version != "1" && version != "2")
    return file_.wrong(at(system_), "unknown-version",
                       fmt::format("unknown version \"{}\" of NCCL's topology files",
                                   printable(shortened(version, 20))),
                       "NCCL writes version 1, RCCL version 2");
  if (const pugi::xml_node group = system_.child("group"))
    return file_.wrong(
        at(group), "other-format",
        "this is a mapping file of Hygon's DTK, with groups of alternative machines; it has no bus "
        "ids and no speeds",
        "dump the topology of one machine with NCCL_TOPO_DUMP_FILE");
  tell_version();
  if (!read_tree()) return std::nullopt;
  if (!put_gpus_in_order())
    return file_.wrong(at(system_), "no-gpu",
                       "the file has no GPU, neither a <gpu> nor a <pci> of "
                       "class 0x03",
                       "slots without a class are known only to the machine itself: dump the "
                       "topology there with NCCL_TOPO_DUMP_FILE");
  read_links();
  join_cpus();
  find_surroundings();
  find_model();
  if (merged_ > 0)
    note(fmt::format("{} with several ports counted as one NIC, the rates of its ports added up",
                     count_text(merged_, "adapter")));
  if (by_class_ > 0)
    note(fmt::format("{} by PCI class; the file has no <gpu> elements, numbered as listed",
                     count_text(by_class_, "GPU")));
  tidy(machine_);
  return std::move(machine_);
}

Refusal other_root(const MachineText& file, const pugi::xml_node& root, std::string_view at) {
  const std::string_view name = root.name();
  if (name == "graphs")
    return file.wrong(at, "other-format",
                      "this is an NCCL graph file: the rings and trees that NCCL chose, not the "
                      "machine",
                      "dump the machine with NCCL_TOPO_DUMP_FILE=topo.xml");
  if (name == "algo")
    return file.wrong(at, "other-format", "this is an algorithm of MSCCL, not a machine");
  return file.wrong(
      at, "other-format",
      fmt::format("<{}> is not the root of an NCCL topology file", printable(shortened(name, 30))),
      "it begins with <system version=\"1\">");
}

}  // namespace

bool looks_like_xml(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '<') return false;
  const std::string_view rest = text.substr(begin + 1);
  return rest.starts_with("!--") || rest.starts_with("?xml") || rest.starts_with("system") ||
         rest.starts_with("graphs") || rest.starts_with("algo") || rest.starts_with("cpu") ||
         rest.starts_with("trees");
}

std::optional<ImportedMachine> read_nccl_topo_xml(const MachineText& file) {
  const std::string_view text = file.text;
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  const auto at = [&](std::ptrdiff_t offset, std::size_t length) {
    const auto begin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    return text.substr(std::min(begin, text.size()), length);
  };
  if (!parsed) {
    const bool at_end = text.find('>', static_cast<std::size_t>(parsed.offset)) == text.npos;
    return file.wrong(at(parsed.offset, 1), "bad-xml",
                      fmt::format("this is not XML: {}", lower(parsed.description())),
                      at_end ? "perhaps the end of the file is missing" : "");
  }
  const pugi::xml_node root = document.document_element();
  if (std::string_view(root.name()) != "system")
    return other_root(file, root, at(root.offset_debug(), std::string_view(root.name()).size()));
  return TopologyReader(file, root).read();
}

}  // namespace collsim
