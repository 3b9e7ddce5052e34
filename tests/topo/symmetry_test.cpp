// SPDX-License-Identifier: Apache-2.0
#include "topo/ids.hpp"

#include <map>
#include <set>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

constexpr std::size_t renamed(Symmetry symmetry, std::size_t rank, std::size_t distance,
                              std::size_t ranks) {
  return symmetry == Symmetry::rotation ? (rank + distance) % ranks : rank ^ distance;
}

// Rank 0's routes, renamed to start at rank r, are rank r's routes: place by place the same orbit,
// and for every link of rank 0's a different link for every r.
void expect_symmetric(const Topology& topology, Symmetry symmetry) {
  const std::size_t ranks = topology.rank_count();
  Router router(topology);
  for (std::size_t distance = 1; distance < ranks; ++distance) {
    const std::vector<LinkId> first = route(router, 0, distance);
    std::vector<std::set<LinkId>> images(first.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<LinkId> image =
          route(router, rank, renamed(symmetry, rank, distance, ranks));
      ASSERT_EQ(image.size(), first.size());
      for (std::size_t i = 0; i < image.size(); ++i) {
        ASSERT_TRUE(topology.orbit(symmetry, image[i]).has_value());
        ASSERT_EQ(topology.orbit(symmetry, image[i]), topology.orbit(symmetry, first[i]))
            << topology.shape() << " of " << ranks << ", rank " << rank << ", distance " << distance
            << ", place " << i;
        ASSERT_EQ(topology.parameters(image[i]), topology.parameters(first[i]));
        images[i].insert(image[i]);
      }
    }
    for (const auto& links : images) ASSERT_EQ(links.size(), ranks);
  }
  std::map<std::uint32_t, std::size_t> size;
  for (std::size_t id = 0; id < topology.links().size(); ++id)
    ++size[*topology.orbit(symmetry, LinkId(id))];
  for (const auto& [orbit, links] : size) EXPECT_EQ(links, ranks) << topology.shape();
}

TEST(Symmetry, RotationOfRingSwitchAndFullyConnected) {
  for (std::size_t ranks = 1; ranks <= 17; ++ranks) {
    expect_symmetric(make_ring(ranks, plain_link), Symmetry::rotation);
    expect_symmetric(make_switch(ranks, plain_link), Symmetry::rotation);
    expect_symmetric(make_fully_connected(ranks, plain_link), Symmetry::rotation);
  }
}

TEST(Symmetry, ExchangeOfPowersOfTwo) {
  for (std::size_t ranks = 1; ranks <= 32; ranks *= 2) {
    expect_symmetric(make_hypercube(ranks, plain_link), Symmetry::exchange);
    expect_symmetric(make_switch(ranks, plain_link), Symmetry::exchange);
    expect_symmetric(make_fully_connected(ranks, plain_link), Symmetry::exchange);
  }
}

TEST(Symmetry, IsNotClaimedWhereItDoesNotHold) {
  EXPECT_EQ(make_switch(6, plain_link).orbit(Symmetry::exchange, LinkId(0)), std::nullopt);
  EXPECT_EQ(make_fully_connected(6, plain_link).orbit(Symmetry::exchange, LinkId(0)), std::nullopt);
  EXPECT_EQ(make_ring(8, plain_link).orbit(Symmetry::exchange, LinkId(0)), std::nullopt);
  EXPECT_EQ(make_hypercube(8, plain_link).orbit(Symmetry::rotation, LinkId(0)), std::nullopt);
  for (const Topology& topology :
       {make_chain(4, plain_link), make_torus({2, 2}, plain_link), make_fat_tree(4, plain_link)})
    for (const Symmetry symmetry : {Symmetry::none, Symmetry::rotation, Symmetry::exchange})
      EXPECT_EQ(topology.orbit(symmetry, LinkId(0)), std::nullopt) << topology.shape();
  EXPECT_EQ(make_ring(4, plain_link).orbit(Symmetry::none, LinkId(0)), std::nullopt);
}

}  // namespace
}  // namespace collsim
