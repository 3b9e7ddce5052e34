// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

std::string with_link(const std::string& keys) {
  return "{" + keys + R"(, "link": {"bandwidth": "25GB/s", "overhead": "5us"}})";
}

std::string on_two_nodes(const std::string& intra, const std::string& more = {}) {
  return R"({"shape": "nodes", "nodes": 2, "gpus_per_node": 4, )" + more + R"("intra": )" + intra +
         R"(, "inter": {"link": {"bandwidth": "50GB/s"}}})";
}

const std::string plain_link = R"("link": {"bandwidth": "400GB/s"})";

TEST(Shapes, AreBuiltAsTheirKeysSay) {
  const struct {
    std::string keys, description;
    std::size_t ranks, links;
  } cases[] = {
      {R"("shape": "chain", "ranks": 8)", "chain of 8 ranks, 25 GB/s, 5 us per message", 8, 14},
      {R"("shape": "chain", "ranks": 1)", "chain of 1 rank, 25 GB/s, 5 us per message", 1, 0},
      {R"("shape": "ring", "ranks": 8)", "ring of 8 ranks, 25 GB/s, 5 us per message", 8, 16},
      {R"("shape": "fully-connected", "ranks": 4)",
       "fully-connected network of 4 ranks, 25 GB/s, 5 us per message", 4, 12},
      {R"("shape": "switch", "ranks": 4)", "switch of 4 ranks, 25 GB/s, 5 us per message", 4, 8},
      {R"("shape": "torus", "dims": [3, 4])", "torus of 3 x 4 ranks, 25 GB/s, 5 us per message", 12,
       48},
      {R"("shape": "mesh", "dims": [2, 2])", "mesh of 2 x 2 ranks, 25 GB/s, 5 us per message", 4,
       8},
      {R"("shape": "hypercube", "ranks": 8)", "hypercube of 8 ranks, 25 GB/s, 5 us per message", 8,
       24},
      {R"("shape": "fat-tree", "ports": 4)", "fat-tree of 16 ranks, 25 GB/s, 5 us per message", 16,
       96},
      {R"("shape": "fat-tree", "ranks": 16)", "fat-tree of 16 ranks, 25 GB/s, 5 us per message", 16,
       96},
      {R"("shape": "dragonfly", "groups": 3, "routers_per_group": 2, "ranks_per_router": 2)",
       "dragonfly of 12 ranks, 25 GB/s, 5 us per message", 12, 36},
  };
  for (const auto& expected : cases) {
    const Cluster cluster = cluster_of(with_link(expected.keys));
    EXPECT_EQ(cluster.description, expected.description);
    EXPECT_EQ(cluster.topology.rank_count(), expected.ranks) << expected.keys;
    EXPECT_EQ(cluster.topology.links().size(), expected.links) << expected.keys;
    ASSERT_TRUE(cluster.link.has_value());
    EXPECT_EQ(*cluster.link, (LinkParameters{gigabytes_per_second(25), Time{}, microseconds(5)}));
    EXPECT_FALSE(cluster.overridden);
    EXPECT_EQ(cluster.preset, "");
  }
}

TEST(Shapes, AreKnownByTheNamesInUse) {
  const ReadCluster read = read_cluster_text(with_link(R"("shape": "Full_Mesh", "ranks": 4)"));
  EXPECT_EQ(read.mistakes, "");
  EXPECT_EQ(read.resolved.find("shape")->string(), "fully-connected");
}

TEST(Shapes, LinksTakeAllTheirKeys) {
  const Cluster cluster = cluster_of(
      R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "200Gb/s", "latency": "1.5us",
          "overhead": "2us", "sharing": "fair", "duplex": "half"}})");
  EXPECT_EQ(*cluster.link, (LinkParameters{gigabytes_per_second(25), nanoseconds(1500),
                                           microseconds(2), Sharing::fair, true}));
  EXPECT_EQ(cluster.topology.parameters(LinkId(0)), *cluster.link);
  expect_text(cluster.description,
              "ring of 4 ranks, 25 GB/s, 2 us per message, 1.5 us latency, shared fairly, "
              "half duplex");
}

TEST(Shapes, LinksMayCostWhatTheSizeOfAMessageSays) {
  const ReadCluster read = read_cluster_text(
      R"({"shape": "ring", "ranks": 4, "link": {"segments": [
          {"up_to": "4KiB", "overhead": "2us", "latency": "1us", "bandwidth": "1GB/s"},
          {"overhead": "6us", "bandwidth": "4GB/s"}]}})");
  ASSERT_EQ(read.mistakes, "");
  const LinkParameters link = *read.cluster->link;
  ASSERT_EQ(link.segments.size(), 2U);
  EXPECT_EQ(link.segments[0],
            (LinkSegment{4096, gigabytes_per_second(1), microseconds(1), microseconds(2)}));
  EXPECT_EQ(row_for(link.segments, 4096), link.segments[0]);
  EXPECT_EQ(row_for(link.segments, 4097), link.segments[1]);
  EXPECT_EQ(link.bandwidth, gigabytes_per_second(4));
  EXPECT_EQ(link.startup, microseconds(2));
  EXPECT_EQ(link.latency, Time{});
  expect_text(read.cluster->description,
              "ring of 4 ranks, up to 4 GB/s by size of message (2 rows)");
}

TEST(Shapes, SegmentsGoWithNothingElse) {
  const auto mistakes = [](const std::string& link) {
    return read_cluster_text(R"({"shape": "ring", "ranks": 4, "link": {)" + link + "}}").mistakes;
  };
  const std::string rows = R"("segments": [{"up_to": "4KiB", "bandwidth": "1GB/s"},
                                           {"bandwidth": "4GB/s"}])";
  expect_contains(mistakes(rows + R"(, "latency": "1us")"), "has segments and");
  expect_contains(mistakes(rows + R"(, "sharing": "fair")"), "shared fairly");
  expect_contains(mistakes(rows + R"(, "protocols": {"LL": {}})"), "leave one of them out");
  EXPECT_EQ(mistakes(rows + R"(, "latency": "1us")").find("unknown key"), std::string::npos);
  expect_contains(mistakes(R"("segmnts": [{"bandwidth": "1GB/s"}])"),
                  "unknown key \"segmnts\" | segments");
  expect_contains(mistakes(R"("segments": [])"), "1 to 100 rows");
  expect_contains(mistakes(R"("segments": [{"bandwidth": "1GB/s"}, {"bandwidth": "4GB/s"}])"),
                  "up_to");
  expect_contains(mistakes(R"("segments": [{"up_to": "4KiB", "bandwidth": "1GB/s"},
                                           {"up_to": "1KiB", "bandwidth": "4GB/s"}])"),
                  "/segments/1/up_to: rows of segments go from short messages to long");
  expect_contains(read_cluster_text(
                      R"({"shape": "ring", "ranks": 4, "link": {)" + rows +
                      R"(}, "links_override": [{"from": "gpu0", "to": "gpu1", "latency": "1us"}]})")
                      .mistakes,
                  "change its");
}

TEST(Overrides, WithSegmentsKeepWhatTheyDoNotSay) {
  const auto with_overrides = [](const std::string& link, const std::string& more = "",
                                 const std::string& second = "") {
    return read_cluster_text(R"({"shape": "chain", "ranks": 2, "link": {"bandwidth": "3GB/s", )" +
                             link + R"(}, "links_override": [{"from": "gpu0", "to": "gpu1",
                               "segments": [{"bandwidth": "1GB/s"}])" +
                             more + "}" + second + "]}");
  };
  const ReadCluster half = with_overrides(R"("duplex": "half")", R"(, "both": true)");
  ASSERT_EQ(half.mistakes, "");
  EXPECT_TRUE(half.cluster->topology.parameters(LinkId(0)).half_duplex);
  EXPECT_EQ(half.cluster->topology.parameters(LinkId(0)).bandwidth, gigabytes_per_second(1));
  expect_contains(with_overrides(R"("sharing": "fair")").mistakes, "shared fairly");
  EXPECT_EQ(with_overrides(R"("sharing": "fair")", R"(, "sharing": "exclusive")").mistakes, "");
  expect_contains(with_overrides(R"("duplex": "half")").mistakes, "both directions need the same");
  expect_contains(with_overrides(R"("duplex": "full")", "", R"(, {"from": "gpu0", "to": "gpu1",
                                     "segments": [{"bandwidth": "2GB/s"}]})")
                      .mistakes,
                  "both say \"segments\"");
}

// Nothing that an item or the cluster says of a link is lost by segments of another item.
TEST(Shapes, SegmentsOfAnOverrideLoseNothing) {
  const std::string segments =
      R"({"from": "gpu0", "to": "gpu1", "segments": [{"bandwidth": "1GB/s"}]})";
  const auto mistakes = [](const std::string& link, const std::string& items) {
    return read_cluster_text(R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s")" +
                             link + R"(}, "links_override": [)" + items + "]}")
        .mistakes;
  };
  EXPECT_EQ(mistakes("", segments), "");
  const std::string latency = R"({"from": "gpu0", "to": "gpu1", "latency": "5us"})";
  expect_contains(mistakes("", latency + ", " + segments),
                  "item 0 of \"links_override\" (counted from 0) says the \"latency\" of the link "
                  "gpu0->gpu1, and the segments of item 1 would replace it");
  expect_contains(mistakes(R"(, "protocols": {"LL": {"hop": "1us"}})", segments),
                  "the link says what NCCL's protocols cost, and would lose it");
}

TEST(Shapes, ABandwidthOfZeroIsACableThatIsDown) {
  const auto mistakes = [](const std::string& link, const std::string& items) {
    return read_cluster_text(R"({"shape": "ring", "ranks": 4, "link": {"bandwidth": ")" + link +
                             R"("}, "links_override": [)" + items + "]}")
        .mistakes;
  };
  expect_contains(mistakes("1GB/s", R"({"from": "gpu0", "to": "gpu1", "bandwidth": "0"})"),
                  "a bandwidth must not be 0 |  | a cable that is broken is \"down\": true");
  expect_lacks(mistakes("0", ""), "down");
}

TEST(Shapes, OfNodesHaveANicPerGpuUnlessSaid) {
  const ReadCluster read =
      read_cluster_text(on_two_nodes(R"({"shape": "switch", )" + plain_link + "}"));
  ASSERT_EQ(read.mistakes, "");
  EXPECT_EQ(read.resolved.find("nics_per_node")->integer(), 4);
  expect_text(read.cluster->description, "2 nodes of 4 ranks");
  EXPECT_EQ(read.cluster->topology.dims(), (std::vector<int>{2, 4}));
  EXPECT_FALSE(read.cluster->link.has_value());
  Router router(read.cluster->topology);
  EXPECT_EQ(router.route(Rank(0), Rank(4)).size(), 2U);

  const Cluster shared = cluster_of(on_two_nodes(
      R"({"shape": "torus", "dims": [2, 2], )" + plain_link + "}", R"("nics_per_node": 2, )"));
  EXPECT_EQ(Router(shared.topology).route(Rank(0), Rank(4)).size(), 4U);
}

TEST(Shapes, ResolvedShowsEveryDefault) {
  const ReadCluster read =
      read_cluster_text(R"({"shape": "chain", "ranks": 8, "link": {"bandwidth": "25 GB/s"}})");
  EXPECT_EQ(to_json(read.resolved, -1),
            R"({"shape":"chain","ranks":8,"link":{"bandwidth":"25GB/s","latency":"0s",)"
            R"("overhead":"0s","sharing":"exclusive","duplex":"full"}})");
}

TEST(Clusters, ResolvedIsAClusterThatComesOutTheSame) {
  for (const std::string& text :
       {with_link(R"("shape": "torus", "dims": [3, 4], "late": {"3": "5 ms", "0": "0"})"),
        std::string(R"({"shape": "ring", "ranks": 4, "link": {"segments": [
            {"up_to": "4KiB", "overhead": "2us", "bandwidth": "1GB/s"}, {"bandwidth": "4GB/s"}]}})"),
        with_link(R"("shape": "fat-tree", "ranks": 16,
                     "links_override": [{"from": "gpu1", "to": "switch0", "latency": "3 us"}])"),
        on_two_nodes(R"({"shape": "ring", )" + plain_link + "}"),
        std::string(R"({"preset": "dgx-2"})"),
        std::string(R"({"preset": "a100", "nodes": 2, "override": {"nic.bandwidth": "100 Gb/s"}})"),
        std::string(
            R"({"devices": [{"id": "g", "kind": "gpu", "count": 2}, {"id": "n", "kind": "nic"}],
            "links": [{"from": "g[0-1]", "to": "n", "bandwidth": "1 GB/s"}],
            "nodes": 2, "network": {"link": {"bandwidth": "1 GB/s"}}})")}) {
    const ReadCluster first = read_cluster_text(text);
    ASSERT_EQ(first.mistakes, "") << text;
    const ReadCluster second = read_cluster_text(to_json(first.resolved));
    ASSERT_EQ(second.mistakes, "") << text;
    EXPECT_EQ(to_json(first.resolved), to_json(second.resolved));
    EXPECT_EQ(first.cluster->description, second.cluster->description);
    EXPECT_EQ(first.cluster->late, second.cluster->late);
    const Topology& a = first.cluster->topology;
    const Topology& b = second.cluster->topology;
    ASSERT_EQ(a.links().size(), b.links().size());
    for (std::size_t id = 0; id < a.links().size(); ++id) {
      EXPECT_EQ(a.parameters(LinkId(id)), b.parameters(LinkId(id)));
      EXPECT_EQ(a.name(LinkId(id)), b.name(LinkId(id)));
    }
  }
}

TEST(Clusters, ResolvedValuesKeepThePlaceWhereTheyWereWritten) {
  const ReadCluster read = read_cluster_text(with_link(R"("shape": "chain", "ranks": 8)"));
  const JsonValue& link = *read.resolved.find("link");
  EXPECT_NE(link.find("bandwidth")->place, SourceRange{});
  EXPECT_EQ(link.find("latency")->place, SourceRange{});
}

TEST(Clusters, AreDescribedInOneWayOnly) {
  const std::string ways =
      R"("shape" with its size and "link", "preset", "devices" with "links", or the file of a real )"
      R"(machine as "nccl_topo" or "topo_matrix")";
  EXPECT_EQ(mistake_of("{}"), "/cluster: the cluster is not described |  | give " + ways);
  EXPECT_EQ(mistake_of(R"({"ranks": 8, "link": {"bandwidth": "25GB/s"}})"),
            "/cluster: the cluster is not described |  | give " + ways);
  EXPECT_EQ(
      mistake_of(with_link(R"("shape": "chain", "ranks": 8, "preset": "dgx-h100")")),
      R"(/cluster/preset: "shape" and "preset" describe the cluster in 2 ways |  | keep one: )" +
          ways);
  EXPECT_EQ(mistake_of(R"({"shape": "chain", "preset": "dgx-h100", "devices": [], "links": []})"),
            R"(/cluster/preset: "shape", "preset" and "devices" describe the cluster in 3 ways | )"
            " | keep one: " +
                ways);
  expect_text(
      mistake_of("[]"),
      "/cluster: expected an object, but this is an array |  | write { \"key\": value, ... }");
}

TEST(Clusters, MistakesOfShapesAreExplained) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"shape": "chian", "rnaks": 3})",
       "/cluster: \"link\" is missing |  | \n"
       "/cluster/shape: unknown shape \"chian\" | chain | allowed: chain, ring, fully-connected, "
       "switch, torus, mesh, hypercube, nodes, fat-tree, leaf-spine, rail, dragonfly\n"
       "/cluster/rnaks: unknown key \"rnaks\" | ranks | "},
      {with_link(R"("shape": "chain", "dims": [8])"),
       R"(/cluster/dims: "dims" does not belong to shape "chain" |  | "chain" takes ranks and link)"},
      {with_link(R"("shape": "torus", "ranks": 8)"),
       R"(/cluster/ranks: "ranks" does not belong to shape "torus" |  | "torus" takes dims and link)"},
      {with_link(R"("shape": "chain", "ranks": 0)"),
       "/cluster/ranks: 0 is too small |  | allowed: 1 to 1048576"},
      {R"({"shape": "chain", "ranks": 8})", "/cluster: \"link\" is missing |  | "},
      {R"({"shape": "chain", "ranks": 8, "link": {}})",
       "/cluster/link: \"bandwidth\" is missing |  | "},
      {R"({"shape": "chain", "ranks": 8, "link": {"bandwidth": "25"}})",
       "/cluster/link/bandwidth: \"25\" has no unit |  | write \"25GB/s\" (bytes) or \"25Gb/s\" "
       "(bits; 8 times slower)"},
      {R"({"shape": "chain", "ranks": 8, "link": {"bandwidth": "1B/s", "latency": "5000000s"}})",
       "/cluster/link/latency: a latency of 5000000 s is too long |  | at most 53 days"},
      {R"({"shape": "chain", "ranks": 8, "link": {"bandwidth": "1B/s", "overhead": "5000000s"}})",
       "/cluster/link/overhead: an overhead of 5000000 s is too long |  | at most 53 days"},
      {with_link(R"("shape": "torus", "dims": [])"),
       "/cluster/dims: expected a list of sizes, but this is an empty list |  | write [4, 4] for "
       "16 ranks in 4 rows of 4"},
      {with_link(R"("shape": "torus", "dims": [4, 0])"),
       "/cluster/dims/1: expected the size of a dimension, a whole number |  | allowed: 1 to "
       "1048576"},
      {with_link(R"("shape": "hypercube", "ranks": 6)"),
       "/cluster/ranks: hypercube: 6 ranks; only powers of two are possible, such as 4 or 8 |  | "},
      {with_link(R"("shape": "fat-tree", "ranks": 100)"),
       "/cluster/ranks: no full fat-tree has 100 ranks |  | switches of k ports make k^3/4 ranks: "
       "54 "
       "(6 ports), 128 (8 ports); give \"ports\" too for one that is partly filled"},
      {with_link(R"("shape": "fat-tree", "ranks": 1)"),
       "/cluster/ranks: no full fat-tree has 1 rank |  | switches of k ports make k^3/4 ranks: 2 "
       "(2 "
       "ports); give \"ports\" too for one that is partly filled"},
      {with_link(R"("shape": "fat-tree", "ports": 3)"),
       "/cluster/ports: fat-tree: switches of 3 ports; an even number of at least 2 is needed |  "
       "| "},
      {on_two_nodes(R"({"shape": "switch", )" + plain_link + "}", R"("nics_per_node": 3, )"),
       "/cluster/nics_per_node: 4 GPUs cannot share 3 NICs evenly |  | nics_per_node must divide "
       "gpus_per_node: 1, 2 and 4"},
      {on_two_nodes(R"({"shape": "torus", "dims": [2, 3], )" + plain_link + "}"),
       "/cluster/intra/dims: the sizes in \"dims\" make 6 GPUs, but a node has 4 GPUs |  | "},
      {on_two_nodes(R"({"shape": "fat-tree", )" + plain_link + "}"),
       "/cluster/intra/shape: unknown shape \"fat-tree\" |  | allowed: chain, ring, "
       "fully-connected, switch, torus, mesh, hypercube"},
      {on_two_nodes(R"({"shape": "switch", "ranks": 4, )" + plain_link + "}"),
       "/cluster/intra/ranks: \"ranks\" does not belong to shape \"switch\" |  | \"switch\" takes "
       "link"},
  };
  for (const auto& [text, expected] : cases) expect_text(mistake_of(text), expected);
}

TEST(Clusters, AbsurdSizesAreRefusedBeforeAnythingIsBuilt) {
  const std::pair<std::string, std::string> cases[] = {
      {with_link(R"("shape": "chain", "ranks": 1000000000000)"),
       "/cluster/ranks: 1000000000000 is too large |  | allowed: 1 to 1048576"},
      {with_link(R"("shape": "fully-connected", "ranks": 8192)"),
       "/cluster/ranks: 67,100,672 links are too many |  | at most 16,777,216 links"},
      {with_link(R"("shape": "hypercube", "ranks": 1048576)"),
       "/cluster/ranks: 20,971,520 links are too many |  | at most 16,777,216 links"},
      {with_link(R"("shape": "torus", "dims": [1048576, 1048576, 1048576])"),
       "/cluster/dims: 1,152,921,504,606,846,976 ranks are too many |  | at most 1,048,576 ranks"},
      {with_link(R"("shape": "mesh", "dims": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"),
       "/cluster/dims: 21 dimensions are too many |  | at most 20 dimensions"},
      {with_link(R"("shape": "dragonfly", "groups": 1048576, "routers_per_group": 1048576,
                    "ranks_per_router": 1048576)"),
       "/cluster/groups: 1,152,921,504,606,846,976 ranks are too many |  | at most 1,048,576 "
       "ranks"},
      {R"({"shape": "nodes", "nodes": 1048576, "gpus_per_node": 1048576, "intra": {"shape": "switch",
           "link": {"bandwidth": "1B/s"}}, "inter": {"link": {"bandwidth": "1B/s"}}})",
       "/cluster/nodes: 1,099,511,627,776 ranks are too many |  | at most 1,048,576 ranks"},
      {R"({"preset": "dgx-h100", "nodes": 1000000})",
       "/cluster/nodes: 1000000 is too large |  | allowed: 1 to 131072"},
  };
  for (const auto& [text, expected] : cases) expect_text(mistake_of(text), expected);
}

TEST(Clusters, MistakesAreReportedEachTimeAClusterIsRead) {
  Diagnostics diagnostics;
  JsonValue resolved;
  EXPECT_FALSE(read_cluster(JsonValue::object(), "/cluster", diagnostics, resolved).has_value());
  EXPECT_FALSE(read_cluster(JsonValue::object(), "/cluster", diagnostics, resolved).has_value());
  EXPECT_EQ(diagnostics.size(), 1U);
}

TEST(LinksOverride, ChangesOneDirectionUnlessBothIsSaid) {
  const Cluster one = cluster_of(with_link(R"("shape": "chain", "ranks": 4,
      "links_override": [{"from": "gpu1", "to": "gpu2", "bandwidth": "1GB/s"}])"));
  EXPECT_TRUE(one.overridden);
  expect_text(one.description,
              "chain of 4 ranks, 25 GB/s, 5 us per message, link gpu1 -> gpu2 changed");
  EXPECT_EQ(one.link->bandwidth, gigabytes_per_second(25));
  const auto link = [](const Cluster& cluster, std::size_t from, std::size_t to) {
    return cluster.topology.parameters(
        cluster.topology.links_between(NodeId(from), NodeId(to)).front());
  };
  EXPECT_EQ(link(one, 1, 2).bandwidth, gigabytes_per_second(1));
  EXPECT_EQ(link(one, 1, 2).startup, microseconds(5)) << "what is not written stays";
  EXPECT_EQ(link(one, 2, 1).bandwidth, gigabytes_per_second(25));

  const Cluster both = cluster_of(with_link(R"("shape": "chain", "ranks": 4, "links_override": [
      {"from": "gpu1", "to": "gpu2", "bandwidth": "1GB/s", "both": true},
      {"from": "gpu2", "to": "gpu1", "overhead": "0"}])"));
  expect_text(both.description, "chain of 4 ranks, 25 GB/s, 5 us per message, 2 links changed");
  EXPECT_EQ(link(both, 2, 1), (LinkParameters{gigabytes_per_second(1)}))
      << "later changes build on earlier ones";
}

TEST(LinksOverride, WithTheValuesThatHoldAnywayChangesNothing) {
  const Cluster cluster = cluster_of(with_link(R"("shape": "ring", "ranks": 4,
      "links_override": [{"from": "gpu1", "to": "gpu2", "bandwidth": "25GB/s"}])"));
  EXPECT_FALSE(cluster.overridden);
  expect_text(cluster.description, "ring of 4 ranks, 25 GB/s, 5 us per message");
  EXPECT_FALSE(cluster.topology.turnings().empty());
}

TEST(LinksOverride, ChangesSwitchesNicsAndPresetsToo) {
  const Cluster box = cluster_of(R"({"preset": "pcie-gen4-8gpu",
      "links_override": [{"from": "plx0", "to": "cpu0", "bandwidth": "6GB/s"},
                         {"from": "node0.gpu0", "to": "node0.plx0", "bandwidth": "12GB/s"}]})");
  expect_text(box.description, "pcie-gen4-8gpu (8 ranks), 2 links changed");
  const Cluster two = cluster_of(R"({"preset": "pcie-gen4-8gpu", "nodes": 2,
      "links_override": [{"from": "node1.nic0", "to": "network", "bandwidth": "6GB/s", "both": true}]})");
  expect_text(two.description, "pcie-gen4-8gpu x 2 (16 ranks), 2 links changed");
}

TEST(LinksOverride, TwoItemsMayNotSayTheSameOfALink) {
  expect_text(
      mistake_of(with_link(R"("shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 2,
          "links_override": [{"from": "gpu0", "to": "leaf0", "latency": "1us"},
                             {"level": "spine", "bandwidth": "10GB/s"},
                             {"from": "leaf[0-1]", "to": "spine1", "bandwidth": "5GB/s"}])")),
      "/cluster/links_override/2/bandwidth: items 1 and 2 of \"links_override\" (counted from 0) "
      "both say \"bandwidth\" of the link leaf0->spine1 |  | take the link out of one of them");
}

TEST(LinksOverride, MistakesAreExplained) {
  const auto mistake = [](const std::string& items) {
    return mistake_of(with_link(R"("shape": "chain", "ranks": 4, "links_override": )" + items));
  };
  expect_text(mistake(R"([{"from": "gpu1", "to": "gpu3", "bandwidth": "1GB/s"}])"),
              "/cluster/links_override/0/to: there is no link from gpu1 to gpu3 |  | gpu1 has "
              "links to gpu2 and gpu0");
  expect_text(
      mistake(R"([{"from": "gpu9", "to": "gpu3", "bandwidth": "1GB/s"}])"),
      "/cluster/links_override/0/from: there is no device \"gpu9\" |  | devices are gpu[0-3]");
  expect_text(mistake(R"([{"from": "gpu1", "to": "pgu2", "bandwidth": "1GB/s"}])"),
              "/cluster/links_override/0/to: there is no device \"pgu2\" | gpu2 | devices are "
              "gpu[0-3]");
  expect_text(mistake(R"([{"from": "gpu1", "to": "gpu2"}])"),
              "/cluster/links_override/0: no parameter of the link is given |  | give bandwidth, "
              "latency, overhead, segments, sharing, duplex or down");
  expect_text(mistake(R"([{"from": "gpu1", "to": "gpu2", "bandwith": "1GB/s"}])"),
              "/cluster/links_override/0: no parameter of the link is given |  | give bandwidth, "
              "latency, overhead, segments, sharing, duplex or down\n"
              "/cluster/links_override/0/bandwith: unknown key \"bandwith\" | bandwidth | ");
  expect_text(
      mistake(R"([{"to": "gpu2", "bandwidth": "1"}])"),
      "/cluster/links_override/0: \"from\" is missing |  | \n"
      "/cluster/links_override/0/bandwidth: \"1\" has no unit |  | write \"1GB/s\" (bytes) or "
      "\"1Gb/s\" (bits; 8 times slower)");
  expect_text(mistake(R"({"from": "gpu1"})"),
              "/cluster/links_override: expected a list of links, but this is an object |  | write "
              "[{\"from\": \"gpu0\", \"to\": \"gpu1\", \"bandwidth\": \"10GB/s\"}]");
  std::string many = "[{}";
  for (int i = 0; i < 1024; ++i) many += ",{}";
  expect_text(mistake(many + "]"),
              "/cluster/links_override: 1025 link changes are too many |  | at most 1,024 changes");
}

TEST(LinksOverride, OfHalfDuplexNeedsBothDirections) {
  const std::string chain =
      R"({"shape": "chain", "ranks": 2, "link": {"bandwidth": "25GB/s", "duplex": "half"},
          "links_override": [{"from": "gpu0", "to": "gpu1", "bandwidth": "1GB/s", "both": )";
  expect_text(
      mistake_of(chain + "false}]}"),
      "/cluster/links_override: link gpu1->gpu0 is half duplex: both directions need the same "
      "sharing and bandwidth |  | \"both\": true changes both directions");
  EXPECT_TRUE(cluster_of(chain + "true}]}").overridden);
}

TEST(Late, SaysWhichRanksStartLate) {
  const Cluster cluster = cluster_of(
      with_link(R"("shape": "chain", "ranks": 11, "late": {"10": "5ms", "3": "1us", "4": "0"})"));
  EXPECT_EQ(cluster.late,
            (std::vector<std::pair<Rank, Time>>{
                {Rank(3), microseconds(1)}, {Rank(4), Time{}}, {Rank(10), milliseconds(5)}}));
}

TEST(Late, MistakesAreExplained) {
  const auto mistake = [](const std::string& late, const std::string& ranks = "4") {
    return mistake_of(with_link(R"("shape": "chain", "ranks": )" + ranks + R"(, "late": )" + late));
  };
  expect_text(mistake(R"({"4": "5ms"})"),
              "/cluster/late/4: there is no rank 4 |  | ranks are 0 to 3");
  expect_text(mistake(R"({"1": "5ms"})", "1"),
              "/cluster/late/1: there is no rank 1 |  | the only rank is 0");
  expect_text(mistake(R"({"03": "5ms"})"),
              "/cluster/late/03: \"03\" is not a rank |  | ranks are 0 to 3");
  expect_text(mistake(R"({"99999999999999999999": "5ms"})"),
              "/cluster/late/99999999999999999999: \"99999999999999999999\" is not a rank |  | "
              "ranks are 0 to 3");
  expect_text(
      mistake(R"({"1": "5"})"),
      "/cluster/late/1: \"5\" has no unit |  | write \"5us\" (microseconds), \"5ns\", \"5ms\" "
      "or \"5s\"");
  expect_text(
      mistake(R"(["5ms"])"),
      "/cluster/late: expected an object, but this is an array |  | write { \"key\": value, "
      "... }");
}

}  // namespace
}  // namespace collsim
