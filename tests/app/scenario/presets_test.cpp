// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/presets.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "app/scenario/fitted.hpp"
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
  for (const char* name : {"dgx-1-v100",
                           "dgx-2",
                           "dgx-a100",
                           "dgx-h100",
                           "hgx-h200",
                           "hgx-h20",
                           "hgx-h800",
                           "dgx-b200",
                           "dgx-b300",
                           "gb200-nvl72",
                           "gb300-nvl72",
                           "gh200-quad",
                           "a100-nvlink-pair",
                           "nvlink-pairs-4gpu",
                           "a100-pcie",
                           "p4d",
                           "p5",
                           "a3-mega",
                           "mi300x",
                           "l40s",
                           "rtx-2080ti",
                           "rtx-3090",
                           "rtx-4090",
                           "rtx-4090-p2p",
                           "rtx-5090",
                           "rtx-5090-p2p",
                           "rtx-pro-6000"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* generation : {"gen3", "gen4", "gen5"})
    for (const char* size : {"4gpu", "4gpu-2s", "8gpu", "8gpu-2s"})
      EXPECT_TRUE(names.contains(std::string("pcie-") + generation + "-" + size));
  EXPECT_EQ(names.size(), 39U);
}

TEST(Presets, GiveASourceForEveryNumber) {
  for (const Preset& preset : presets()) {
    EXPECT_FALSE(preset.title.empty());
    const std::string& fitted = preset.document.find("notes")->items().front().string();
    EXPECT_TRUE(fitted.starts_with(preset.calibrated ? "calibrated: " : "not calibrated: no "));
    EXPECT_FALSE(preset.document.find("source")->string().empty());
    EXPECT_TRUE(preset.document.find("notes")->is_array());
    for (const JsonValue::Member& type : preset.document.find("link_types")->members()) {
      EXPECT_FALSE(type.value.find("title")->string().empty());
      const std::size_t duplex = type.value.find("duplex") == nullptr ? 0 : 1;
      EXPECT_EQ(type.value.members().size(), 7 + duplex) << preset.name << " " << type.key;
      EXPECT_GT(type.value.find("source")->find("protocols")->string().size(), 10U);
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
      {"dgx-2", {120, 12}},         {"dgx-a100", {240, 24}},
      {"dgx-h100", {370.8, 48}},    {"hgx-h200", {370.8, 48}},
      {"hgx-h800", {164.8, 48}},    {"hgx-h20", {370.8, 48}},
      {"dgx-b200", {721.8, 48}},    {"dgx-b300", {721.8, 96}},
      {"gb200-nvl72", {721.8, 48}}, {"p5", {370.8, 48}},
      {"p4d", {240, 12}},           {"a3-mega", {370.8, 25}},
      {"gh200-quad", {123.6, 24}},  {"a100-nvlink-pair", {240, 24}},
      {"mi300x", {48, 48}}};
  for (const auto& [name, expected] : rates) {
    const Topology topology = preset_cluster(name, 2).topology;
    const std::size_t gpus = topology.rank_count() / 2;
    Router router(topology);
    for (std::size_t to = 1; to < gpus; ++to)
      EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, to), expected.first) << name;
    EXPECT_DOUBLE_EQ(narrowest(router, topology, 0, gpus), expected.second)
        << name << ": the slower of PCIe slot and port";
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
    const JsonValue& types = *preset.document.find("link_types");
    std::set<std::string> expected;
    if (types.find("nvlink") != nullptr || types.find("xgmi") != nullptr) expected.insert("NVLink");
    if (expected.empty()) expected.insert("PCIe");
    EXPECT_EQ(kinds, expected) << preset.name;
  }
}

TEST(Presets, HopsBetweenNodesTakeNcclsLatency) {
  for (const Preset& preset : presets()) {
    const Topology topology = preset_cluster(preset.name, 2).topology;
    Router router(topology);
    const auto gpus = static_cast<std::size_t>(preset.gpus);
    // The only ones with GPUs further from a NIC than others: ranks 2 and 3, on the second CPU.
    const bool far_gpus = preset.name.ends_with("-4gpu-2s") || preset.name == "nvlink-pairs-4gpu";
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
      if (topology.link(id).latency == Time{}) continue;  // part of a slot
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

TEST(Presets, OnlySwitchesOfGpusThatKnowNvlsAdd) {
  const auto adds = [](const std::string& name) {
    const Cluster cluster = preset_cluster(name);
    const auto link = cluster.topology.link_to_adding_switch(Rank(0));
    return link ? cluster.topology.name(cluster.topology.link(*link).to) : "";
  };
  EXPECT_EQ(adds("dgx-h100"), "nvswitch");
  // Not the PCIe switches beside NVSwitches that cannot.
  EXPECT_EQ(adds("dgx-2"), "");
  EXPECT_EQ(adds("p4d"), "");
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
  const JsonValue& override = *read.resolved.find("override");
  EXPECT_EQ(to_json(*read.resolved.find("network"), -1), R"("ib")");
  EXPECT_EQ(override.members().size(), 3U * 5U);
  EXPECT_EQ(override.find("nvlink.bandwidth")->string(), "370.8GB/s");
  EXPECT_EQ(override.find("nic.bandwidth")->string(), "100GB/s");
  EXPECT_EQ(override.find("nic.protocols")->members().size(), all_protocols.size() - 1)
      << "all but CollNet";
  EXPECT_EQ(cluster_of(to_json(read.resolved)).topology.links().size(),
            read.cluster->topology.links().size());
}

// Its ports carry CollNet: 31 us there and back, at the rate of Simple.
TEST(Presets, SharpLetsTheNetworkAdd) {
  const auto cost = [](const Cluster& cluster, LinkProtocol protocol) {
    const Topology& topology = cluster.topology;
    const auto nic = *topology.find_node("node0.nic0");
    const auto port = topology.links_between(nic, *topology.find_node("network")).front();
    return cost_of(topology.protocols_of(topology.link(port)), protocol);
  };
  const std::string plain = R"("preset": "dgx-h100", "nodes": 2)";
  EXPECT_FALSE(cluster_of("{" + plain + "}").topology.network_adds());
  const ReadCluster read = read_cluster_text("{" + plain + R"(, "sharp": true})");
  for (const Cluster& cluster : {*read.cluster, cluster_of(to_json(read.resolved))}) {
    EXPECT_TRUE(cluster.topology.network_adds());
    const auto collnet = cost(cluster, LinkProtocol::collnet);
    ASSERT_TRUE(collnet);
    EXPECT_EQ(collnet->hop, nanoseconds(15'500));
    EXPECT_EQ(collnet->rate, cost(cluster, LinkProtocol::simple)->rate);
  }
  expect_text(mistake_of(R"({"preset": "p5", "nodes": 2, "sharp": true})"),
              "/cluster/sharp: SHARP is in switches of InfiniBand, and a network of kind efa has "
              "none |  | write \"network\": \"ib\", or leave \"sharp\" out");
  const std::string changed = R"(, "override": {"nic.protocols": {"CollNet": {"hop": "8us"}}})";
  expect_text(mistake_of("{" + plain + changed + "}"),
              "/cluster/override: CollNet is for networks that add, and this one does not |  | "
              "write \"sharp\": true of the cluster, or leave CollNet out");
  const Cluster overridden = cluster_of("{" + plain + changed + R"(, "sharp": true})");
  EXPECT_EQ(cost(overridden, LinkProtocol::collnet)->hop, nanoseconds(8'000));
  const std::string leaves = R"({"preset": "dgx-h100", "nodes": 4, "sharp": true,
                                 "inter": {"shape": "leaf-spine", "nodes_per_leaf": )";
  expect_contains(mistake_of(leaves + R"(2, "spines": 2}})"),
                  "are at leaf0 and leaf1, and sums of several switches");
  EXPECT_TRUE(cluster_of(leaves + R"(4, "spines": 2}})").topology.network_adds());
}

TEST(Presets, OverrideChangesProtocols) {
  const Cluster cluster = preset_cluster(
      "dgx-h100", 1, R"({"nvlink.protocols": {"Simple": {"hop": "1us", "rate": 0.5}}})");
  const Topology& topology = cluster.topology;
  const Link& nvlink = topology.link(Router(topology).route(Rank(0), Rank(1)).front());
  EXPECT_EQ(cost_of(topology.protocols_of(nvlink), LinkProtocol::simple)->hop, microseconds(1));
  const Topology own = preset_cluster("dgx-h100", 1).topology;
  const auto ll = [](const Topology& of) {
    return cost_of(of.protocols_of(of.link(Router(of).route(Rank(0), Rank(1)).front())),
                   LinkProtocol::ll);
  };
  ASSERT_TRUE(ll(own)) << "the others keep what they cost";
  EXPECT_EQ(ll(topology)->hop, ll(own)->hop);
  EXPECT_EQ(ll(topology)->growth, ll(own)->growth);
  EXPECT_EQ(cluster.description, "dgx-h100 (8 ranks, overridden)");
}

// The flight of an empty message under a protocol.
std::optional<Time> hop_of(const Topology& topology, LinkProtocol protocol, std::size_t from,
                           std::size_t to) {
  Router router(topology);
  Time hop;
  for (const LinkId id : router.route(Rank(from), Rank(to))) {
    const auto& cost = cost_of(topology.protocols_of(topology.link(id)), protocol);
    if (!cost) return std::nullopt;
    hop += cost->hop;
  }
  return hop;
}

// Of the network's links alone.
Time hop_of_ports(const Topology& topology, LinkProtocol protocol, std::size_t from,
                  std::size_t to) {
  Router router(topology);
  Time hop;
  for (const LinkId id : router.route(Rank(from), Rank(to)))
    if (topology.name(id).find("network") != std::string::npos)
      hop += cost_of(topology.protocols_of(topology.link(id)), protocol)->hop;
  return hop;
}

Time fitted_hop(std::string_view kinds, const std::string& kind, LinkProtocol protocol) {
  const JsonValue& constants = *fitted_constants().find(kinds)->find(kind);
  const JsonValue* row = constants.find("protocols")->find(to_string(protocol));
  return row == nullptr ? Time::never() : *parse_time(row->find("hop")->string()).value;
}

// A way crosses two ports into the network; each has this part of the hop.
std::int64_t ports_per_hop(const Preset& preset) {
  for (const auto& type : preset.written.find("link_types")->members())
    if (type.value.find("protocols")->string() == "network")
      return static_cast<std::int64_t>(type.value.find("hops")->number());
  return 2;
}

TEST(Presets, LinksOfAWayAddUpToTheFittedHop) {
  for (const Preset& preset : presets()) {
    const std::string gpu = preset.written.find("gpu")->string();
    for (const std::string& network : network_words().allowed) {
      const Cluster cluster = cluster_of(R"({"preset": ")" + preset.name +
                                         R"(", "nodes": 2, "network": ")" + network + "\"}");
      const Topology& topology = cluster.topology;
      const auto gpus = static_cast<std::size_t>(preset.gpus);
      for (const LinkProtocol protocol : all_protocols) {
        const Time near = fitted_hop("gpus", gpu, protocol),
                   one = fitted_hop("networks", network, protocol);
        if (near == Time::never() || one == Time::never()) continue;
        const Time far = picoseconds(2 * one.ps() / ports_per_hop(preset));
        const std::string here = preset.name + " " + network + " " + to_string(protocol);
        if (preset.name != "nvlink-pairs-4gpu") {
          const Time hop = hop_of(topology, protocol, 0, 1).value();
          EXPECT_LE(std::abs((hop - near).ps()), 2) << here;
        }
        // A NIC has what the links before it leave, and nothing when they have more.
        const Time hop = hop_of(topology, protocol, 0, gpus).value();
        const Time slots = hop - hop_of_ports(topology, protocol, 0, gpus);
        EXPECT_LE(std::abs((hop - std::max(far, slots)).ps()), 4) << here;
      }
    }
  }
}

// What the model's local_rate multiplies.
TEST(Presets, LinksPerGpuAreThoseOfTheTopology) {
  for (const Preset& preset : presets()) {
    const Topology topology = preset_cluster(preset.name).topology;
    std::map<std::int64_t, std::int64_t> found, said;
    for (const Link& link : topology.links())
      if (link.from == topology.node_of(Rank(0))) ++found[link.bandwidth.bytes_per_second()];
    for (const JsonValue::Member& type : preset.written.find("link_types")->members())
      if (const JsonValue* const count = type.value.find("per_gpu"))
        said[parse_bandwidth(type.value.find("bandwidth")->string()).value->bytes_per_second()] +=
            *count->integer();
    EXPECT_FALSE(said.empty()) << preset.name;
    for (const auto& [bandwidth, count] : said) EXPECT_GE(found[bandwidth], count) << preset.name;
  }
}

TEST(Presets, NetworksDifferInTheNicsProtocolsAlone) {
  const Cluster ib = preset_cluster("dgx-h100", 2);
  const Cluster efa = cluster_of(R"({"preset": "dgx-h100", "nodes": 2, "network": "EFA"})");
  EXPECT_EQ(ib.description, "dgx-h100 x 2 (16 ranks)");
  EXPECT_EQ(efa.description, "dgx-h100 x 2 (16 ranks, efa network)");
  for (std::size_t i = 0; i < ib.topology.links().size(); ++i) {
    LinkParameters one = ib.topology.parameters(LinkId(i));
    const LinkParameters other = efa.topology.parameters(LinkId(i));
    const bool nic = ib.topology.name(LinkId(i)).find("network") != std::string::npos;
    EXPECT_EQ(one.protocols != other.protocols, nic);
    one.protocols = other.protocols;
    EXPECT_EQ(one, other);
  }
  expect_text(mistake_of(R"({"preset": "dgx-h100", "network": "infinband"})"),
              "/cluster/network: unknown kind of network \"infinband\" | ib | allowed: efa, ib, "
              "roce, tcp");
}

TEST(Presets, MistakesAreExplained) {
  const std::string unknown = mistake_of(R"({"preset": "dgx-h10", "nodes": 2})");
  EXPECT_TRUE(unknown.starts_with(
      R"(/cluster/preset: unknown preset "dgx-h10" | dgx-h100 | allowed: a100-nvlink-pair, )"))
      << unknown;
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nvlnk.bandwidth": "1GB/s"}})"),
      R"(/cluster/override/nvlnk.bandwidth: unknown key "nvlnk.bandwidth" | nvlink.bandwidth | )");
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "override": {"nvlink.speed": "1GB/s"}})"),
      R"(/cluster/override/nvlink.speed: unknown key "nvlink.speed" |  | allowed: )"
      "nvlink.bandwidth, nvlink.latency, nvlink.overhead, nvlink.sharing, nvlink.protocols, "
      "pcie.bandwidth, pcie.latency, pcie.overhead, pcie.sharing, pcie.protocols, nic.bandwidth, "
      "nic.latency, nic.overhead, nic.sharing, nic.protocols");
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
  expect_text(
      mistake_of(R"({"preset": "dgx-h100", "ranks": 8})"),
      "/cluster/ranks: unknown key \"ranks\" |  | allowed: preset, nodes, network, "
      "override, sharp, inter, fitted, routing, routing_seed, links_override, switches_down, "
      "late");
}

}  // namespace
}  // namespace collsim
