// SPDX-License-Identifier: Apache-2.0
#include "app/import/imported_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/import/gpu_models.hpp"
#include "app/import/machine_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Device = ImportedMachine::Device;
using Cable = ImportedMachine::Cable;

bool is_slot(const Cable& cable) {
  return cable.kind == CableKind::pcie || cable.kind == CableKind::uplink;
}
bool is_nvlink(const Cable& cable) {
  return cable.kind == CableKind::nvlink || cable.kind == CableKind::nvswitch;
}

// One machine on its way to having all numbers.
class Completion {
 public:
  Completion(ImportedMachine& machine, const MachineAnswers& answers)
      : machine_(machine), answers_(answers) {}

  std::optional<MachineQuestion> run() {
    find_model();
    if (!machine_.nvlinks_known)
      if (auto question = add_nvlinks()) return question;
    rate_nvlinks();
    rate_slots();
    rate_sockets();
    rate_nics();
    leave_out_slow_nics();
    return std::nullopt;
  }

 private:
  void assume(std::string text) { machine_.assumed.push_back(std::move(text)); }

  [[nodiscard]] std::size_t gpus() const { return machine_.count(NodeKind::gpu); }
  [[nodiscard]] bool any(bool (*test)(const Cable&)) const {
    return std::any_of(machine_.cables.begin(), machine_.cables.end(), test);
  }

  void find_model() {
    if (!answers_.gpu.empty() && answers_.gpu != machine_.gpu) {
      machine_.gpu = answers_.gpu;
      machine_.preset.clear();
    }
    if (!answers_.network.empty()) machine_.network = answers_.network;
    if (machine_.gpu.empty()) guess_model();
    model_ = find_gpu_model(machine_.gpu);
  }

  // By the number of NVLinks, where their rate is not in the file.
  void guess_model() {
    if (guess_amd_model()) return;
    const auto unrated = [](const Cable& cable) { return is_nvlink(cable) && cable.gbs == 0; };
    int most = 0, fewest = 1000;
    bool switched = false;
    for (const Cable& cable : machine_.cables) {
      if (!unrated(cable)) continue;
      most = std::max(most, cable.lanes);
      fewest = std::min(fewest, cable.lanes);
      switched = switched || cable.kind == CableKind::nvswitch;
    }
    if (most == 0) return;
    struct Guess {
      std::string_view model, others;
    };
    Guess guess{"V100", "a P100 or RTX 2080 Ti"};
    if (switched && most >= 18)
      guess = {"H100", "an H200, H20, B200, B300 or GB200"};
    else if (most >= 12)
      guess = {"A100", "an H100 NVL"};
    else if (switched && most == 8)
      guess = {"A800", "an H800"};
    else if (switched)
      guess = {"V100", "another model"};
    else if (gpus() == 4 && fewest == 6)
      guess = {"H100", "a GH200"};
    else if (gpus() == 4 && fewest == 4)
      guess = {"A100", "an RTX 3090 or A6000"};
    else if (most == 4)
      guess = {"RTX-3090", "an A6000 or A40"};
    machine_.gpu = guess.model;
    assume(fmt::format("GPUs: {}, by the number of NVLinks; {} looks the same in such a file",
                       guess.model, guess.others));
  }

  bool guess_amd_model() {
    std::size_t links = 0;
    for (const Cable& cable : machine_.cables)
      if (cable.kind == CableKind::xgmi && cable.gbs == 0) ++links;
    if (links == 0) return false;
    const bool all_pairs = links * 2 == gpus() * (gpus() - 1) && gpus() > 4;
    machine_.gpu = all_pairs ? "MI300X" : "MI250";
    assume(fmt::format("GPUs: {}, by the wiring of their xGMI links", machine_.gpu));
    return true;
  }

  std::optional<MachineQuestion> add_nvlinks() {
    if (gpus() < 2) return std::nullopt;
    if (model_ == nullptr)
      return MachineQuestion{
          "the file does not say which GPUs these are, nor how NVLinks join them (NCCL asks the "
          "machine itself)",
          "say the model, such as H100, A100 or A100-PCIe"};
    if (model_->wiring == GpuWiring::mesh || model_->wiring == GpuWiring::xgmi)
      return MachineQuestion{
          fmt::format("the file does not say how the links of {} GPUs join them", model_->name),
          "import what nvidia-smi topo -m prints, or a file that NCCL_TOPO_DUMP_FILE wrote while "
          "a job ran"};
    if (model_->wiring != GpuWiring::nvswitch) {
      if (model_->wiring == GpuWiring::bridges)
        assume(fmt::format("NVLink bridges: none; the file would not show those of {} GPUs",
                           model_->name));
      return std::nullopt;
    }
    const std::size_t node = machine_.devices.size();
    machine_.devices.push_back({free_name(machine_, "nvswitch"), NodeKind::network_switch});
    for (std::size_t gpu = 0; gpu < node; ++gpu)
      if (machine_.devices[gpu].kind == NodeKind::gpu)
        machine_.cables.push_back({gpu, node, CableKind::nvswitch, 0, model_->links});
    assume(
        fmt::format("NVLinks: {} of every GPU into the NVSwitches, as {} GPUs have them; the "
                    "file lists PCIe only",
                    model_->links, model_->name));
    return std::nullopt;
  }

  void rate_nvlinks() {
    const bool told = !answers_.gpu.empty() && model_ != nullptr && model_->link_gbs > 0;
    for (Cable& cable : machine_.cables) {
      const bool of_model = is_nvlink(cable) || cable.kind == CableKind::xgmi;
      if (!of_model || (cable.gbs > 0 && !(told && cable.lanes > 0))) continue;
      if (cable.lanes == 0) cable.lanes = 1;
      const double each = model_ != nullptr && model_->link_gbs > 0 ? model_->link_gbs : 20;
      cable.gbs = each * cable.lanes;
    }
  }

  void rate_slots() {
    std::size_t unknown = 0;
    for (const Cable& cable : machine_.cables)
      if (is_slot(cable) && cable.gbs == 0) ++unknown;
    const int told = answers_.pcie_generation;
    const int by_model = model_ != nullptr ? model_->pcie_generation : 4;
    const int generation = told > 0 ? told : by_model;
    for (Cable& cable : machine_.cables) {
      if (!is_slot(cable) || (cable.gbs > 0 && told == 0)) continue;
      constexpr int full_slot = 16;
      cable.lanes = cable.lanes > 0 ? cable.lanes : full_slot;
      cable.gbs = pcie_gbs(generation, cable.lanes);
    }
    if (unknown > 0 && told == 0)
      assume(fmt::format("PCIe: Gen{} x16 ({:g} GB/s) where the file has no speed ({}), {}",
                         generation, pcie_gbs(generation, 16), count_text(unknown, "link"),
                         model_ != nullptr ? fmt::format("as {} GPUs have", model_->name)
                                           : "for want of a GPU model"));
  }

  // NCCL's rates between CPUs that come with GPUs of that time.
  void rate_sockets() {
    struct Rate {
      double gbs;
      std::string_view why;
    };
    const int generation = model_ != nullptr ? model_->pcie_generation : 4;
    const bool grace = machine_.gpu.starts_with("GH") || machine_.gpu.starts_with("GB");
    const Rate rate = grace             ? Rate{6, "ARM"}
                      : generation <= 3 ? Rate{10, "Intel's Skylake"}
                      : generation == 4 ? Rate{16, "AMD"}
                                        : Rate{22, "Intel's Sapphire Rapids"};
    std::size_t unknown = 0;
    for (Cable& cable : machine_.cables) {
      if (cable.kind != CableKind::socket || cable.gbs > 0) continue;
      cable.gbs = rate.gbs;
      ++unknown;
    }
    if (unknown > 0)
      assume(fmt::format("between CPUs: {:g} GB/s, as NCCL counts between {} CPUs", rate.gbs,
                         rate.why));
  }

  void rate_nics() {
    constexpr double gbit = 0.125;
    const int by_model = model_ != nullptr ? model_->nic_gbit : 100;
    std::size_t unknown = 0;
    for (Device& device : machine_.devices) {
      if (device.kind != NodeKind::nic) continue;
      if (answers_.network_gbs > 0) device.network_gbs = answers_.network_gbs;
      if (device.network_gbs > 0) continue;
      ++unknown;
      device.network_gbs = by_model * gbit;
    }
    if (unknown > 0)
      assume(fmt::format("network: {} Gb/s for {}, {}; the file has no rate", by_model,
                         unknown == 1 ? "the NIC" : fmt::format("each of {} NICs", unknown),
                         model_ != nullptr ? fmt::format("as is usual with {} GPUs", model_->name)
                                           : "for want of a GPU model"));
  }

  // NCCL builds its rings over the NICs with the best bandwidth.
  void leave_out_slow_nics() {
    double fastest = 0;
    for (const Device& device : machine_.devices)
      if (device.kind == NodeKind::nic) fastest = std::max(fastest, device.network_gbs);
    std::vector<bool> out(machine_.devices.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Device& device = machine_.devices[i];
      out[i] = device.kind == NodeKind::nic && device.network_gbs * 2 < fastest;
      if (out[i]) names.push_back(device.name);
    }
    if (names.empty()) return;
    machine_.notes.push_back(
        fmt::format("left out: {}, at less than half the rate of the fastest NIC", few_of(names)));
    std::vector<std::size_t> numbers(out.size());
    std::vector<Device> devices;
    for (std::size_t i = 0; i < out.size(); ++i) {
      numbers[i] = devices.size();
      if (!out[i]) devices.push_back(std::move(machine_.devices[i]));
    }
    std::erase_if(machine_.cables,
                  [&](const Cable& cable) { return out[cable.from] || out[cable.to]; });
    for (Cable& cable : machine_.cables) {
      cable.from = numbers[cable.from];
      cable.to = numbers[cable.to];
    }
    machine_.devices = std::move(devices);
    tidy(machine_);
  }

  ImportedMachine& machine_;
  const MachineAnswers& answers_;
  const GpuModel* model_ = nullptr;
};

bool read_fits(const ImportedMachine& machine, const MachineText& file) {
  if (machine.devices.size() <= max_imported_devices &&
      machine.cables.size() <= max_imported_cables)
    return true;
  return file.refuse("too-large",
                     fmt::format("the machine has {} and {}; at most {} and {} are read",
                                 count_text(machine.devices.size(), "device"),
                                 count_text(machine.cables.size(), "link"), max_imported_devices,
                                 max_imported_cables));
}

std::optional<ImportedMachine> read_by_format(const MachineText& file) {
  if (file.text.starts_with('{') && file.text.find("\"cluster\"") != std::string_view::npos)
    return file.refuse("no-machine", "this is a scenario, or a part of one",
                       "collsim run FILE simulates it; collsim topo import --help lists what other "
                       "tools write of machines");
  if (looks_like_xml(file.text)) return read_nccl_topo_xml(file);
  if (looks_like_nccl_log(file.text)) return read_nccl_graph_log(file);
  if (looks_like_p2p_bandwidth(file.text)) return read_p2p_bandwidth(file);
  if (looks_like_amd_tables(file.text)) return read_amd_tables(file);
  return read_smi_matrix(file);
}

}  // namespace

std::string_view to_string(CableKind kind) {
  switch (kind) {
    case CableKind::nvlink: return "NVLink";
    case CableKind::nvswitch: return "NVLink to NVSwitch";
    case CableKind::xgmi: return "xGMI";
    case CableKind::c2c: return "C2C";
    case CableKind::pcie: return "PCIe";
    case CableKind::uplink: return "PCIe uplink";
    case CableKind::socket: return "between CPUs";
    case CableKind::measured: return "measured";
  }
  return "";
}

std::size_t ImportedMachine::count(NodeKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(),
                    [kind](const Device& device) { return device.kind == kind; }));
}

std::optional<ImportedMachine> read_machine(std::string_view text, std::uint32_t source,
                                            Diagnostics& diagnostics) {
  Diagnostics mistakes;
  const MachineText file{text, source, &mistakes};
  std::optional<ImportedMachine> machine;
  if (text.size() <= max_imported_bytes)
    machine = read_by_format(file);
  else
    file.refuse("too-large", fmt::format("the file is larger than {} MiB, the limit",
                                         max_imported_bytes >> 20U));
  if (machine && !read_fits(*machine, file)) machine.reset();
  for (Diagnostic& mistake : mistakes.sorted()) diagnostics.add(std::move(mistake));
  return machine;
}

std::optional<MachineQuestion> complete(ImportedMachine& machine, const MachineAnswers& answers) {
  return Completion(machine, answers).run();
}

}  // namespace collsim
