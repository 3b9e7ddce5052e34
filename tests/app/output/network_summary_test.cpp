// SPDX-License-Identifier: Apache-2.0
#include "app/output/network_summary.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/output/topology_matrix.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

constexpr std::int64_t giga = 1'000'000'000;
const LinkParameters cable{.bandwidth = gigabytes_per_second(50)};

TreeShape of_spines(std::size_t spines) {
  return {.ends = 64, .ends_per_leaf = 16, .spines = spines, .links = {cable, cable}};
}

std::int64_t rate(const Topology& topology) {
  return bisection(topology).bytes_per_second;
}

LinkParameters of_rate(int gigabytes, bool half_duplex = false) {
  return {.bandwidth = gigabytes_per_second(gigabytes), .half_duplex = half_duplex};
}

// The links from the first device to the second and back.
void change(Topology& topology, const std::string& one, const std::string& other,
            const LinkParameters& parameters) {
  const NodeId a = *topology.find_node(one);
  const NodeId b = *topology.find_node(other);
  std::vector<Topology::LinkChange> changes;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    for (const LinkId link : topology.links_between(from, to))
      changes.push_back({link, parameters});
  topology = topology.with_changed_links(changes);
}

TEST(Bisection, IsTheBandwidthBetweenHalves) {
  EXPECT_EQ(rate(make_switch(8, cable)), 4 * 50 * giga);
  EXPECT_EQ(rate(make_fat_tree(4, cable)), 8 * 50 * giga);
  EXPECT_EQ(rate(make_tree(of_spines(16))), 32 * 50 * giga);
  EXPECT_EQ(rate(make_tree(of_spines(4))), 2 * 4 * 50 * giga);
  // 8 x 8 cables between the two halves of the groups, times the cables of a pair.
  for (const int cables : {1, 2})
    EXPECT_EQ(rate(make_dragonfly({.groups = 16,
                                   .routers_per_group = 8,
                                   .ranks_per_router = 4,
                                   .link = cable,
                                   .cables = cables})),
              64 * cables * 50 * giga);
  EXPECT_EQ(rate(make_torus({8, 4}, cable)), 2 * 4 * 50 * giga);
  EXPECT_EQ(rate(make_torus({4, 8}, cable)), 2 * 4 * 50 * giga);
  EXPECT_EQ(rate(make_mesh({4, 8}, cable)), 4 * 50 * giga);
}

TEST(NetworkSummary, ShowsLevelsAndWhatTheyAreGoodFor) {
  expect_text(network_summary(make_tree(of_spines(4))),
              "level  cables  bandwidth  together  oversubscription\n"
              "leaf       64    50 GB/s  3.2 TB/s                 -\n"
              "spine      16    50 GB/s  800 GB/s               4:1\n"
              "bisection      400 GB/s each way, between ranks 0-31 and 32-63\n"
              "longest route  4 links\n\n");
  EXPECT_EQ(network_summary(make_switch(8, cable)), "");
}

TEST(NetworkSummary, LeavesOutWhatIsDown) {
  LinkParameters down = cable;
  down.down = true;
  Topology topology =
      make_tree({.ends = 16, .ends_per_leaf = 4, .spines = 4, .links = {cable, cable}});
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"})
    for (const char* spine : {"spine1", "spine2", "spine3"}) change(topology, leaf, spine, down);
  expect_text(network_summary(topology),
              "level  cables  bandwidth  together  oversubscription\n"
              "leaf       16    50 GB/s  800 GB/s                 -\n"
              "spine       4    50 GB/s  200 GB/s               4:1\n"
              "bisection      100 GB/s each way, the least of all halves\n"
              "longest route  4 links\n\n");
  expect_contains(all_links(topology, 100), "down");
  EXPECT_EQ(all_links(make_tree(of_spines(4)), 100).find("state"), std::string::npos);
}

TEST(Bisection, IsTheLeastOfAllHalvesOfSmallNetworks) {
  Topology slow = make_torus({2, 4}, of_rate(10));
  change(slow, "gpu0", "gpu1", of_rate(2));
  change(slow, "gpu4", "gpu5", of_rate(2));
  EXPECT_EQ(rate(slow), 24 * giga);
  const auto dragonfly = make_dragonfly(
      {.groups = 3, .routers_per_group = 2, .ranks_per_router = 1, .link = of_rate(10)});
  EXPECT_EQ(rate(dragonfly), 20 * giga);
  EXPECT_EQ(rate(make_torus({3, 3}, of_rate(10))), 80 * giga);  // 4 ranks and 5
}

TEST(Bisection, SaysWhichHalves) {
  EXPECT_EQ(bisection(make_torus({8, 4}, cable)).halves, "between the halves of dimension0");
  EXPECT_EQ(bisection(make_torus({5, 5}, cable)).halves, "between ranks 0-11 and 12-24");
  const auto both = make_tree({.ends = 8,
                               .ends_per_leaf = 4,
                               .spines = 2,
                               .links = {of_rate(10, true), of_rate(10, true)}});
  expect_contains(network_summary(both), "20 GB/s both ways together, the least of all halves");
}

}  // namespace
}  // namespace collsim
