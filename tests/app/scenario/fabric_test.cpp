// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/golden.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

const std::string fabric_link = R"("link": {"bandwidth": "50GB/s"})";

std::string fabric_of(const std::string& keys) {
  return "{" + keys + ", " + fabric_link + "}";
}

std::string nodes_on(const std::string& inter) {
  return R"({"shape": "nodes", "nodes": 8, "gpus_per_node": 4, "intra": {"shape": "switch", )" +
         fabric_link + R"(}, "inter": {)" + inter + ", " + fabric_link + "}}";
}

std::string on_rails(const std::string& keys) {
  return R"({"shape": "rail", "nodes": 8, "gpus_per_node": 4, "intra": {"shape": "switch", )" +
         fabric_link + "}, " + keys + fabric_link + "}";
}

std::size_t switches_of(const Topology& topology, const std::string& level) {
  for (const auto& known : topology.parts().levels)
    if (known.name == level) return known.count;
  return 0;
}

TEST(FabricClusters, AreBuiltAsTheirKeysSay) {
  const struct {
    std::string text, description, level;
    std::size_t ranks, of_level;
  } cases[] = {
      {fabric_of(R"("shape": "fat-tree", "ports": 8, "ranks": 70)"),
       "fat-tree of 70 ranks, 50 GB/s", "edge", 70, 18},
      {fabric_of(R"("shape": "fat-tree", "ports": 8, "levels": 2)"),
       "fat-tree of 32 ranks, 50 GB/s", "spine", 32, 4},
      {fabric_of(R"("shape": "fat-tree", "ports": 64, "levels": 2, "oversubscription": 3)"),
       "fat-tree of 3,072 ranks, 50 GB/s", "spine", 3072, 16},
      {fabric_of(R"("shape": "fat-tree", "ports": 12, "oversubscription": [1, 2])"),
       "fat-tree of 576 ranks, 50 GB/s", "core", 576, 24},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 4, "ranks_per_leaf": 16, "spines": 8)"),
       "leaf-spine of 64 ranks, 50 GB/s", "spine", 64, 8},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 4, "ranks_per_leaf": 16,
                    "oversubscription": 2, "uplink": {"bandwidth": "100GB/s"})"),
       "leaf-spine of 64 ranks", "spine", 64, 4},
      {fabric_of(R"("shape": "dragonfly", "groups": 5, "routers_per_group": 4,
                    "ranks_per_router": 2, "cables": 2)"),
       "dragonfly of 40 ranks, 50 GB/s", "router", 40, 20},
      {on_rails(""), "8 nodes of 4 ranks, joined by rails", "spine", 32, 8},
      {on_rails(R"("nodes_per_leaf": 2, "spines": 3, "pxn": true, )"),
       "8 nodes of 4 ranks, joined by rails with PXN", "leaf", 32, 16},
      {nodes_on(R"("shape": "leaf-spine", "nodes_per_leaf": 2, "oversubscription": 4)"),
       "8 nodes of 4 ranks, joined by a leaf-spine", "spine", 32, 2},
      {nodes_on(R"("shape": "fat-tree", "ports": 8, "levels": 2)"),
       "8 nodes of 4 ranks, joined by a fat-tree", "leaf", 32, 8},
      {nodes_on(R"("shape": "dragonfly", "groups": 4, "routers_per_group": 2)"),
       "8 nodes of 4 ranks, joined by a dragonfly", "router", 32, 8},
      {nodes_on(R"("shape": "switch")"), "8 nodes of 4 ranks", "switch", 32, 0}};
  for (const auto& expected : cases) {
    const ReadCluster read = read_cluster_text(expected.text);
    ASSERT_EQ(read.mistakes, "") << expected.text;
    EXPECT_EQ(read.cluster->description, expected.description);
    EXPECT_EQ(read.cluster->topology.rank_count(), expected.ranks) << expected.text;
    EXPECT_EQ(switches_of(read.cluster->topology, expected.level), expected.of_level)
        << expected.text;
    const ReadCluster again = read_cluster_text(to_json(read.resolved));
    ASSERT_EQ(again.mistakes, "") << expected.text;
    EXPECT_EQ(to_json(again.resolved), to_json(read.resolved));
    EXPECT_EQ(again.cluster->topology.links().size(), read.cluster->topology.links().size());
  }
}

TEST(FabricClusters, HaveALinkPerLevelOrDimension) {
  const Cluster tree = cluster_of(fabric_of(R"("shape": "fat-tree", "ports": 8,
      "uplink": [{"bandwidth": "100GB/s"}, {"bandwidth": "200GB/s"}])"));
  EXPECT_FALSE(tree.link.has_value());
  EXPECT_EQ(tree.topology.links().back().bandwidth, gigabytes_per_second(200));
  const Cluster torus = cluster_of(
      R"({"shape": "torus", "dims": [3, 4], "link": [{"bandwidth": "10GB/s"}, {"bandwidth": "20GB/s"}]})");
  EXPECT_EQ(torus.topology.links().front().bandwidth, gigabytes_per_second(10));
  EXPECT_EQ(torus.topology.links().back().bandwidth, gigabytes_per_second(20));
  expect_text(torus.description, "torus of 3 x 4 ranks");
}

TEST(FabricClusters, LinksChangeByRangeAndLevel) {
  const auto changed = [](const std::string& item) {
    const Cluster cluster = cluster_of(
        R"({"shape": "leaf-spine", "leaves": 4, "ranks_per_leaf": 4, "spines": 2, "link":
            {"bandwidth": "50GB/s"}, "links_override": [{)" +
        item + R"(, "bandwidth": "1GB/s"}]})");
    std::string names;
    for (std::size_t id = 0; id < cluster.topology.links().size(); ++id)
      if (cluster.topology.link(LinkId(id)).bandwidth == gigabytes_per_second(1))
        names += (names.empty() ? "" : " ") + cluster.topology.name(LinkId(id));
    return names;
  };
  EXPECT_EQ(changed(R"("from": "leaf[0,2]", "to": "spine1")"), "leaf0->spine1 leaf2->spine1");
  EXPECT_EQ(changed(R"("from": "leaf0", "to": "spine[0-1]", "both": true)"),
            "leaf0->spine0 spine0->leaf0 leaf0->spine1 spine1->leaf0");
  EXPECT_EQ(changed(R"("level": "spine", "to": "leaf3")"), "spine0->leaf3 spine1->leaf3");
  EXPECT_EQ(changed(R"("level": "spine", "from": "leaf3", "both": true)"),
            "leaf3->spine0 spine0->leaf3 leaf3->spine1 spine1->leaf3");
  const std::string all = changed(R"("level": "spine")");
  EXPECT_EQ(std::count(all.begin(), all.end(), '>'), 16);
  EXPECT_EQ(all.find("gpu"), std::string::npos);
}

TEST(FabricClusters, MistakesAreExplained) {
  const std::pair<std::string, std::string> cases[] = {
      {fabric_of(R"("shape": "leaf-spine", "leaves": 4, "ranks_per_leaf": 30,
                    "oversubscription": 4)"),
       "/cluster/oversubscription: 4 to 1 would take 7.5 spines for a leaf of 30 ports at 50 GB/s, "
       "with 1 cable of 50 GB/s to each |  | choose what makes a whole number of spines, or give "
       "\"spines\""},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 4, "ranks_per_leaf": 4, "spines": 2,
                    "oversubscription": 4)"),
       "/cluster: \"spines\" and \"oversubscription\" exclude each other |  | remove one of them"},
      {fabric_of(R"("shape": "leaf-spine", "ranks_per_leaf": 4, "spines": 2)"),
       "/cluster: \"leaves\" is missing |  | "},
      {fabric_of(R"("shape": "fat-tree", "ports": 8, "levels": 2, "ranks": 40)"),
       "/cluster/ranks: fat-tree: 40 ranks; 2 levels of switches of 8 ports have at most 32 |  | "},
      {fabric_of(R"("shape": "fat-tree", "ports": 4, "levels": 2, "ranks": 8,
                    "uplink": {"bandwidth": "40GB/s"})"),
       "/cluster/ranks: fat-tree: 8 ranks; 2 levels of switches of 4 ports have at most 4; links "
       "of "
       "other rates further up take another share of the ports: change \"uplink\" or "
       "\"oversubscription\" |  | "},
      {fabric_of(R"("shape": "fat-tree", "ports": 8, "oversubscription": 0)"),
       "/cluster/oversubscription: expected how many times more bandwidth leads into a level than "
       "up from it |  | a number of more than 0 and at most 1000; 1 is none, 2 means 2:1"},
      {nodes_on(R"("shape": "fat-tree", "ports": 4, "levels": 2)"),
       "/cluster/inter/ports: fat-tree: 32 ranks; 2 levels of switches of 4 ports have at most 8 | "
       " | "},
      {nodes_on(R"("shape": "dragonfly", "groups": 5, "routers_per_group": 2)"),
       "/cluster/inter/groups: 32 NICs do not spread evenly over 5 groups of 2 routers |  | "},
      {nodes_on(R"("shape": "leaf-spine", "nodes_per_leaf": 2, "pxn": true)"),
       "/cluster/inter/pxn: unknown key \"pxn\" |  | allowed: shape, nodes_per_leaf, cables, link, "
       "uplink, spines, oversubscription"},
      {R"({"shape": "torus", "dims": [3, 4, 5], "link": [{"bandwidth": "1GB/s"}]})",
       "/cluster/link: 1 link |  | give one link, or a list of 3, one per dimension"},
      {R"({"shape": "torus", "dims": [1000000, 1000000, 1000000], "link": {"bandwidth": "1GB/s"}})",
       "/cluster/dims: 1,000,000,000,000,000,000 ranks are too many |  | at most 1,048,576 ranks"},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 2, "spines": 2,
                    "links_override": [{"level": "spin", "latency": "1us"}])"),
       "/cluster/links_override/0/level: there is no level \"spin\" | spine | levels are leaf and "
       "spine"},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 2, "spines": 2,
                    "links_override": [{"from": "leaf[0-1,1-2]", "to": "spine0",
                                        "latency": "1us"}])"),
       "/cluster/links_override/0/from: \"leaf[0-1,1-2]\" is not a list of devices: the numbers "
       "must increase |  | write \"gpu[0-3]\" for gpu0 to gpu3, or \"gpu[0,2-3]\""},
      {fabric_of(R"("shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 2, "spines": 2,
                    "links_override": [{"from": "gpu[0-1]", "to": "spine0", "latency": "1us"}])"),
       "/cluster/links_override/0/to: there is no link from any of gpu0 to gpu1 to spine0 |  | "
       "gpu0 "
       "has links to leaf0"},
      {R"({"shape": "switch", "ranks": 4, "link": {"bandwidth": "1GB/s"},
           "links_override": [{"level": "leaf", "latency": "1us"}]})",
       "/cluster/links_override/0/level: there is no level \"leaf\" |  | the links of this cluster "
       "have no levels; name their ends"}};
  for (const auto& [text, mistake] : cases) expect_text(mistake_of(text), mistake);
}

std::string dgx(const std::string& inter) {
  return R"({"preset": "dgx-h100", "nodes": 8, "inter": {)" + inter + "}}";
}

TEST(PresetClusters, AreJoinedByOtherNetworks) {
  const Cluster rails = cluster_of(dgx(R"("shape": "rail", "oversubscription": 2, "pxn": true)"));
  EXPECT_EQ(rails.description, "dgx-h100 x 8 (64 ranks), joined by rails with PXN");
  EXPECT_EQ(switches_of(rails.topology, "leaf"), 8U);
  EXPECT_EQ(switches_of(rails.topology, "spine"), 4U);
  EXPECT_EQ(rails.topology.parts().routing, Routing::usual);
  EXPECT_TRUE(rails.topology.carries(LinkProtocol::ll128));
  // The NICs' latency is that of a way through the network: cables above add none.
  const Topology& plain =
      cluster_of(R"({"preset": "dgx-h100", "nodes": 8, "routing": "first"})").topology;
  const auto latency = [](const Topology& topology, std::size_t to) {
    Router router(topology);
    Time sum;
    for (const LinkId id : router.route(Rank(0), Rank(to))) sum += topology.link(id).latency;
    return sum;
  };
  EXPECT_EQ(latency(rails.topology, 8), latency(plain, 8));
  const Topology spines =
      cluster_of(dgx(R"("shape": "leaf-spine", "nodes_per_leaf": 2, "spines": 4)")).topology;
  EXPECT_EQ(latency(spines, 63), latency(plain, 63));
  EXPECT_EQ(cluster_of(dgx(R"("shape": "switch")")).description, "dgx-h100 x 8 (64 ranks)");
}

TEST(PresetClusters, ShowWhatJoinsThemWhenResolved) {
  for (const std::string inter :
       {R"("shape": "rail", "oversubscription": 2)", R"("shape": "fat-tree", "ports": 16)",
        R"("shape": "rail", "uplink": {"bandwidth": "100GB/s", "latency": "1us"})"}) {
    const ReadCluster read = read_cluster_text(dgx(inter));
    const ReadCluster again = read_cluster_text(to_json(read.resolved));
    EXPECT_EQ(read.mistakes + again.mistakes, "") << inter;
    EXPECT_EQ(to_json(again.resolved), to_json(read.resolved));
  }
}

TEST(PresetClusters, RefuseNetworksThatDoNotFit) {
  EXPECT_EQ(mistake_of(dgx(R"("shape": "rail", "link": {"bandwidth": "50GB/s"})")),
            "/cluster/inter: the preset says what the link of its NICs is |  | leave \"link\" out, "
            "or change its values by \"override\": {\"nic.bandwidth\": \"200Gb/s\"}");
  EXPECT_EQ(mistake_of(dgx(R"("shape": "leaf-spine", "nodes_per_leaf": 2, "spins": 4)")),
            "/cluster/inter/spins: unknown key \"spins\" | spines | ");
  EXPECT_EQ(mistake_of(R"({"preset": "dgx-2", "inter": {"shape": "fat-tree", "ports": 2}})"),
            "/cluster/inter/ports: fat-tree: 8 ranks; 3 levels of switches of 2 ports have at most "
            "2 |  | ");
  EXPECT_EQ(mistake_of(R"({"preset": "gh200-quad", "inter": 3})").substr(0, 14), "/cluster/inter");
}

}  // namespace
}  // namespace collsim
