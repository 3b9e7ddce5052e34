// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/app/import/machine_text.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

// Logs of NCCL, bandwidth tests, AMD's tools.

namespace collsim {
namespace {

std::string logged(const std::string& who, const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    text += who + " NCCL INFO " + lines.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return text;
}

constexpr const char* graph =
    "=== System : maxBw 48.0 totalBw 370.8 ===\n"
    "CPU/0 (1/1/2)\n"
    "+ PCI[48.0] - PCI/16000 (1000c0301000100b)\n"
    "              + PCI[48.0] - GPU/18000 (1)\n"
    "                            + NVL[370.8] - NVS/0\n"
    "              + PCI[48.0] - NIC/19000\n"
    "                            + NET[50.0] - NET/3 (aa24210003bd70c4/1/50.000000)\n"
    "+ PCI[24.0] - GPU/26000 (0)\n"
    "              + NVL[370.8] - NVS/0\n"
    "+ SYS[10.0] - CPU/1\n"
    "CPU/1 (1/1/2)\n"
    "+ SYS[10.0] - CPU/0\n"
    "+ PCI[24.0] - GPU/30000 (2)\n"
    "==========================================\n";

constexpr const char* graph_machine = R"(system graph in an NCCL log: -
gpu0 gpu1 gpu2 cpu0 pci16000 nvswitch nic19000(50) cpu1
cpu0 pci16000 PCIe uplink 48 x0
pci16000 gpu1 PCIe 48 x0
gpu1 nvswitch NVLink to NVSwitch 370.8 x0
pci16000 nic19000 PCIe 48 x0
cpu0 gpu0 PCIe 24 x0
gpu0 nvswitch NVLink to NVSwitch 370.8 x0
cpu0 cpu1 between CPUs 10 x0
cpu1 gpu2 PCIe 24 x0
)";

TEST(NcclGraphLog, IsTheTreeThatNcclPrints) {
  EXPECT_EQ(machine_in(logged("host:1:2 [0]", graph)), graph_machine);
}

TEST(NcclGraphLog, LinesOfSeveralRanksMayRunIntoEachOther) {
  const std::string one = logged("[1,0]<stdout>: host:1:2 [0]", graph);
  const std::string other = logged("[1,1]<stdout>: host:3:4 [1]", graph);
  std::string mixed;
  std::size_t a = 0, b = 0;
  while (a < one.size()) {
    const std::size_t end_a = one.find('\n', a) + 1, end_b = other.find('\n', b) + 1;
    mixed += one.substr(a, end_a - a) + "  8192  2048  float sum -1\n" + other.substr(b, end_b - b);
    a = end_a;
    b = end_b;
  }
  EXPECT_EQ(machine_in(mixed), graph_machine);
}

TEST(NcclGraphLog, PathsGiveBackWhatACutTook) {
  const std::string read = machine_in(logged("host:1:2 [0]",
                                             "+ SYS[10.0] - CPU/2\n"
                                             "CPU/2 (1/1/2)\n"
                                             "+ PCI[24.0] - GPU/AB000 (1)\n"
                                             "+ SYS[10.0] - CPU/0\n"
                                             "GPU/2A000 :GPU/2A000 (0/5000.000000/LOC) GPU/AB000 "
                                             "(3/10.000000/SYS) CPU/0 (1/12.000000/PHB)\n"));
  expect_text(read, R"(system graph in an NCCL log: -
gpu0 gpu1 cpu2 cpu0
cpu2 gpu1 PCIe 24 x0
cpu2 cpu0 between CPUs 10 x0
cpu0 gpu0 PCIe 12 x0
)");
}

TEST(NcclGraphLog, SaysWhatALogLacks) {
  const auto mistake = [](const std::string& text) {
    return read_machine_text(logged("host:1:2 [0]", text)).mistakes;
  };
  expect_contains(mistake("NET/IB : Using [0]mlx5_0:1/RoCE\n"),
                  "file: this NCCL log does not describe the machine: it has no system graph");
  expect_contains(mistake("CPU/0 (1/1/2)\n+ PCI[48.0] - GPU/18000 (0)\n"),
                  "file: the system graph in this NCCL log is cut: it has 1 GPU only");
}

std::string p2p_test(double across, double both) {
  return fmt::format(
      "Device: 0, NVIDIA GeForce RTX 4090, pciBusID: 1, pciDeviceID: 0\n"
      "P2P Connectivity Matrix\n     D\\D     0     1     2\n     0\t     1     1     1\n"
      "     1\t     1     1     1\n     2\t     1     1     1\n"
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n"
      "   D\\D     0      1      2 \n     0 910.1   9.5   9.4\n     1   9.5 910.2   9.4 \n"
      "     2   9.4   9.4 910.2 \n"
      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
      "   D\\D     0      1      2 \n     0 910.1  25.5   {0}\n     1  25.5 910.2   {0} \n"
      "     2   {0}   {0} 910.2 \n"
      "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
      "   D\\D     0      1      2 \n     0 910.1  {1}   {1}\n     1  {1} 910.2   {1} \n"
      "     2   {1}   {1} 910.2 \n"
      "P2P=Enabled Latency (P2P Writes) Matrix (us)\n"
      "   GPU     0      1      2 \n     0   1.4   0.9   1.0 \n     1   0.9   1.4   1.0\n     2 1 "
      "1 1\n",
      across, both);
}

TEST(P2pBandwidth, PairsThatAreAlikeHangOnASwitch) {
  expect_text(machine_in(p2p_test(25.1, 51.0)), R"(measured bandwidths between GPUs: RTX-4090
gpu0 gpu1 gpu2 switch0
gpu0 switch0 measured 25.1 x0
gpu1 switch0 measured 25.1 x0
gpu2 switch0 measured 25.1 x0
note: taken: one direction, with P2P where there is P2P
note: all pairs are alike, 25.1 to 25.5 GB/s
assumed: what pairs share beyond the port of a GPU (uplinks, the link between CPUs): nothing; the test loads one pair at a time
)");
}

TEST(P2pBandwidth, OthersHaveACableForEveryPairBehindThePortOfEveryGpu) {
  const std::string read = machine_in(p2p_test(12.0, 13.0));
  expect_contains(read, "gpu0 gpu1 gpu2 port0 port1 port2\n");
  expect_contains(read, "gpu0 port0 measured 25.5 x0 half\n");
  expect_contains(read, "gpu2 port2 measured 12 x0 half\n");
  expect_contains(read, "port0 port1 measured 25.5 x0 half\n");
  expect_contains(read, "port1 port2 measured 12 x0 half\n");
  expect_contains(read, "note: both directions at once share the rate of one");
}

TEST(P2pBandwidth, ReadsNvbandwidthAndJson) {
  expect_contains(
      machine_in("Running device_to_device_memcpy_write_ce.\n"
                 "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
                 "           0         1\n 0       N/A    276.07\n 1    276.36       N/A\n"),
      "gpu1 switch0 measured 276.215 x0\n");
  expect_contains(machine_in(R"({"machine": {"gpu": "H100-SXM5-80GB"},
    "matrices": {"unidir_p2p_off": [[1, 9], [9, 1]], "unidir_p2p_on": [[null, 375], [375, null]],
                 "latency_gpu_p2p_on": [[1, 2], [2, 1]]}})"),
                  "gpu0 switch0 measured 375 x0\n");
}

TEST(P2pBandwidth, SaysWhatIsWrong) {
  std::string text = p2p_test(25, 50);
  text.replace(text.find("     1   9.5"), 6, "");
  expect_contains(read_machine_text(text).mistakes,
                  "10:1: row 1 of the matrix should have 3 numbers here");
  expect_contains(read_machine_text(p2p_test(0, 50)).mistakes, "lacks a rate between two GPUs");
  expect_contains(read_machine_text("{\"rows\": []}").mistakes,
                  "file: the file has no matrix of bandwidths between two GPUs or more");
  expect_contains(read_machine_text("{\"matrices\": [}").mistakes, "1:15: ");
}

TEST(AmdTables, WeightsOfXgmiAreLinks) {
  const std::string text =
      "=== Weight between two GPUs ===\n"
      "       GPU0         GPU1         GPU2\n"
      "GPU0   0            15           30\nGPU1   15           0            72\n"
      "GPU2   30           72           0\n\n"
      "=== Link Type between two GPUs ===\n"
      "       GPU0         GPU1         GPU2\n"
      "GPU0   0            XGMI         XGMI\nGPU1   XGMI         0            PCIE\n"
      "GPU2   XGMI         PCIE         0\n"
      "=== Numa Nodes ===\nGPU[0]          : (Topology) Numa Node: 0\n"
      "GPU[1]          : (Topology) Numa Node: 0\nGPU[2]          : (Topology) Numa Node: 1\n";
  expect_text(machine_in(text), R"(rocm-smi or amd-smi topology: -
gpu0 gpu1 gpu2 cpu0 cpu1
gpu0 gpu1 xGMI 0 x1
gpu0 cpu0 PCIe 0 x16
gpu1 cpu0 PCIe 0 x16
gpu2 cpu1 PCIe 0 x16
cpu0 cpu1 between CPUs 0 x0
assumed: NICs: none; such tables do not list them
)");
  expect_contains(read_machine_text(text.substr(0, text.find("GPU2   30"))).mistakes,
                  "the row of GPU2 with 3 cells should stand here");
  expect_contains(read_machine_text(text.substr(text.find("=== Numa"))).mistakes,
                  "file: these tables do not say how the GPUs are connected");
}

}  // namespace
}  // namespace collsim
