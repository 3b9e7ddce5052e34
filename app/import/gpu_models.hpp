// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace collsim {

// How the NVLinks of GPUs of a model are usually wired.
enum class GpuWiring : std::uint8_t {
  none,      // PCIe only
  bridges,   // some pairs
  mesh,      // differently between pairs, or the same between all pairs of few GPUs
  nvswitch,  // all of them into switches
  xgmi       // AMD
};

// What a model of GPU says about a machine when a file does not.
struct GpuModel {
  std::string_view name;  // "H100"
  int sm = 0;             // CUDA's compute capability, 90; 0: AMD
  GpuWiring wiring = GpuWiring::none;
  int links = 0;        // NVLinks of one GPU
  double link_gbs = 0;  // of one NVLink or xGMI link one way, as NCCL and RCCL count it
  int pcie_generation = 4;
  int nic_gbit = 0;         // of the NIC that usually comes with it, Gb/s
  std::string_view preset;  // the machine of scenarios/presets/ nearest to it
};
[[nodiscard]] std::span<const GpuModel> gpu_models();
// Null when there is none of that name.
[[nodiscard]] const GpuModel* find_gpu_model(std::string_view name);
// The model in a device's name ("NVIDIA H100 80GB HBM3"); null when none is known.
[[nodiscard]] const GpuModel* gpu_model_in(std::string_view device_name);
// By the ids of a PCI device, NVIDIA's are 0x10de; null when unknown.
[[nodiscard]] const GpuModel* gpu_model_of_pci(std::uint32_t vendor, std::uint32_t device);
// The ids of the first card of a model; zeros when none is known.
struct PciIds {
  std::uint32_t vendor = 0, device = 0;
};
[[nodiscard]] PciIds pci_ids_of(std::string_view model);
// The GPUs of a preset; null when it does not say which they are.
[[nodiscard]] const GpuModel* gpu_model_of_preset(std::string_view preset);

// Rates that NCCL counts with, GB/s one way (NCCL 2.28: src/graph/topo.h, topo.cc).
[[nodiscard]] double nvlink_gbs(int sm);                   // of one NVLink
[[nodiscard]] double xgmi_gbs(std::string_view gcn);       // of one link (RCCL); "910", "gfx942"
[[nodiscard]] double pcie_gbs(int generation, int lanes);  // 3: 12 for 16 lanes
// The generation of a "link_speed": "16 GT/s", "16.0 GT/s PCIe"; 0 when it is none.
[[nodiscard]] int pcie_generation(std::string_view link_speed);

}  // namespace collsim
