// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/scenario/cluster_reading.hpp"
#include "tests/golden.hpp"
#include "topo/routes.hpp"

// "routing", "routing_seed" and what is down.

namespace collsim {
namespace {

// Two leaves of two ranks, joined by four spines.
std::string leaf_spine(const std::string& more = "") {
  return R"({"devices": [{"id": "gpu", "kind": "gpu", "count": 4},
                         {"id": "leaf", "kind": "switch", "count": 2},
                         {"id": "spine", "kind": "switch", "count": 4}],
             "links": [{"from": "gpu[0-1]", "to": "leaf0", "bandwidth": "50GB/s"},
                       {"from": "gpu[2-3]", "to": "leaf1", "bandwidth": "50GB/s"},
                       {"from": "leaf0", "to": "spine[0-3]", "bandwidth": "50GB/s"},
                       {"from": "leaf1", "to": "spine[0-3]", "bandwidth": "50GB/s"}])" +
         more + "}";
}

std::string shape(const std::string& keys) {
  return "{" + keys + R"(, "link": {"bandwidth": "25GB/s"}})";
}

Routing routing_of(const std::string& text) {
  return cluster_of(text).topology.parts().routing;
}

TEST(ClusterRouting, IsWhatIsWrittenOrUsual) {
  EXPECT_EQ(routing_of(leaf_spine()), Routing::usual);
  EXPECT_EQ(routing_of(leaf_spine(R"(, "routing": "spray")")), Routing::spray);
  EXPECT_EQ(routing_of(leaf_spine(R"(, "routing": "ECMP")")), Routing::hash);
  EXPECT_EQ(routing_of(shape(R"("shape": "torus", "dims": [4, 4], "routing": "dimension-order")")),
            Routing::dimension_order);
  EXPECT_EQ(routing_of(shape(R"("shape": "fat-tree", "ports": 4, "routing": "d-mod-k")")),
            Routing::d_mod_k);
  EXPECT_EQ(cluster_of(leaf_spine(R"(, "routing_seed": 7)")).topology.parts().routing_seed, 7U);
}

// The resolved scenario says which is used, and means the same when it is read.
TEST(ClusterRouting, IsShownWhereThereIsAChoice) {
  const auto shown_routing = [](const std::string& text) {
    const ReadCluster read = read_cluster_text(text);
    const ReadCluster again = read_cluster_text(to_json(read.resolved));
    EXPECT_EQ(again.mistakes, "") << text;
    EXPECT_EQ(to_json(again.resolved), to_json(read.resolved));
    const JsonValue* const routing = read.resolved.find("routing");
    return routing == nullptr ? "" : routing->string();
  };
  EXPECT_EQ(shown_routing(leaf_spine()), "hash");
  EXPECT_EQ(shown_routing(R"({"preset": "dgx-a100"})"), "first");
  EXPECT_EQ(shown_routing(shape(R"("shape": "fat-tree", "ports": 4)")), "d-mod-k");
  EXPECT_EQ(shown_routing(shape(R"("shape": "torus", "dims": [4, 4])")), "dimension-order");
  EXPECT_EQ(shown_routing(shape(R"("shape": "switch", "ranks": 4)")), "");
  EXPECT_EQ(shown_routing(leaf_spine(R"(, "routing": "spray")")), "spray");
}

TEST(ClusterRouting, OfRealMachinesIsTheFirstWay) {
  EXPECT_EQ(routing_of(R"({"preset": "dgx-a100"})"), Routing::first);
  EXPECT_EQ(routing_of(R"({"preset": "dgx-a100", "routing": "hash"})"), Routing::hash);
}

TEST(ClusterRouting, MustSuitTheNetwork) {
  const auto mistake = [](const std::string& routing, const std::string& keys) {
    return mistake_of(shape(keys + R"(, "routing": ")" + routing + "\""));
  };
  const std::string hint = R"( |  | "hash", "spray", "adaptive" and "first" suit every network)";
  const std::string ring = R"("shape": "ring", "ranks": 4)";
  expect_text(
      mistake("d-mod-k", ring),
      "/cluster/routing: routing \"d-mod-k\" needs levels of switches, as a fat-tree has" + hint);
  expect_text(mistake("dimension-order", R"("shape": "fat-tree", "ports": 4)"),
              "/cluster/routing: routing \"dimension-order\" needs dimensions, as a torus or a "
              "mesh has" +
                  hint);
  for (const std::string routing : {"valiant", "ugal"})
    expect_text(mistake(routing, ring),
                "/cluster/routing: routing \"" + routing +
                    "\" needs detours, as a dragonfly of three groups or more has" + hint);
  expect_text(mistake("sprey", ring),
              "/cluster/routing: unknown routing \"sprey\" | spray | "
              "allowed: hash, d-mod-k, dimension-order, spray, adaptive, "
              "valiant, ugal, first");
}

std::size_t down_links(const std::string& text) {
  const Cluster cluster = cluster_of(text);
  const auto links = cluster.topology.links();
  return static_cast<std::size_t>(
      std::count_if(links.begin(), links.end(), [](const Link& link) { return link.down; }));
}

TEST(Down, CablesAreDownInBothDirections) {
  EXPECT_EQ(down_links(leaf_spine(
                R"(, "links_override": [{"from": "leaf0", "to": "spine1", "down": true}])")),
            2U);
  EXPECT_EQ(down_links(leaf_spine(R"(, "links_override":
                [{"from": "leaf0", "to": "spine1", "both": false, "down": true}])")),
            1U);
  std::string written = leaf_spine();
  written.replace(written.find(R"("leaf1", "bandwidth")"), 7, R"("leaf1", "down": true)");
  EXPECT_EQ(down_links(written), 4U) << "two cables of a range";
}

TEST(Down, SwitchesTakeTheirCablesAlong) {
  EXPECT_EQ(down_links(leaf_spine(R"(, "switches_down": ["spine[1-2]"])")), 8U);
  Router router(cluster_of(leaf_spine(R"(, "switches_down": ["spine[0-2]"])")).topology);
  for (const auto& way : router.choices(Rank(0), Rank(2)).ways) EXPECT_EQ(way.size(), 4U);
  EXPECT_EQ(router.choices(Rank(0), Rank(2)).ways.size(), 1U);
  EXPECT_EQ(cluster_of(leaf_spine(R"(, "switches_down": ["spine0"])")).description,
            "graph of 4 ranks, 4 links down");
}

TEST(Down, MistakesAreExplained) {
  const auto mistake = [](const std::string& list) {
    return mistake_of(leaf_spine(R"(, "switches_down": )" + list));
  };
  expect_text(mistake(R"("spine0")"),
              "/cluster/switches_down: expected a list of switches, but this is a string |  | "
              "write [\"switch0\", \"switch[4-7]\"]");
  expect_text(mistake(R"(["spine9"])"),
              "/cluster/switches_down: there is no device \"spine9\" |  | devices are gpu[0-3], "
              "leaf[0-1] and spine[0-3]");
  expect_text(mistake(R"(["gpu1"])"),
              "/cluster/switches_down: \"gpu1\" is a rank, which must be there |  | name switches, "
              "or leave the rank out by \"ranks\" of the collective");
}

}  // namespace
}  // namespace collsim
