// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "app/scenario/cluster/imported.hpp"
#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/contains.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

// Eight GPUs on an NVSwitch, each with its NIC on a switch of their own: a DGX H100.
std::string matrix() {
  std::string text = "\\t";
  for (int i = 0; i < 8; ++i) text += "GPU" + std::to_string(i) + "\\t";
  for (int i = 0; i < 8; ++i) text += "NIC" + std::to_string(i) + "\\t";
  text += "CPU Affinity\\tNUMA Affinity\\n";
  for (int row = 0; row < 16; ++row) {
    text += (row < 8 ? "GPU" : "NIC") + std::to_string(row % 8);
    for (int column = 0; column < 16; ++column) {
      const bool gpus = row < 8 && column < 8;
      const bool near = row % 8 == column % 8, one_cpu = row % 8 / 4 == column % 8 / 4;
      text += row == column ? "\\tX"
              : gpus        ? "\\tNV18"
              : near        ? "\\tPIX"
              : one_cpu     ? "\\tNODE"
                            : "\\tSYS";
    }
    text += row < 4 ? "\\t0-55\\t0\\n" : row < 8 ? "\\t56-111\\t1\\n" : "\\n";
  }
  return text;
}

std::string cluster_json(const std::string& text, const std::string& more = "") {
  return R"({"topo_matrix": ")" + text + "\"" + more + "}";
}

constexpr const char* small = R"(\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tSYS\t0\nGPU1\tSYS\tX\t1\n)";

std::string way(const Topology& topology, std::size_t from, std::size_t to) {
  Router router(topology);
  std::string text;
  Time latency;
  for (const LinkId link : router.route(Rank(from), Rank(to))) {
    text += topology.name(topology.link(link).from) + " ";
    latency += topology.link(link).latency;
  }
  return text + "| " + to_text(latency);
}

TEST(ImportedCluster, HasTheDevicesOfTheFile) {
  const Cluster cluster = cluster_of(cluster_json(small, R"(, "pcie": "gen5")"));
  EXPECT_EQ(cluster.topology.rank_count(), 2U);
  EXPECT_EQ(cluster.description, "nvidia-smi topo -m (2 ranks)");
  EXPECT_EQ(way(cluster.topology, 0, 1), "gpu0 cpu0 cpu1 | 1.2 us");
  EXPECT_EQ(cluster.topology.links()[0].bandwidth, gigabytes_per_second(48));
}

TEST(ImportedCluster, AHopBetweenNodesTakesAsLongAsInThePreset) {
  const Cluster imported = cluster_of(cluster_json(matrix(), R"(, "gpu": "H100", "nodes": 2)"));
  const Cluster preset = cluster_of(R"({"preset": "dgx-h100", "nodes": 2})");
  const std::string here = way(imported.topology, 0, 8), there = way(preset.topology, 0, 8);
  EXPECT_EQ(here.substr(here.find('|')), there.substr(there.find('|')));
  EXPECT_EQ(here, "gpu0 node0.pcie0 node0.nic0 network node1.nic0 node1.pcie0 | 2.5 us");
}

std::string logged(std::initializer_list<const char*> lines) {
  std::string text;
  for (const char* line : lines) text += std::string("a:1:2 [0] NCCL INFO ") + line + "\\n";
  return R"({"nccl_topo": ")" + text + "\"}";
}

// Only a damaged log has GPUs below GPUs, and one cable each way between them.
TEST(ImportedCluster, ParallelCablesMayBeListedFromEitherEnd) {
  const Cluster cluster = cluster_of(
      logged({"CPU/0 (1/1/2)", "+ PCI[24.0] - GPU/1 (0)", "     + PCI[24.0] - GPU/2 (1)",
              "          + PCI[24.0] - PCI/3 ()", "               + PCI[24.0] - GPU/1 (0)"}));
  EXPECT_EQ(cluster.topology.rank_count(), 2U);
  EXPECT_EQ(way(cluster.topology, 0, 1), "gpu0 | 400 ns");
}

// Likewise a switch below a GPU with one more cable to it.
TEST(ImportedCluster, ASwitchThatLeadsBackIsNoCable) {
  const Cluster cluster = cluster_of(
      logged({"CPU/0 (1/1/2)", "+ PCI[24.0] - PCI/1 ()", "     + PCI[24.0] - GPU/2 (0)",
              "          + PCI[24.0] - PCI/3 ()", "               + PCI[24.0] - PCI/4 ()",
              "                    + PCI[24.0] - GPU/2 (0)", "+ PCI[24.0] - GPU/5 (1)"}));
  EXPECT_EQ(cluster.topology.rank_count(), 2U);
}

TEST(ImportedCluster, SaysWhatItAssumed) {
  const Cluster cluster = cluster_of(cluster_json(small));
  ASSERT_EQ(cluster.assumed.size(), 3U);
  EXPECT_EQ(cluster.assumed[2],
            "latencies, overheads and launch costs: those of preset pcie-gen4-8gpu-2s; such a file "
            "has none");
  expect_contains(cluster.assumed[0], "PCIe: Gen4 x16 (24 GB/s)");
  EXPECT_TRUE(cluster_of(R"({"preset": "dgx-h100"})").assumed.empty());
}

TEST(ImportedCluster, CanBeChangedAsAnyOther) {
  const Cluster cluster = cluster_of(cluster_json(
      small,
      R"(, "links_override": [{"from": "cpu0", "to": "cpu1", "bandwidth": "1GB/s"}], "late": {"1": "1us"})"));
  EXPECT_TRUE(cluster.overridden);
  EXPECT_EQ(cluster.late.size(), 1U);
}

TEST(ImportedCluster, ResolvesToItself) {
  const std::string text =
      cluster_json(matrix(), R"(, "gpu": "h100", "nic": "200Gb/s", "nodes": 2)");
  const ReadCluster read = read_cluster_text(text);
  ASSERT_TRUE(read.cluster) << read.mistakes;
  expect_contains(to_json(read.resolved, -1), R"("gpu":"H100","nic":"25GB/s")");
  const ReadCluster again = read_cluster_text(to_json(read.resolved));
  EXPECT_EQ(again.mistakes, "");
  EXPECT_EQ(again.resolved, read.resolved);
}

TEST(ImportedCluster, MistakesNameWhatIsWrong) {
  EXPECT_EQ(mistake_of(R"({"topo_matrix": 3})"),
            "/cluster/topo_matrix: expected the name of a file, but this is a number |  | ");
  EXPECT_EQ(
      mistake_of(R"({"nccl_topo": "a.xml"})"),
      "/cluster/nccl_topo: the file \"a.xml\" was not read |  | a sweep cannot change the file; "
      "use --set for each of several machines");
  expect_contains(mistake_of(cluster_json(small, R"(, "gpu": "H10")")),
                  "/cluster/gpu: unknown GPU model");
  expect_contains(mistake_of(cluster_json(small, R"(, "pcie": "gen9")")),
                  "/cluster/pcie: unknown PCIe");
  expect_contains(mistake_of(cluster_json(small, R"(, "nodes": 2)")),
                  "/cluster/nodes: the file has no NIC, so nothing joins the nodes");
  expect_contains(mistake_of(cluster_json(matrix(), R"(, "nodes": 1000000)")),
                  "/cluster/nodes: 1,000,000 nodes are too many");
  expect_contains(mistake_of(R"({"nccl_topo": "<system version=\"1\"><cpu>"})"),
                  "/cluster/nccl_topo: this is not XML");
  expect_contains(
      mistake_of(
          R"({"nccl_topo": "<system version=\"1\"><cpu><pci class=\"0x030200\"/><pci class=\"0x030200\"/></cpu></system>"})"),
      "/cluster/nccl_topo: the file does not say which GPUs these are");
}

TEST(ImportedCluster, EveryModelNamesAPresetThatIsThere) {
  for (const std::string& model : gpu_words().allowed)
    EXPECT_NE(cluster_of(cluster_json(matrix(), R"(, "nodes": 2, "gpu": ")" + model + "\""))
                  .topology.rank_count(),
              0U);
}

}  // namespace
}  // namespace collsim
