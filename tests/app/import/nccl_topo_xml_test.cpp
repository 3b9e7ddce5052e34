// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/app/import/machine_text.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

// Two GPUs on an NVSwitch, a PCIe switch each, a NIC with two ports behind the first.
std::string two_gpus(const std::string& before = "") {
  return before + R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:e1:00.0" count="10" tclass="0x068000"/>
          <nvlink target="0000:e2:00.0" count="8" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x1"/>
          <net name="mlx5_1" dev="1" speed="100000" port="2" guid="0x1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:41:00.0" class="0x060400" link_speed="2.5 GT/s" link_width="4">
      <pci busid="0000:42:00.0" class="0x030200" link_speed="32 GT/s" link_width="8">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:e1:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
)";
}

TEST(NcclTopoXml, BecomesDevicesAndCablesWithTheRatesOfNccl) {
  expect_text(machine_in(two_gpus()), R"(NCCL topology XML: H100
gpu0 gpu1 cpu0 pcie1 mlx5_0(25) cpu1 nvswitch
pcie1 cpu0 PCIe uplink 48 x16
gpu0 pcie1 PCIe 48 x16
mlx5_0 pcie1 PCIe 24 x16
gpu0 nvswitch NVLink to NVSwitch 370.8 x18
gpu1 nvswitch NVLink to NVSwitch 370.8 x18
cpu0 cpu1 between CPUs 22 x0
cpu1 gpu1 PCIe 0.75 x4
note: 1 adapter with several ports counted as one NIC, the rates of its ports added up
assumed: GPUs: H100, by sm="90", which H200, H800, H20 have, too
)");
}

TEST(NcclTopoXml, IsReadMoreLenientlyThanByNccl) {
  const std::string plain = machine_in(two_gpus());
  EXPECT_EQ(machine_in(two_gpus("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- dumped -->\n")), plain);
  std::string spaced = two_gpus();
  for (std::size_t at = 0; (at = spaced.find(" class=", at)) != std::string::npos; ++at)
    spaced.replace(at, 1, "\n\t");
  EXPECT_EQ(machine_in(spaced), plain);
}

TEST(NcclTopoXml, LinksThatBothGpusListAreOne) {
  const std::string text = machine_in(R"(<system version="2"><cpu numaid="0" arch="x86_64">
<pci busid="0000:01:00.0" class="0x038000" link_speed="16 GT/s" link_width="16">
<gpu dev="0" sm="104" gcn="910" rank="1"><xgmi target="0000:02:00.0" count="4" tclass="0x038000"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x038000" link_speed="16 GT/s" link_width="16">
<gpu dev="1" sm="104" gcn="910" rank="0"><xgmi target="0000:01:00.0" count="4" tclass="0x038000"/></gpu></pci>
</cpu></system>)");
  expect_text(text, R"(RCCL topology XML: MI250
gpu0 gpu1 cpu0
gpu1 cpu0 PCIe 24 x16
gpu0 cpu0 PCIe 24 x16
gpu0 gpu1 xGMI 144 x4
)");
}

std::string slots(const std::string& gpu_ids) {
  std::string text =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n";
  for (const char* bus : {"01", "02"})
    text += std::string("<pci busid=\"0000:") + bus + ":00.0\" class=\"0x030200\" " + gpu_ids +
            " link_speed=\"\" link_width=\"0\"/>\n";
  return text +
         "<pci busid=\"0000:03:00.0\" class=\"0x020000\" link_speed=\"8 GT/s\" link_width=\"16\"/>"
         "</cpu></system>\n";
}

TEST(NcclTopoXml, GpusByClassNeedAModel) {
  expect_text(
      completed(slots("")),
      "the file does not say which GPUs these are, nor how NVLinks join them (NCCL asks the "
      "machine itself) | say the model, such as H100, A100 or A100-PCIe\n");
  expect_text(completed(slots(""), {.gpu = "A100"}), R"(NCCL topology XML: A100
gpu0 gpu1 cpu0 nic0(25) nvswitch
gpu0 cpu0 PCIe 24 x16
gpu1 cpu0 PCIe 24 x16
nic0 cpu0 PCIe 12 x16
gpu0 nvswitch NVLink to NVSwitch 240 x12
gpu1 nvswitch NVLink to NVSwitch 240 x12
note: 2 GPUs by PCI class; the file has no <gpu> elements, numbered as listed
assumed: NVLinks: 12 of every GPU into the NVSwitches, as A100 GPUs have them; the file lists PCIe only
assumed: PCIe: Gen4 x16 (24 GB/s) where the file has no speed (2 links), as A100 GPUs have
assumed: network: 200 Gb/s for the NIC, as is usual with A100 GPUs; the file has no rate
)");
  expect_contains(completed(slots(R"(vendor="0x10de" device="0x2330")")), "H100\n");
  expect_contains(completed(slots(""), {.gpu = "V100"}), "how the links of V100 GPUs join them");
}

TEST(NcclTopoXml, WhatTheUserSaysWins) {
  const std::string text =
      completed(two_gpus(), {.gpu = "B200", .network_gbs = 100, .pcie_generation = 6});
  expect_contains(text, "mlx5_0(100)");
  expect_contains(text, "gpu0 nvswitch NVLink to NVSwitch 721.8 x18");
  expect_contains(text, "gpu0 pcie1 PCIe 96 x16");
}

TEST(NcclTopoXml, LeavesOutWhatNcclLeavesOut) {
  std::string text = two_gpus();
  text.replace(text.find(" rank=\"1\""), 9, "");
  const std::string read = machine_in(text);
  expect_contains(read, "gpu0 cpu0 pcie1 mlx5_0(25) nvswitch\n");
  expect_contains(read, "note: left out: 1 GPU without a rank, as NCCL does");
}

TEST(NcclTopoXml, ANicAtLessThanHalfTheRateIsLeftOut) {
  std::string text = two_gpus();
  text.insert(text.find("  </cpu>"), "<nic><net name=\"eth0\" dev=\"2\" speed=\"10000\"/></nic>\n");
  expect_contains(machine_in(text), "eth0(1.25)");
  const std::string read = completed(text);
  expect_contains(read, "note: left out: eth0, at less than half the rate of the fastest NIC");
  EXPECT_EQ(read.find("eth0 cpu0"), std::string::npos);
}

TEST(NcclTopoXml, ARateThatCannotBeIsAThousandTimesTooBig) {
  std::string text = two_gpus();
  text.replace(text.find("speed=\"100000\""), 14, "speed=\"200000000\"");
  expect_contains(machine_in(text), "mlx5_0(37.5)");
  expect_contains(machine_in(text), "which is too fast to be true; read as 200000 Mb/s");
}

TEST(NcclTopoXml, SaysWhereItIsNoXml) {
  std::string text = two_gpus();
  text.replace(text.find("</gpu>"), 6, "</gpo>");
  expect_contains(read_machine_text(text).mistakes,
                  "8:11: this is not XML: start-end tags mismatch");
  const std::string cut = two_gpus().substr(0, 400);
  expect_contains(read_machine_text(cut).mistakes, "perhaps the end of the file is missing");
}

TEST(NcclTopoXml, RefusesOtherFilesWithTheReason) {
  const auto mistake = [](const std::string& text) { return read_machine_text(text).mistakes; };
  expect_text(
      mistake("<graphs version=\"1\"><graph id=\"0\"/></graphs>"),
      "1:2: this is an NCCL graph file: the rings and trees that NCCL chose, not the machine | "
      "dump the machine with NCCL_TOPO_DUMP_FILE=topo.xml\n");
  expect_contains(mistake("<system version=\"2\">\n <group name=\"gfx936\"/></system>"),
                  "2:3: this is a mapping file of Hygon's DTK");
  expect_text(mistake("<system version=\"3\"/>"),
              "1:2: unknown version \"3\" of NCCL's topology files | NCCL writes version 1, RCCL "
              "version 2\n");
  expect_contains(mistake("<system version=\"1\"><cpu numaid=\"0\"/></system>"),
                  "the file has no GPU");
  expect_contains(mistake("<algo name=\"ring\"/>"), "an algorithm of MSCCL, not a machine");
}

TEST(NcclTopoXml, DepthDoesNotMatter) {
  constexpr int depth = 3000;
  std::string text = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">";
  for (int i = 0; i < depth; ++i)
    text += "<pci busid=\"0\" class=\"0x060400\" link_speed=\"8 GT/s\">";
  text +=
      "<pci busid=\"1\" class=\"0x030200\" link_speed=\"8 GT/s\"><gpu sm=\"70\" rank=\"0\"/></pci>";
  for (int i = 0; i < depth; ++i) text += "</pci>";
  text += "</cpu></system>";
  expect_contains(machine_in(text), "cpu0 gpu0 PCIe 12 x0");
}

}  // namespace
}  // namespace collsim
