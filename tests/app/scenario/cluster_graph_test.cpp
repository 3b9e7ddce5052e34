// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

// Four GPUs behind two switches of one CPU.
std::string box(const std::string& links, const std::string& more = {}) {
  return R"({"devices": [{"id": "gpu", "kind": "gpu", "count": 4},
                         {"id": "sw", "kind": "switch", "count": 2},
                         {"id": "cpu", "kind": "cpu"}, {"id": "nic", "kind": "nic"}],
             "links": [)" +
         links + "]" + more + "}";
}

const std::string tree =
    R"({"from": "gpu[0-1]", "to": "sw0", "bandwidth": "24GB/s", "latency": "1us"},
       {"from": "gpu[2,3]", "to": "sw1", "bandwidth": "24GB/s"},
       {"from": "sw[0-1]", "to": "cpu", "bandwidth": "20GB/s"},
       {"from": "sw0", "to": "nic", "bandwidth": "12GB/s"})";

const std::string network = R"(, "network": {"link": {"bandwidth": "10GB/s"}})";

std::vector<std::string> names_of(const Topology& topology) {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < topology.node_count(); ++node)
    names.push_back(topology.name(NodeId(node)));
  return names;
}

std::string link_mistake(const std::string& link) {
  return mistake_of(box("{" + link + R"(, "bandwidth": "1GB/s"})"));
}

TEST(Graph, IsBuiltAsDrawn) {
  const Cluster cluster = cluster_of(box(tree));
  expect_text(cluster.description, "graph of 4 ranks");
  EXPECT_FALSE(cluster.link.has_value());
  EXPECT_EQ(names_of(cluster.topology),
            (std::vector<std::string>{"gpu0", "gpu1", "gpu2", "gpu3", "sw0", "sw1", "cpu", "nic"}));
  EXPECT_EQ(cluster.topology.links().size(), 14U) << "links are cables of two directions";
  Router router(cluster.topology);
  EXPECT_EQ(router.route(Rank(0), Rank(1)).size(), 2U);
  EXPECT_EQ(router.route(Rank(0), Rank(3)).size(), 4U);
  EXPECT_EQ(cluster.topology.parameters(LinkId(0)),
            (LinkParameters{gigabytes_per_second(24), microseconds(1)}));
}

TEST(Graph, RangesOfEqualLengthPairUp) {
  const Cluster cluster = cluster_of(
      R"({"devices": [{"id": "gpu", "kind": "gpu", "count": 3}, {"id": "p", "kind": "switch", "count": 3}],
          "links": [{"from": "gpu[0-2]", "to": "p[0,1-2]", "bandwidth": "1GB/s"},
                    {"from": "p0", "to": "p[1-2]", "bandwidth": "1GB/s"}]})");
  std::string links;
  for (std::size_t id = 0; id < cluster.topology.links().size(); id += 2)
    links += cluster.topology.name(LinkId(id)) + " ";
  expect_text(links, "gpu0->p0 gpu1->p1 gpu2->p2 p0->p1 p0->p2 ");
}

TEST(Graph, IsCopiedForEveryNode) {
  const Cluster cluster = cluster_of(box(tree, R"(, "nodes": 2)" + network));
  expect_text(cluster.description, "2 nodes of 4 ranks");
  EXPECT_EQ(cluster.topology.dims(), (std::vector<int>{2, 4}));
  EXPECT_EQ(
      names_of(cluster.topology),
      (std::vector<std::string>{"gpu0", "gpu1", "gpu2", "gpu3", "node0.sw0", "node0.sw1",
                                "node0.cpu", "node0.nic", "gpu4", "gpu5", "gpu6", "gpu7",
                                "node1.sw0", "node1.sw1", "node1.cpu", "node1.nic", "network"}));
  Router router(cluster.topology);
  EXPECT_EQ(router.route(Rank(0), Rank(4)).size(), 6U);
  for (std::size_t from = 0; from < 8; ++from)
    for (std::size_t to = 0; to < 8; ++to)
      if (from != to) {
        EXPECT_FALSE(router.route(Rank(from), Rank(to)).empty());
      }
}

TEST(Graph, OfOneNodeNeedsNoNetworkAndDoesNotBuildIt) {
  EXPECT_EQ(cluster_of(box(tree, network)).topology.node_count(), 8U);
  EXPECT_EQ(cluster_of(box(tree, R"(, "nodes": 1)")).topology.node_count(), 8U);
}

TEST(Graph, MistakesOfRangesAreExplained) {
  const std::string write = R"(write "gpu[0-3]" for gpu0 to gpu3, or "gpu[0,2-3]")";
  EXPECT_EQ(
      link_mistake(R"("from": "gpu[3-0]", "to": "sw0")"),
      R"(/cluster/links/0/from: "gpu[3-0]" is not a list of devices: the numbers must increase | )"
      " | " +
          write);
  EXPECT_EQ(
      link_mistake(R"("from": "gpu[0,0]", "to": "sw0")"),
      R"(/cluster/links/0/from: "gpu[0,0]" is not a list of devices: the numbers must increase | )"
      " | " +
          write);
  EXPECT_EQ(link_mistake(R"("from": "gpu[0..3]", "to": "sw0")"),
            R"(/cluster/links/0/from: "gpu[0..3]" is not a list of devices: numbers and ranges of )"
            "numbers stand between [ and ] |  | " +
                write);
  EXPECT_EQ(
      link_mistake(R"("from": "gpu[0-3", "to": "sw0")"),
      R"(/cluster/links/0/from: "gpu[0-3" is not a list of devices: it must end with ] |  | )" +
          write);
  EXPECT_EQ(
      link_mistake(R"("from": "gpu[]", "to": "sw0")"),
      R"(/cluster/links/0/from: "gpu[]" is not a list of devices: numbers and ranges of numbers )"
      "stand between [ and ] |  | " +
          write);
  expect_text(link_mistake(R"("from": "gpu[0-1]", "to": "gpu[1-3]")"),
              "/cluster/links/0/to: 2 devices cannot be joined with 3 devices pairwise |  | two "
              "ranges must have the same length, or one end must be a single device");
  expect_text(link_mistake(R"("from": "gpu[0-99999999]", "to": "sw0")"),
              R"(/cluster/links/0/from: "gpu[0-99999999]" names too many devices |  | at most )"
              "4,194,304 devices");
}

TEST(Graph, MistakesOfLinksAreExplained) {
  const std::string devices = "devices are gpu[0-3], sw[0-1], cpu and nic";
  EXPECT_EQ(link_mistake(R"("from": "gpu", "to": "sw0")"),
            R"(/cluster/links/0/from: there is no device "gpu" | gpu[0-3] | )" + devices);
  EXPECT_EQ(link_mistake(R"("from": "gpu[2-4]", "to": "sw0")"),
            R"(/cluster/links/0/from: there is no device "gpu4" |  | )" + devices);
  EXPECT_EQ(link_mistake(R"("from": "gpu0", "to": "cpus")"),
            R"(/cluster/links/0/to: there is no device "cpus" | cpu | )" + devices);
  EXPECT_EQ(link_mistake(R"("from": "", "to": "sw0")"),
            R"(/cluster/links/0/from: there is no device "" |  | )" + devices);
  expect_text(link_mistake(R"("from": "gpu0", "to": "gpu0")"),
              R"(/cluster/links/0/to: "gpu0" is linked to itself |  | a link joins two devices)");
  expect_text(link_mistake(R"("from": "gpu0")"), R"(/cluster/links/0: "to" is missing |  | )");
  expect_text(mistake_of(box(R"({"from": "gpu0", "to": "sw0"})")),
              R"(/cluster/links/0: "bandwidth" is missing |  | )");
  expect_text(mistake_of(R"({"devices": [{"id": "gpu", "kind": "gpu"}]})"),
              R"(/cluster: "links" is missing |  | )");
  expect_text(mistake_of(R"({"links": []})"), R"(/cluster: "devices" is missing |  | )");
}

TEST(Graph, AllWrongLinksAreReportedUpToAHundred) {
  std::string links;
  for (int i = 0; i < 200; ++i) links += (i == 0 ? "" : ",") + std::string("{}");
  const ReadCluster read = read_cluster_text(box(links));
  EXPECT_EQ(std::count(read.mistakes.begin(), read.mistakes.end(), '\n'), 300)
      << "from, to and bandwidth of each";
}

TEST(Graph, MistakesOfDevicesAreExplained) {
  const auto mistake = [](const std::string& devices) {
    return mistake_of(R"({"devices": [)" + devices + R"(], "links": []})");
  };
  expect_text(
      mistake(""),
      R"(/cluster/devices: no device is of kind "gpu" |  | the GPUs are the ranks: add {"id": )"
      R"("gpu", "kind": "gpu", "count": 4})");
  expect_text(
      mistake(R"({"id": "gpu", "kind": "gpu", "count": 2}, {"id": "gpu1", "kind": "nic"})"),
      R"(/cluster/devices/1/id: there are two devices "gpu1" |  | device names must be unique)");
  expect_text(
      mistake(R"({"id": "a b", "kind": "gpu"})"),
      R"(/cluster/devices/0/id: "a b" cannot be the name of a device |  | names have letters, )"
      R"(digits, -, _, . and :, such as "gpu" or "pcie-switch0")");
  expect_text(
      mistake(R"({"id": "a", "kind": "gpuu"})"),
      R"(/cluster/devices/0/kind: unknown kind "gpuu" | gpu | allowed: gpu, switch, cpu, nic)");
  expect_text(mistake(R"({"kind": "gpu"})"), R"(/cluster/devices/0: "id" is missing |  | )");
  expect_text(mistake(R"({"id": "a", "kind": "gpu", "count": 1000000000})"),
              "/cluster/devices/0/count: 1000000000 is too large |  | allowed: 1 to 4194304");
  expect_text(
      mistake(R"({"id": "a", "kind": "gpu", "count": 2000000})"),
      "/cluster/devices/0/count: 2,000,000 ranks are too many |  | at most 1,048,576 ranks");
  expect_text(mistake_of(R"({"devices": 3, "links": []})"),
              "/cluster/devices: expected a list of devices, but this is a number |  | write "
              "[{ ... }, { ... }]");
}

TEST(Graph, MistakesOfNetworksAreExplained) {
  expect_text(mistake_of(box(tree, R"(, "nodes": 2)")),
              "/cluster/nodes: no network joins the 2 nodes |  | add \"network\": {\"link\": "
              "{\"bandwidth\": \"50GB/s\"}}: a switch that all NICs are linked to");
  expect_text(
      mistake_of(R"({"devices": [{"id": "gpu", "kind": "gpu"}], "links": [], "nodes": 2)" +
                 network + "}"),
      R"(/cluster/network: no device of kind "nic" links a node to the network |  | add one: )"
      R"({"id": "nic", "kind": "nic"}, and a link to it)");
  expect_text(mistake_of(box(tree, R"(, "nodes": 1000000)" + network)),
              "/cluster/nodes: 4,000,000 ranks are too many |  | at most 1,048,576 ranks");
}

TEST(Graph, DeviceNamesThatTerminalsWouldObeyAreShownHarmless) {
  const std::string mistake = link_mistake("\"from\": \"gpu\\u001b[31m\", \"to\": \"sw0\"");
  expect_lacks(mistake, "\x1b");
}

}  // namespace
}  // namespace collsim
