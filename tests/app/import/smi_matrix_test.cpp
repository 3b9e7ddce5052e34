// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/app/import/machine_text.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

constexpr const char* raw =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\t0-31\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNV18\tNODE\tSYS\t0-31\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPIX\t32-63\t1\t\tN/A\n"
    "GPU3\tNV18\tNV18\tNV18\t X \tSYS\tNODE\t32-63\t1\t\tN/A\n"
    "NIC0\tPIX\tNODE\tSYS\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tPIX\tNODE\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

// Nothing of this format says how fast anything is.
constexpr const char* raw_machine = R"(nvidia-smi topo -m: -
gpu0 gpu1 gpu2 gpu3 mlx5_0 mlx5_1 nvswitch cpu0 pcie0 cpu1 pcie1
gpu0 nvswitch NVLink to NVSwitch 0 x18
gpu1 nvswitch NVLink to NVSwitch 0 x18
gpu2 nvswitch NVLink to NVSwitch 0 x18
gpu3 nvswitch NVLink to NVSwitch 0 x18
pcie0 cpu0 PCIe uplink 0 x16
gpu0 pcie0 PCIe 0 x16
gpu1 cpu0 PCIe 0 x16
pcie1 cpu1 PCIe uplink 0 x16
gpu2 pcie1 PCIe 0 x16
gpu3 cpu1 PCIe 0 x16
mlx5_0 pcie0 PCIe 0 x16
mlx5_1 pcie1 PCIe 0 x16
cpu0 cpu1 between CPUs 0 x0
)";

std::string with(std::string text, const std::string& part, const std::string& other) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += other.size())
    text.replace(at, part.size(), other);
  return text;
}

TEST(SmiMatrix, TellsWhatHangsOnWhat) {
  EXPECT_EQ(machine_in(raw), raw_machine);
}

TEST(SmiMatrix, IsReadHoweverItIsPasted) {
  EXPECT_EQ(machine_in("user@host:~$ nvidia-smi topo -m\r\n" + with(raw, "\n", "\r\n")),
            raw_machine);
  EXPECT_EQ(machine_in(with(raw, "\t", "    ")), raw_machine);
  EXPECT_EQ(machine_in("```\n" + with(raw, "\n", "\n    ") + "\n```\n"), raw_machine);
  EXPECT_EQ(machine_in(with(raw, "\n", "\n> ")), raw_machine);
  // Wrapped between words, and within them.
  EXPECT_EQ(machine_in(with(raw, "\tNIC1", "\nNIC1")), raw_machine);
  EXPECT_EQ(machine_in(with(with(raw, "\tPIX", "\tP\nIX"), "SYS\t0-31", "S\nYS\t0-31")),
            raw_machine);
}

TEST(SmiMatrix, CpusFollowFromWhatIsFarWhereTheirColumnsWereLeftOut) {
  expect_text(machine_in("\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\n"
                         "GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\n"
                         "GPU1\tNV18\t X \tNV18\tNV18\tNODE\tSYS\n"
                         "GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPIX\n"
                         "GPU3\tNV18\tNV18\tNV18\t X \tSYS\tNODE\n"
                         "NIC0\tPIX\tNODE\tSYS\tSYS\t X \tSYS\n"
                         "NIC1\tSYS\tSYS\tPIX\tNODE\tSYS\t X \n"
                         "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"),
              raw_machine);
  // A DGX-1V whose GPUs are numbered in another order: fours, and as wide a link to the other.
  const std::string fours = machine_in(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\n"
      "GPU0\tX\tNV2\tNV1\tNV1\tNV2\tSYS\tSYS\tSYS\n"
      "GPU1\tNV2\tX\tSYS\tSYS\tSYS\tNV1\tNV1\tNV2\n"
      "GPU2\tNV1\tSYS\tX\tNV2\tNV1\tNV2\tSYS\tSYS\n"
      "GPU3\tNV1\tSYS\tNV2\tX\tNV1\tSYS\tNV2\tSYS\n"
      "GPU4\tNV2\tSYS\tNV1\tNV1\tX\tSYS\tSYS\tNV2\n"
      "GPU5\tSYS\tNV1\tNV2\tSYS\tSYS\tX\tNV2\tNV1\n"
      "GPU6\tSYS\tNV1\tSYS\tNV2\tSYS\tNV2\tX\tNV1\n"
      "GPU7\tSYS\tNV2\tSYS\tSYS\tNV2\tNV1\tNV1\tX\n");
  expect_contains(fours,
                  "gpu0 cpu0 PCIe 0 x16\ngpu1 cpu1 PCIe 0 x16\ngpu2 cpu0 PCIe 0 x16\n"
                  "gpu3 cpu0 PCIe 0 x16\ngpu4 cpu0 PCIe 0 x16\ngpu5 cpu1 PCIe 0 x16\n"
                  "gpu6 cpu1 PCIe 0 x16\ngpu7 cpu1 PCIe 0 x16\n");
  // Of each CPU two GPUs; they also have an NVLink to one of the other.
  const std::string meshes = machine_in(
      "\tGPU0\tGPU1\tGPU2\tGPU3\n"
      "GPU0\tX\tNV2\tNV1\tSYS\n"
      "GPU1\tNV2\tX\tSYS\tNV1\n"
      "GPU2\tNV1\tSYS\tX\tNV2\n"
      "GPU3\tSYS\tNV1\tNV2\tX\n");
  expect_contains(meshes, "gpu1 cpu0 PCIe 0 x16\ngpu2 cpu1 PCIe");
}

TEST(SmiMatrix, IsReadFromATable) {
  expect_text(machine_in("| GPU  | GPU0 | GPU1 | CPU Affinity | NUMA Affinity | GPU NUMA ID |\n"
                         "|------|:-----|-----:|--------------|---------------|-------------|\n"
                         "| GPU0 | X    | NV6  | 0-71         | 0             | 4           |\n"
                         "| GPU1 | NV6  | X    | 72-143       | 1             | 12          |\n"),
              R"(nvidia-smi topo -m: GH200
gpu0 gpu1 cpu0 cpu1
gpu0 gpu1 NVLink 0 x6
gpu0 cpu0 PCIe 0 x16
gpu1 cpu1 PCIe 0 x16
cpu0 cpu1 between CPUs 0 x0
)");
}

TEST(SmiMatrix, RatesFollowFromTheModelOrAreAssumedAloud) {
  const std::string assumed = completed(raw);
  expect_contains(assumed, "gpu0 nvswitch NVLink to NVSwitch 370.8 x18");
  expect_contains(assumed,
                  "assumed: GPUs: H100, by the number of NVLinks; an H200, H20, B200, B300 "
                  "or GB200 looks the same in such a file");
  expect_contains(assumed,
                  "assumed: PCIe: Gen5 x16 (48 GB/s) where the file has no speed (8 links), "
                  "as H100 GPUs have");
  expect_contains(assumed, "assumed: network: 400 Gb/s for each of 2 NICs");
  const std::string told = completed(raw, {.gpu = "B200", .network_gbs = 50, .pcie_generation = 5});
  expect_contains(told, "gpu0 nvswitch NVLink to NVSwitch 721.8 x18");
  EXPECT_EQ(
      told.substr(told.find("assumed")),
      "assumed: between CPUs: 22 GB/s, as NCCL counts between Intel's Sapphire Rapids CPUs\n");
}

TEST(SmiMatrix, UnequalLinksAreAMesh) {
  const std::string read = completed(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
      "GPU0\tX\tNV1\tNV2\t0-9\n"
      "GPU1\tNV1\tX\tSYS\t0-9\n"
      "GPU2\tNV2\tSYS\tX\t10-19\n");
  expect_contains(read, "gpu0 gpu1 NVLink 20 x1\n");
  expect_contains(read, "gpu0 gpu2 NVLink 40 x2\n");
  EXPECT_EQ(read.find("gpu1 gpu2 NVLink"), std::string::npos);
}

TEST(SmiMatrix, ACutMatrixIsReadAsFarAsItsOtherHalfGoes) {
  const std::string text(raw);
  const std::string cut = text.substr(0, text.find("GPU3\tNV18") + 9) + "\n";
  const std::string read = machine_in(cut);
  expect_contains(read, "gpu3 nvswitch NVLink to NVSwitch 0 x18");
  expect_contains(read, "note: cut: row GPU3 has 1 of 6 cells");
  expect_contains(read,
                  "note: cut: the rows of NIC0 and NIC1 are missing; the columns say what the "
                  "rows would");
  const std::string shorter = text.substr(0, text.find("GPU2\tNV18") + 9) + "\n";
  expect_text(read_machine_text(shorter).mistakes,
              "2:1: the rows GPU3 and GPU2 are missing | paste the whole matrix\n");
}

TEST(SmiMatrix, MustBeSymmetric) {
  std::string text(raw);
  text.replace(text.find("GPU2\tNV18"), 9, "GPU2\tNV17");
  expect_text(
      read_machine_text(text).mistakes,
      "4:6: row GPU2 says NV17 for GPU0, but row GPU0 says NV18 for GPU2 | the matrix must be "
      "symmetric; perhaps a column was lost or moved\n");
}

TEST(SmiMatrix, SaysWhichCellIsNone) {
  expect_text(
      read_machine_text(with(raw, "GPU1\tNV18", "GPU1\tPIXX")).mistakes,
      "3:6: row GPU1 has 0 of 6 cells; \"PIXX\" is not one | cells are X, NV1, NV2, ..., PIX, "
      "PXB, PHB, NODE and SYS\n");
  expect_contains(read_machine_text("\tGPU0\tGPU1\nGPU0\tPIX\tX\nGPU1\tX\tPIX\n").mistakes,
                  "2:6: row GPU0 has PIX for itself, not X");
}

TEST(SmiMatrix, RefusesOtherMatricesWithTheReason) {
  const auto mistake = [](const std::string& text) { return read_machine_text(text).mistakes; };
  expect_contains(mistake(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n"),
                  "2:9: this is what nvidia-smi topo -p2p prints");
  expect_contains(mistake("     NPU0       NPU1\nNPU0  X  HCCS\nNPU1  HCCS  X\n"),
                  "1:6: this is the matrix of Ascend NPUs");
  expect_contains(mistake("hello\n"), "file: this is not a machine in a format that is known here");
  expect_contains(mistake("\tGPU0\tGPU1\n"), "1:2: the matrix has no rows below this line");
}

TEST(SmiMatrix, NicsThatNoGpuIsNearToAreLeftOut) {
  const std::string text =
      "\tGPU0\tNIC0\tNIC1\tCPU Affinity\nGPU0\tX\tPIX\tNODE\t0-9\n"
      "NIC0\tPIX\tX\tNODE\nNIC1\tNODE\tNODE\tX\n";
  const std::string read = machine_in(text);
  expect_contains(read, "gpu0 nic0 cpu0 pcie0\n");
  expect_contains(read, "note: left out: NIC1, which no GPU is near to, unlike the other NICs");
}

// GPU2's row is cut, so its NIC may be NIC3, but not NIC0, which is on the other CPU.
TEST(SmiMatrix, ANicIsNotNearToAGpuOfAnotherCpu) {
  const std::string read = machine_in(
      "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity\n"
      "GPU0\tX\tNV8\tNV8\tNODE\tPIX\tSYS\tSYS\t0-9\n"
      "GPU1\tNV8\tX\tNV8\tSYS\tSYS\tPIX\tNODE\t10-19\nGPU2\tNV8\tNV8\n");
  expect_contains(read, "gpu0 gpu1 gpu2 nic1 nic2 nic3 ");
  expect_contains(read, "note: left out: NIC0, which no GPU is near to, unlike the other NICs");
}

TEST(SmiMatrix, SaysWhereItPutsNicsThatAreFarFromAllGpus) {
  const std::string read = machine_in(
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\nGPU0\tX\tNV8\tSYS\tSYS\t0-9\n"
      "GPU1\tNV8\tX\tSYS\tSYS\t10-19\nNIC0\tSYS\tSYS\tX\tSYS\nNIC1\tSYS\tSYS\tSYS\tX\n");
  expect_contains(read, "nic0 cpu0 PCIe");
  expect_contains(read, "nic1 cpu1 PCIe");
  expect_contains(
      read,
      "assumed: CPUs of NIC0 and NIC1: as many NICs on each; in the matrix they are far "
      "from all GPUs\n");
}

TEST(SmiMatrix, SwitchesBelowSwitchesShareAnUplink) {
  expect_text(machine_in("GPU0 GPU1 GPU2 GPU3 CPU Affinity\n"
                         "GPU0 X PIX PXB PXB 0-9\nGPU1 PIX X PXB PXB 0-9\n"
                         "GPU2 PXB PXB X PIX 0-9\nGPU3 PXB PXB PIX X 0-9\n"),
              R"(nvidia-smi topo -m: -
gpu0 gpu1 gpu2 gpu3 pcie0 cpu0 pcie1 pcie2
pcie0 cpu0 PCIe uplink 0 x16
pcie1 pcie0 PCIe uplink 0 x16
gpu0 pcie1 PCIe 0 x16
gpu1 pcie1 PCIe 0 x16
pcie2 pcie0 PCIe uplink 0 x16
gpu2 pcie2 PCIe 0 x16
gpu3 pcie2 PCIe 0 x16
)");
}

}  // namespace
}  // namespace collsim
