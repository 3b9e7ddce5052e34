// SPDX-License-Identifier: Apache-2.0
#include "app/output/network_summary.hpp"

#include <gtest/gtest.h>

#include "tests/golden.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

constexpr std::int64_t giga = 1'000'000'000;
const LinkParameters cable{.bandwidth = gigabytes_per_second(50)};

TreeShape of_spines(std::size_t spines) {
  return {.ends = 64, .ends_per_leaf = 16, .spines = spines, .links = {cable, cable}};
}

TEST(Bisection, IsTheBandwidthBetweenHalves) {
  EXPECT_EQ(bisection(make_switch(8, cable)), 4 * 50 * giga);
  EXPECT_EQ(bisection(make_fat_tree(4, cable)), 8 * 50 * giga);
  EXPECT_EQ(bisection(make_tree(of_spines(16))), 32 * 50 * giga);
  EXPECT_EQ(bisection(make_tree(of_spines(4))), 2 * 4 * 50 * giga);
  // 8 x 8 cables between the two halves of the groups, times the cables of a pair.
  for (const int cables : {1, 2})
    EXPECT_EQ(bisection(make_dragonfly({.groups = 16,
                                        .routers_per_group = 8,
                                        .ranks_per_router = 4,
                                        .link = cable,
                                        .cables = cables})),
              64 * cables * 50 * giga);
  EXPECT_EQ(bisection(make_torus({8, 4}, cable)), 2 * 4 * 50 * giga);
  EXPECT_EQ(bisection(make_torus({4, 8}, cable)), 2 * 4 * 50 * giga);
  EXPECT_EQ(bisection(make_mesh({4, 8}, cable)), 4 * 50 * giga);
}

TEST(NetworkSummary, ShowsLevelsAndWhatTheyAreGoodFor) {
  expect_text(network_summary(make_tree(of_spines(4))),
              "level  cables  bandwidth  together  oversubscription\n"
              "leaf       64    50 GB/s  3.2 TB/s                 -\n"
              "spine      16    50 GB/s  800 GB/s               4:1\n"
              "bisection      400 GB/s each way between the halves\n"
              "longest route  4 links\n\n");
  EXPECT_EQ(network_summary(make_switch(8, cable)), "");
}

}  // namespace
}  // namespace collsim
