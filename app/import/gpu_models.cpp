// SPDX-License-Identifier: Apache-2.0
#include "app/import/gpu_models.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using enum GpuWiring;

// Links per GPU and PCIe generations: NVIDIA's and AMD's data sheets.
constexpr GpuModel all_models[] = {
    {"P100", 60, mesh, 4, 18, 3, 100, "dgx-1-v100"},
    {"V100", 70, mesh, 6, 20, 3, 100, "dgx-1-v100"},
    {"V100-PCIe", 70, none, 0, 20, 3, 100, "pcie-gen3-8gpu-2s"},
    {"A100", 80, nvswitch, 12, 20, 4, 200, "dgx-a100"},
    {"A100-PCIe", 80, bridges, 12, 20, 4, 200, "a100-pcie"},
    {"A800", 80, nvswitch, 8, 20, 4, 200, "dgx-a100"},
    {"H100", 90, nvswitch, 18, 20.6, 5, 400, "dgx-h100"},
    {"H100-PCIe", 90, bridges, 12, 20.6, 5, 400, "pcie-gen5-8gpu-2s"},
    {"H200", 90, nvswitch, 18, 20.6, 5, 400, "hgx-h200"},
    {"H800", 90, nvswitch, 8, 20.6, 5, 400, "hgx-h800"},
    {"H20", 90, nvswitch, 18, 20.6, 5, 400, "hgx-h20"},
    {"GH200", 90, mesh, 18, 20.6, 5, 200, "gh200-quad"},
    {"B200", 100, nvswitch, 18, 40.1, 5, 400, "dgx-b200"},
    {"B300", 103, nvswitch, 18, 40.1, 6, 800, "dgx-b300"},
    {"GB200", 100, nvswitch, 18, 40.1, 5, 400, "gb200-nvl72"},
    {"GB300", 103, nvswitch, 18, 40.1, 6, 800, "gb300-nvl72"},
    {"RTX-2080Ti", 75, bridges, 2, 20, 3, 100, "rtx-2080ti"},
    {"RTX-3090", 86, bridges, 4, 12, 4, 100, "rtx-3090"},
    {"RTX-4090", 89, none, 0, 0, 4, 100, "rtx-4090"},
    {"L40S", 89, none, 0, 0, 4, 200, "l40s"},
    {"RTX-5090", 120, none, 0, 0, 5, 100, "rtx-5090"},
    {"RTX-PRO-6000", 120, none, 0, 0, 5, 400, "rtx-pro-6000"},
    {"MI50", 0, xgmi, 2, 24, 3, 100, "pcie-gen3-8gpu-2s"},
    {"MI100", 0, xgmi, 3, 24, 4, 100, "pcie-gen4-8gpu-2s"},
    {"MI250", 0, xgmi, 8, 36, 4, 200, "pcie-gen4-8gpu-2s"},
    {"MI300X", 0, xgmi, 7, 48, 5, 400, "mi300x"},
};

struct PciModel {
  std::uint32_t vendor, device;
  std::string_view name;
};
// The PCI ID repository, pci-ids.ucw.cz.
constexpr PciModel pci_models[] = {
    {0x10de, 0x15f9, "P100"},         {0x10de, 0x1db1, "V100"},
    {0x10de, 0x1db5, "V100"},         {0x10de, 0x1db4, "V100-PCIe"},
    {0x10de, 0x1db6, "V100-PCIe"},    {0x10de, 0x20b0, "A100"},
    {0x10de, 0x20b2, "A100"},         {0x10de, 0x20b5, "A100-PCIe"},
    {0x10de, 0x20f1, "A100-PCIe"},    {0x10de, 0x20f3, "A800"},
    {0x10de, 0x2330, "H100"},         {0x10de, 0x2331, "H100-PCIe"},
    {0x10de, 0x2335, "H200"},         {0x10de, 0x2324, "H800"},
    {0x10de, 0x2329, "H20"},          {0x10de, 0x2342, "GH200"},
    {0x10de, 0x2941, "GB200"},        {0x10de, 0x3182, "B300"},
    {0x10de, 0x31c2, "GB300"},        {0x10de, 0x1e04, "RTX-2080Ti"},
    {0x10de, 0x1e07, "RTX-2080Ti"},   {0x10de, 0x2bb5, "RTX-PRO-6000"},
    {0x10de, 0x2bb1, "RTX-PRO-6000"}, {0x10de, 0x2901, "B200"},
    {0x10de, 0x2204, "RTX-3090"},     {0x10de, 0x2684, "RTX-4090"},
    {0x10de, 0x26b9, "L40S"},         {0x10de, 0x2b85, "RTX-5090"},
    {0x1002, 0x66a1, "MI50"},         {0x1002, 0x738c, "MI100"},
    {0x1002, 0x7408, "MI250"},        {0x1002, 0x740c, "MI250"},
    {0x1002, 0x74a1, "MI300X"},
};

// 100 Mb/s per lane, by generation from 1.
constexpr std::array<int, 6> lane_rates{15, 30, 60, 120, 240, 480};

// "RTX-4090" is in "NVIDIA GeForce RTX 4090".
std::string letters_and_digits(std::string_view text) {
  std::string kept;
  for (const char c : lower(text))
    if (is_digit(c) || (c >= 'a' && c <= 'z')) kept += c;
  return kept;
}

}  // namespace

std::span<const GpuModel> gpu_models() {
  return all_models;
}

const GpuModel* find_gpu_model(std::string_view name) {
  for (const GpuModel& model : all_models)
    if (model.name == name) return &model;
  return nullptr;
}

const GpuModel* gpu_model_in(std::string_view device_name) {
  const std::string text = letters_and_digits(shortened(device_name, 200));
  const bool on_pcie = text.find("pcie") != std::string::npos;
  const GpuModel* longest = nullptr;
  for (const GpuModel& model : all_models) {
    std::string name = letters_and_digits(model.name);
    const bool of_pcie = name.ends_with("pcie");
    if (of_pcie) name.resize(name.size() - 4);
    if (text.find(name) == std::string::npos || (of_pcie && !on_pcie)) continue;
    if (longest == nullptr || model.name.size() > longest->name.size()) longest = &model;
  }
  return longest;
}

const GpuModel* gpu_model_of_pci(std::uint32_t vendor, std::uint32_t device) {
  for (const PciModel& known : pci_models)
    if (known.vendor == vendor && known.device == device) return find_gpu_model(known.name);
  return nullptr;
}

PciIds pci_ids_of(std::string_view model) {
  for (const PciModel& known : pci_models)
    if (known.name == model) return {known.vendor, known.device};
  return {};
}

const GpuModel* gpu_model_of_preset(std::string_view preset) {
  struct Known {
    std::string_view preset, model;
  };
  constexpr Known all[] = {{"dgx-1-v100", "V100"},
                           {"dgx-2", "V100"},
                           {"dgx-a100", "A100"},
                           {"p4d", "A100"},
                           {"a100-nvlink-pair", "A100"},
                           {"a100-pcie", "A100-PCIe"},
                           {"nvlink-pairs-4gpu", "A100-PCIe"},
                           {"dgx-h100", "H100"},
                           {"p5", "H100"},
                           {"a3-mega", "H100"},
                           {"hgx-h200", "H200"},
                           {"hgx-h20", "H20"},
                           {"hgx-h800", "H800"},
                           {"gh200-quad", "GH200"},
                           {"dgx-b200", "B200"},
                           {"dgx-b300", "B300"},
                           {"gb200-nvl72", "GB200"},
                           {"gb300-nvl72", "GB300"},
                           {"l40s", "L40S"},
                           {"rtx-2080ti", "RTX-2080Ti"},
                           {"rtx-3090", "RTX-3090"},
                           {"rtx-4090", "RTX-4090"},
                           {"rtx-4090-p2p", "RTX-4090"},
                           {"rtx-5090", "RTX-5090"},
                           {"rtx-5090-p2p", "RTX-5090"},
                           {"rtx-pro-6000", "RTX-PRO-6000"},
                           {"mi300x", "MI300X"}};
  for (const Known& known : all)
    if (known.preset == preset) return find_gpu_model(known.model);
  return nullptr;
}

double nvlink_gbs(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12;
  return sm >= 70 ? 20 : 18;
}

double xgmi_gbs(std::string_view gcn) {
  if (gcn.find("94") != std::string_view::npos || gcn.find("95") != std::string_view::npos)
    return 48;
  return gcn.find("910") != std::string_view::npos || gcn.find("90a") != std::string_view::npos
             ? 36
             : 24;
}

double pcie_gbs(int generation, int lanes) {
  const auto index = static_cast<std::size_t>(std::clamp(generation, 1, 6) - 1);
  return lane_rates[index] * lanes / 80.0;
}

int pcie_generation(std::string_view link_speed) {
  struct Spelling {
    std::string_view begins;
    int generation;
  };
  constexpr Spelling spellings[] = {{"2.5 ", 1},  {"5 ", 2},  {"5.0 ", 2},  {"8 ", 3},
                                    {"8.0 ", 3},  {"16 ", 4}, {"16.0 ", 4}, {"32 ", 5},
                                    {"32.0 ", 5}, {"64 ", 6}, {"64.0 ", 6}};
  for (const Spelling& spelling : spellings)
    if (link_speed.starts_with(spelling.begins)) return spelling.generation;
  return 0;
}

}  // namespace collsim
