// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/app/import/machine_text.hpp"
#include "tests/golden.hpp"

// Files of real machines, which are kept beside the checkout and not in it: in ../shared, or where
// COLLSIM_SHARED says.

namespace collsim {
namespace {

std::filesystem::path shared_folder() {
  const char* const told = std::getenv("COLLSIM_SHARED");
  return told != nullptr ? std::filesystem::path(told)
                         : std::filesystem::path(COLLSIM_SOURCE_DIR) / ".." / "shared";
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "8 A100, NICs 4 x 12.5, NVLink to NVSwitch 8 x 240, ...", "asks: ...", "refused: ..."
std::string in_one_line(const std::string& text) {
  MachineRead read = read_machine_text(text);
  if (!read.machine) {
    const std::string first = read.mistakes.substr(0, read.mistakes.find(" | "));
    return "refused at " + first;
  }
  ImportedMachine& machine = *read.machine;
  const auto question = complete(machine, {});
  if (question && complete(machine, {.gpu = "H100"})) return "asks in vain";
  std::string line = question ? "asks for the GPUs; with H100: " : "";
  line += fmt::format("{} {}", machine.count(NodeKind::gpu),
                      machine.gpu.empty() ? "GPUs" : machine.gpu);
  std::map<double, int> nics;
  for (const auto& device : machine.devices)
    if (device.kind == NodeKind::nic) ++nics[device.network_gbs];
  for (const auto& [rate, count] : nics) line += fmt::format(", NIC {} x {:g}", count, rate);
  std::map<std::pair<CableKind, double>, int> cables;
  for (const auto& cable : machine.cables) ++cables[{cable.kind, cable.gbs}];
  constexpr std::size_t most = 8;
  if (cables.size() > most) return line + fmt::format(", {} links", machine.cables.size());
  for (const auto& [what, count] : cables)
    line += fmt::format(", {} {} x {:.4g}", to_string(what.first), count, what.second);
  return line;
}

std::string all_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_folder() / folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string lines;
  for (const auto& file : files)
    lines += file.stem().string() + ": " + in_one_line(contents(file)) + "\n";
  return lines;
}

bool missing() {
  return !std::filesystem::is_directory(shared_folder() / "samples");
}
constexpr const char* why_skipped = "skipped: no ../shared/samples, and COLLSIM_SHARED names none";

TEST(MachineSamples, TopologyFilesOfNcclAreUnderstood) {
  if (missing()) GTEST_SKIP() << why_skipped;
  expect_text(
      all_in("samples/nccl_topo_xml"),
      R"(aws_p4d: 8 A100, NIC 4 x 12.5, NVLink to NVSwitch 8 x 240, PCIe 12 x 12, PCIe uplink 4 x 12, between CPUs 1 x 10
aws_p4de: 8 A100, NIC 4 x 12.5, NVLink to NVSwitch 8 x 240, PCIe 12 x 12, PCIe uplink 4 x 12, between CPUs 1 x 10
azure_ncv4_a100pcie: 4 A100-PCIe, NIC 1 x 12.5, PCIe 4 x 24, PCIe 1 x 5000, between CPUs 6 x 16
azure_ncv4_graph: refused at 1:2: this is an NCCL graph file: the rings and trees that NCCL chose, not the machine
azure_ndv4_a100: asks for the GPUs; with H100: 8 H100, NIC 8 x 50, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 24, PCIe uplink 4 x 24, between CPUs 6 x 16
azure_ndv5_h100: asks for the GPUs; with H100: 8 H100, NIC 8 x 50, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 48, PCIe uplink 8 x 48, between CPUs 1 x 22
msccl_graph_ncv4: refused at 1:2: this is an NCCL graph file: the rings and trees that NCCL chose, not the machine
oci_bm_gpu4_flat: asks for the GPUs; with H100: 8 H100, NIC 8 x 50, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 24, PCIe uplink 4 x 24, between CPUs 6 x 16
oci_h100: 8 H100, NIC 8 x 45, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 48, PCIe uplink 8 x 6, between CPUs 1 x 22
rccl_topo_16p1h_vm: 16 MI250, NIC 8 x 25, xGMI 16 x 36, xGMI 4 x 72, xGMI 8 x 144, PCIe 8 x 24, PCIe 16 x 48, between CPUs 6 x 16
rccl_topo_4p2h: 8 MI50, NIC 1 x 12.5, xGMI 8 x 24, PCIe 9 x 12, PCIe uplink 2 x 12
rccl_topo_8p1h_5: 8 MI250, NIC 8 x 25, xGMI 6 x 36, xGMI 2 x 72, xGMI 4 x 144, PCIe 16 x 24, PCIe uplink 10 x 24, between CPUs 1 x 16
rccl_topo_8p6l: 8 MI100, NIC 1 x 25, xGMI 24 x 24, PCIe 9 x 24, between CPUs 1 x 16
rccl_topo_8p_90a: 8 MI250, NIC 1 x 0.125, xGMI 12 x 36, PCIe 1 x 0.1875, PCIe 8 x 24
rccl_topo_8p_pcie_2nic: 8 MI50, NIC 2 x 12.5, PCIe 10 x 12, PCIe uplink 2 x 12
rccl_topo_8p_rome_n4_1: 8 MI100, NIC 1 x 25, xGMI 12 x 24, PCIe 9 x 24, between CPUs 21 x 16
superbench_dtk26_hygon_dcu: refused at 3:4: this is a mapping file of Hygon's DTK, with groups of alternative machines; it has no bus ids and no speeds
superbench_ndv4_a100: asks for the GPUs; with H100: 8 H100, NIC 8 x 50, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 24, PCIe uplink 4 x 24, between CPUs 6 x 16
superbench_ndv5_h100: asks for the GPUs; with H100: 8 H100, NIC 8 x 50, NVLink to NVSwitch 8 x 370.8, PCIe 16 x 48, PCIe uplink 8 x 48, between CPUs 1 x 22
)");
}

TEST(MachineSamples, MatricesAreUnderstood) {
  if (missing()) GTEST_SKIP() << why_skipped;
  expect_text(all_in("samples/topo_matrix"),
              R"(amdsmi_topology_mi300x: 8 MI300X, xGMI 28 x 48, PCIe 8 x 48
ascend910_npu_hccs: refused at 3:6: this is the matrix of Ascend NPUs (npu-smi info -t topo); the rates of their HCCS links are not known here
dlperf_v100_megatron: 8 V100, NIC 1 x 12.5, NVLink 8 x 20, NVLink 8 x 40, PCIe 9 x 12, PCIe uplink 1 x 12, between CPUs 1 x 10
dlperf_v100_mlx0: 8 V100, NIC 1 x 12.5, NVLink 8 x 20, NVLink 8 x 40, PCIe 9 x 12, PCIe uplink 1 x 12, between CPUs 1 x 10
dlperf_v100_second: 8 V100, NIC 1 x 12.5, NVLink 8 x 20, NVLink 8 x 40, PCIe 9 x 12, PCIe uplink 1 x 12, between CPUs 1 x 10
gh200_4_markdown_table: 4 GH200, NVLink 6 x 123.6, PCIe 4 x 48, between CPUs 6 x 6
iss_club3090_1229_5090_tabs: 2 GPUs, PCIe 2 x 24
iss_club3090_46_5gpu_4090: 5 GPUs, PCIe 5 x 24, between CPUs 1 x 16
iss_nccl_499_v100_nonic: 8 V100, NVLink 8 x 20, NVLink 8 x 40, PCIe 8 x 12, between CPUs 1 x 10
iss_nccl_933_a800_9nic_cut: 8 A800, NIC 8 x 25, NVLink to NVSwitch 8 x 160, PCIe 16 x 24, PCIe uplink 7 x 24, between CPUs 1 x 16
iss_rocmsmilib_108_mi_pcie: 4 GPUs, PCIe 4 x 24, between CPUs 6 x 16
iss_sglang_11208_gb200_numa_ranges_cut: 4 GB200, NIC 6 x 50, NVLink to NVSwitch 4 x 721.8, PCIe 10 x 48, between CPUs 1 x 6
llmaction_a800_8: 8 A800, NIC 4 x 25, NVLink to NVSwitch 8 x 160, PCIe 12 x 24, PCIe uplink 3 x 24, between CPUs 1 x 16
nccl_doc_p2p_8: refused at 2:19: this is what nvidia-smi topo -p2p prints: which pairs may access each other, not how they are connected
rocm_showtoponuma_mi300: refused at file: these tables do not say how the GPUs are connected: there is no table of weights
stas_2gpu_nv2: 2 V100, NVLink 1 x 40, PCIe 2 x 12
stas_a100_8: 8 A100, NVLink to NVSwitch 8 x 240, PCIe 8 x 24, between CPUs 1 x 16
stas_h100_8_wide: 8 H100, NVLink to NVSwitch 8 x 370.8, PCIe 8 x 48, between CPUs 1 x 22
stelline_wrx90_2gpu: 2 GPUs, NIC 2 x 12.5, PCIe 4 x 24, PCIe uplink 1 x 24
ucxpy_dgx1_4nic: 8 V100, NIC 4 x 12.5, NVLink 8 x 20, NVLink 8 x 40, PCIe 12 x 12, PCIe uplink 4 x 12, between CPUs 1 x 10
)");
}

TEST(MachineSamples, LogsOfNcclAreUnderstood) {
  if (missing()) GTEST_SKIP() << why_skipped;
  expect_text(
      all_in("samples/nccl_debug_logs"),
      R"(deepep_16rank_info_2node: refused at file: this NCCL log does not describe the machine: it has no system graph ("=== System" and the lines below)
iss_nccl_1189_h20_graph: refused at file: the system graph in this NCCL log is cut: it has 1 GPU only
iss_nccl_1358_3numa_paths_cut: 2 GPUs, NIC 1 x 12.5, PCIe 1 x 0.2, PCIe 2 x 24, between CPUs 3 x 10
iss_nccl_1453_tuning_interleaved_in_table: refused at file: this NCCL log does not describe the machine: it has no system graph ("=== System" and the lines below)
iss_nccl_1595_gradient_allreduce_tuning: refused at file: this NCCL log does not describe the machine: it has no system graph ("=== System" and the lines below)
iss_nccl_754_old_tuning_table_cut: refused at file: this NCCL log does not describe the machine: it has no system graph ("=== System" and the lines below)
tuning_2.29_broadcast_2rank: refused at file: this NCCL log does not describe the machine: it has no system graph ("=== System" and the lines below)
)");
}

TEST(MachineSamples, MeasuredBandwidthsAreUnderstood) {
  if (missing()) GTEST_SKIP() << why_skipped;
  expect_text(all_in("measured/p2p"), R"(a100_x8: 8 A100, measured 8 x 210.2
h100_x8: 8 H100, measured 8 x 384.8
rtx2080ti_autodl_x2: 2 RTX-2080Ti, measured 2 x 5.705
rtx4090_x8_patched: 8 RTX-4090, 36 links
rtxpro6000_5090_turin_x6: 6 RTX-PRO-6000, measured 6 x 55.61
rtxpro6000_cpayne_A_x8: 8 RTX-PRO-6000, measured 8 x 56.3
)");
}

}  // namespace
}  // namespace collsim
