// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/presets.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

Cluster preset_cluster(const std::string& name, int nodes = 1, const std::string& override = "{}") {
  return cluster_of(R"({"preset": ")" + name + R"(", "nodes": )" + std::to_string(nodes) +
                    R"(, "override": )" + override + "}");
}

double narrowest(Router& router, const Topology& topology, std::size_t from, std::size_t to) {
  double bandwidth = 1e30;
  for (const LinkId id : router.route(Rank(from), Rank(to)))
    bandwidth =
        std::min(bandwidth, static_cast<double>(topology.link(id).bandwidth.bytes_per_second()));
  return bandwidth / 1e9;
}

Time empty_message(Router& router, const Topology& topology, std::size_t from, std::size_t to) {
  Time time, startup;
  for (const LinkId id : router.route(Rank(from), Rank(to))) {
    time += topology.link(id).latency;
    startup = std::max(startup, topology.link(id).startup);
  }
  return time + startup;
}

TEST(Presets, AreThoseThatTheDocumentationLists) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) names.insert(preset.name);
  for (const char* name :
       {"dgx-1-v100", "dgx-2", "dgx-a100", "dgx-h100", "hgx-h200", "dgx-b200", "gb200-nvl72"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* generation : {"gen3", "gen4", "gen5"})
    for (const char* size : {"4gpu", "4gpu-2s", "8gpu", "8gpu-2s"})
      EXPECT_TRUE(names.contains(std::string("pcie-") + generation + "-" + size));
  EXPECT_EQ(names.size(), 19U);
}

TEST(Presets, GiveASourceForEveryNumber) {
  for (const Preset& preset : presets()) {
    EXPECT_FALSE(preset.title.empty());
    EXPECT_FALSE(preset.calibrated) << preset.name << ": nothing was measured yet";
    EXPECT_FALSE(preset.document.find("source")->string().empty());
    EXPECT_TRUE(preset.document.find("notes")->is_array());
    for (const JsonValue::Member& type : preset.document.find("link_types")->members()) {
      EXPECT_FALSE(type.value.find("title")->string().empty());
      const bool protocols = type.value.find("protocols") != nullptr;
      EXPECT_EQ(type.value.members().size(), protocols ? 7U : 6U) << preset.name << " " << type.key;
      EXPECT_EQ(type.value.find("source")->find("protocols") != nullptr, protocols);
      for (const std::string_view value : preset_link_values())
        EXPECT_GT(type.value.find("source")->find(value)->string().size(), 10U)
            << preset.name << " " << type.key << " " << value;
      EXPECT_EQ(type.value.find("sharing")->string(), "fair");
    }
  }
}

TEST(Presets, JoinEveryPairOfRanksEquallyInBothDirections) {
  for (const Preset& preset : presets())
    for (const int nodes : {1, 2}) {
      const Cluster cluster = preset_cluster(preset.name, nodes);
      const std::size_t ranks = cluster.topology.rank_count();
      EXPECT_EQ(ranks, static_cast<std::size_t>(preset.gpus * nodes));
      EXPECT_EQ(cluster.preset, preset.name);
      EXPECT_EQ(cluster.topology.dims(), (std::vector<int>{nodes, preset.gpus}));
      Router router(cluster.topology);
      for (std::size_t from = 0; from < ranks; ++from)
        for (std::size_t to = 0; to < from; ++to) {
          const auto there = router.route(Rank(from), Rank(to));
          std::set<LinkId> links(there.begin(), there.end());
          ASSERT_FALSE(there.empty());
          EXPECT_EQ(narrowest(router, cluster.topology, from, to),
                    narrowest(router, cluster.topology, to, from));
          EXPECT_EQ(empty_message(router, cluster.topology, from, to),
                    empty_message(router, cluster.topology, to, from));
          for (const LinkId link : links) {
            const Link& crossed = cluster.topology.link(link);
            EXPECT_TRUE(crossed.to == cluster.topology.node_of(Rank(to)) ||
                        cluster.topology.kind(crossed.to) != NodeKind::gpu)
                << "a message between two ranks passes no third one";
          }
        }
    }
}

// More would not fit the limits of a cluster, which "nodes" has passed by then.
TEST(Presets, AreSmallEnoughForAsManyNodesAsThereMayBe) {
  for (const Preset& preset : presets()) {
    const Cluster cluster = preset_cluster(preset.name, 2);
    EXPECT_LE(cluster.topology.node_count(), 2U * 4U * static_cast<std::size_t>(preset.gpus));
    EXPECT_LE(cluster.topology.links().size(), 2U * 16U * static_cast<std::size_t>(preset.gpus));
  }
}

TEST(Presets, Dgx1HasSixNvlinksPerGpuInAHybridCubeMesh) {
  const Topology topology = preset_cluster("dgx-1-v100").topology;
  // As `nvidia-smi topo -m` shows it: number of NVLinks, 0 where it says SYS.
  const int expected[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                              {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                              {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                              {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  for (std::size_t from = 0; from < 8; ++from) {
    double links = 0;
    for (std::size_t to = 0; to < 8; ++to) {
      double bandwidth = 0;
      for (const LinkId id : topology.links_between(NodeId(from), NodeId(to)))
        bandwidth += static_cast<double>(topology.link(id).bandwidth.bytes_per_second());
      EXPECT_EQ(bandwidth / 20e9, expected[from][to]) << from << " " << to;
      links += bandwidth / 20e9;
    }
    EXPECT_EQ(links, 6);
  }
  Router router(topology);
  EXPECT_EQ(narrowest(router, topology, 3, 4), 6) << "without an NVLink: from CPU to CPU";
}

TEST(Presets, NvlinkAndNetworkRatesAreNcclsAndTheDataSheets) {
  const std::map<std::string, std::pair<double, double>> rates = {
      {"dgx-2", {120, 12}},      {"dgx-a100", {240, 24}},   {"dgx-h100", {370.8, 48}},
      {"hgx-h200", {370.8, 48}}, {"dgx-b200", {721.8, 48}}, {"gb200-nvl72", {721.8, 48}}};
  for (const auto& [name, expected] : rates) {
    const Topology topology = preset_cluster(name, 2).topology;
    const std::size_t gpus = topology.rank_count() / 2;
    Router router(topology);
    for (std::size_t to = 1; to < gpus; ++to)
      EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, to), expected.first) << name;
    EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, gpus), expected.second)
        << name << ": the PCIe slot is a little slower than the port behind it";
  }
}

// What NCCL 2.28's tuning model (ring, LL) gives one hop, which every preset must add up to.
TEST(Presets, NearestHopsInANodeTakeNcclsLatencies) {
  for (const Preset& preset : presets()) {
    const Topology topology = preset_cluster(preset.name, 2).topology;
    Router router(topology);
    const auto gpus = static_cast<std::size_t>(preset.gpus);
    std::set<std::string> kinds;
    for (std::size_t from = 0; from < gpus; ++from)
      for (std::size_t to = 0; to < gpus; ++to) {
        const auto route = router.route(Rank(from), Rank(to));
        if (from == to || route.size() > 2) continue;
        const bool nvlink =
            route.size() == 1 || topology.name(route[0]).find("nvswitch") != std::string::npos;
        kinds.insert(nvlink ? "NVLink" : "PCIe");
        EXPECT_EQ(empty_message(router, topology, from, to), nanoseconds(nvlink ? 600 : 1000))
            << preset.name << ": " << from << " to " << to;
      }
    const std::string expected = preset.name.starts_with("pcie-") ? "PCIe" : "NVLink";
    EXPECT_EQ(kinds, std::set<std::string>{expected}) << preset.name;
  }
}

TEST(Presets, HopsBetweenNodesTakeNcclsLatency) {
  for (const Preset& preset : presets()) {
    const Topology topology = preset_cluster(preset.name, 2).topology;
    Router router(topology);
    const auto gpus = static_cast<std::size_t>(preset.gpus);
    // The only ones with GPUs further from a NIC than others: ranks 2 and 3, on the second CPU.
    const bool far_gpus = preset.name.ends_with("-4gpu-2s");
    for (std::size_t from = 0; from < gpus; ++from)
      for (std::size_t to = 0; to < gpus; ++to) {
        const int far_ends = far_gpus ? (from >= 2 ? 1 : 0) + (to >= 2 ? 1 : 0) : 0;
        EXPECT_EQ(empty_message(router, topology, from, gpus + to),
                  nanoseconds(2700 + 400 * far_ends))
            << preset.name << ": " << from << " to " << to << " of the other node";
      }
  }
}

TEST(Presets, SourcesCountTheLinksThatAMessageToAnotherNodeCrosses) {
  for (const Preset& preset : presets()) {
    const Topology topology = preset_cluster(preset.name, 2).topology;
    Router router(topology);
    std::map<Time, int> slots, ports;
    for (const LinkId id : router.route(Rank(0), Rank(preset.gpus))) {
      const bool port = topology.name(id).find("network") != std::string::npos;
      ++(port ? ports : slots)[topology.link(id).latency];
    }
    ASSERT_EQ(slots.size(), 1U) << preset.name;
    ASSERT_EQ(ports.size(), 1U) << preset.name;
    EXPECT_EQ(ports.begin()->second, 2) << preset.name;
    const std::map<int, std::string> words = {{2, "two"}, {4, "four"}};
    const auto whole = [](Time time) { return std::to_string(time.ps() / 1000); };
    const std::string sum =
        words.at(slots.begin()->second) + " PCIe links of " + whole(slots.begin()->first) + " ns (";
    const std::string rest = "two NIC ports of " + whole(ports.begin()->first) + " ns;";
    const std::string& source =
        preset.document.find("link_types")->find("nic")->find("source")->find("latency")->string();
    expect_contains(source, sum);
    expect_contains(source, rest);
  }
}

TEST(Presets, LongerWaysInANodeTakeWhatTheSourcesSay) {
  const auto time = [](const std::string& preset, std::size_t from, std::size_t to) {
    const Topology topology = preset_cluster(preset).topology;
    Router router(topology);
    return empty_message(router, topology, from, to);
  };
  EXPECT_EQ(time("dgx-1-v100", 0, 5), nanoseconds(2200)) << "no NVLink: from CPU to CPU";
  for (const char* generation : {"pcie-gen3-", "pcie-gen4-", "pcie-gen5-"}) {
    const std::string box = generation;
    EXPECT_EQ(time(box + "4gpu", 0, 3), nanoseconds(1000));
    EXPECT_EQ(time(box + "4gpu-2s", 0, 3), nanoseconds(1000 + 400));
    EXPECT_EQ(time(box + "8gpu", 0, 7), nanoseconds(1000 + 800));
    EXPECT_EQ(time(box + "8gpu-2s", 0, 7), nanoseconds(1000 + 1200));
  }
}

// Where NVLink takes the messages between GPUs, two slots still add up to NCCL's PCIe hop.
TEST(Presets, SlotsBesideNvlinkAreAsLongAsOtherSlots) {
  for (const char* name : {"dgx-1-v100", "dgx-2"}) {
    const Topology topology = preset_cluster(name).topology;
    const auto gpu = *topology.find_node("gpu0");
    const auto plx = *topology.find_node("plx0");
    const Link& slot = topology.link(topology.links_between(gpu, plx).front());
    EXPECT_EQ(slot.startup + slot.latency + slot.latency, nanoseconds(1000)) << name;
  }
}

TEST(Presets, PcieBoxesHaveTheirBottlenecksWhereTheyShould) {
  const auto shared = [](const std::string& preset, std::size_t a, std::size_t b, std::size_t c,
                         std::size_t d) {
    const Topology topology = preset_cluster(preset).topology;
    Router router(topology);
    const auto first = router.route(Rank(a), Rank(b));
    const std::set<LinkId> links(first.begin(), first.end());
    std::string names;
    for (const LinkId link : router.route(Rank(c), Rank(d)))
      if (links.contains(link)) names += topology.name(link) + " ";
    return names;
  };
  EXPECT_EQ(shared("pcie-gen4-4gpu", 0, 2, 1, 3), "");
  EXPECT_EQ(shared("pcie-gen4-4gpu-2s", 0, 2, 1, 3), "cpu0->cpu1 ");
  EXPECT_EQ(shared("pcie-gen4-8gpu", 0, 1, 2, 3), "");
  EXPECT_EQ(shared("pcie-gen4-8gpu", 0, 4, 1, 5), "plx0->cpu0 cpu0->plx1 ");
  expect_text(shared("pcie-gen4-8gpu-2s", 0, 4, 1, 5), "plx0->cpu0 cpu0->cpu1 cpu1->plx1 ");

  const std::map<std::string, std::pair<double, double>> rates = {
      {"gen3", {12, 10}}, {"gen4", {24, 16}}, {"gen5", {48, 22}}};
  for (const auto& [generation, expected] : rates) {
    const Topology topology = preset_cluster("pcie-" + generation + "-4gpu-2s").topology;
    Router router(topology);
    EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, 1), expected.first);
    EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, 2), expected.second);
  }
}

TEST(Presets, AreDescribedByNameAndSize) {
  EXPECT_EQ(preset_cluster("dgx-h100").description, "dgx-h100 (8 ranks)");
  expect_text(preset_cluster("dgx-h100", 2).description, "dgx-h100 x 2 (16 ranks)");
  expect_text(preset_cluster("dgx-h100", 2, R"({"nic.bandwidth": "400Gb/s"})").description,
              "dgx-h100 x 2 (16 ranks)");
  expect_text(preset_cluster("dgx-h100", 2, R"({"nic.bandwidth": "800Gb/s"})").description,
              "dgx-h100 x 2 (16 ranks, overridden)");
}

TEST(Presets, AreFoundByTheirUsualNames) {
  EXPECT_EQ(find_preset("h100"), find_preset("dgx-h100"));
  EXPECT_EQ(find_preset("DGX_H100"), find_preset("dgx-h100"));
  EXPECT_EQ(find_preset("dgx-h1000"), nullptr);
  EXPECT_EQ(cluster_of(R"({"preset": "nvl72"})").preset, "gb200-nvl72");
}

TEST(Presets, OverrideChangesALinkType) {
  const Topology topology = preset_cluster("dgx-h100", 2,
                                           R"({"nvlink.bandwidth": "100GB/s", "nvlink.latency": "0",
                                               "nvlink.overhead": "1 us", "nic.sharing": "exclusive"})")
                                .topology;
  LinkParameters nvlink = topology.parameters(Router(topology).route(Rank(0), Rank(1)).front());
  EXPECT_TRUE(cost_of(nvlink.protocols, LinkProtocol::ll)) << "protocols stay";
  nvlink.protocols = {};
  EXPECT_EQ(nvlink,
            (LinkParameters{gigabytes_per_second(100), Time{}, microseconds(1), Sharing::fair}));
  const auto nic = *topology.find_node("node0.nic0");
  const auto network = *topology.find_node("network");
  EXPECT_EQ(topology.link(topology.links_between(nic, network).front()).sharing,
            Sharing::exclusive);
}

TEST(Presets, ResolvedShowsEveryNumber) {
  const ReadCluster read =
      read_cluster_text(R"({"preset": "dgx-h100", "override": {"nic.bandwidth": "800 Gb/s"}})");
  EXPECT_EQ(to_json(read.resolved, -1),
            R"({"preset":"dgx-h100","nodes":1,"override":{"nvlink.bandwidth":"370.8GB/s",)"
            R"("nvlink.latency":"200ns","nvlink.overhead":"200ns","nvlink.sharing":"fair",)"
            R"("pcie.bandwidth":"48GB/s","pcie.latency":"400ns","pcie.overhead":"200ns",)"
            R"("pcie.sharing":"fair","nic.bandwidth":"100GB/s","nic.latency":"850ns",)"
            R"("nic.overhead":"200ns","nic.sharing":"fair"}})");
}

TEST(Presets, MistakesAreExplained) {
  const std::string unknown = mistake_of(R"({"preset": "dgx-h10", "nodes": 2})");
  EXPECT_TRUE(unknown.starts_with(
      R"(/cluster/preset: unknown preset "dgx-h10" | dgx-h100 | allowed: dgx-1-v100, dgx-2, )"))
      << unknown;
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nvlnk.bandwidth": "1GB/s"}})"),
      R"(/cluster/override/nvlnk.bandwidth: unknown key "nvlnk.bandwidth" | nvlink.bandwidth | )");
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nvlink.speed": "1GB/s"}})"),
      R"(/cluster/override/nvlink.speed: unknown key "nvlink.speed" |  | allowed: )"
      "nvlink.bandwidth, nvlink.latency, nvlink.overhead, nvlink.sharing, pcie.bandwidth, "
      "pcie.latency, pcie.overhead, pcie.sharing, nic.bandwidth, nic.latency, nic.overhead, "
      "nic.sharing");
  expect_text(mistake_of(R"({"preset": "dgx-h100", "override": {"nic.bandwidth": 400}})"),
              "/cluster/override/nic.bandwidth: 400 has no unit |  | write \"400GB/s\" (bytes) or "
              "\"400Gb/s\" (bits; 8 times slower)");
  expect_text(mistake_of(R"({"preset": "dgx-h100", "override": {"nic.latency": "9000000s"}})"),
              "/cluster/override/nic.latency: a latency of 9000000 s is too long |  | at most 53 "
              "days");
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nic.sharing": "fiar"}})"),
      "/cluster/override/nic.sharing: unknown sharing \"fiar\" | fair | allowed: exclusive, "
      "fair");
  expect_text(mistake_of(R"({"preset": "dgx-h100", "ranks": 8})"),
              "/cluster/ranks: unknown key \"ranks\" |  | allowed: preset, nodes, override, "
              "links_override, late");
}

}  // namespace
}  // namespace collsim
