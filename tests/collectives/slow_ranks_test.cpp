// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collectives/workloads/workloads.hpp"

namespace collsim {
namespace {

std::vector<std::int64_t> works_of(const Workload& workload, std::size_t rank) {
  std::vector<std::int64_t> works;
  Script script = workload.script(Rank(rank));
  while (const Action* const action = script.next())
    if (action->kind == Action::Kind::work) works.push_back(action->amount);
  return works;
}

TEST(SlowRanks, StretchTheirOwnWorkOnly) {
  Model model;
  model.layers = {{"a", Time(100), Time(300), 8, 0}};
  const Workload even = make_workload(Ddp{}, model, 3);
  const Workload uneven = slowed(even, {{Rank(1), 1.5, Time(7)}, {Rank(2), 2, Time{}}});
  EXPECT_EQ(works_of(even, 0), (std::vector<std::int64_t>{0, 100, 300, 0}));
  EXPECT_EQ(works_of(uneven, 0), works_of(even, 0));
  EXPECT_EQ(works_of(uneven, 1), (std::vector<std::int64_t>{7, 0, 150, 450, 0}));
  EXPECT_EQ(works_of(uneven, 2), (std::vector<std::int64_t>{0, 200, 600, 0}));
  EXPECT_EQ(uneven.lanes(), even.lanes());
}

// So that one of them still stands for all.
TEST(SlowRanks, RanksThatAreSlowAlikeTurnAsBefore) {
  Model model;
  model.layers = {{"a", Time(100), Time(300), 8, 0}};
  const Workload even = make_workload(Ddp{}, model, 2);
  ASSERT_FALSE(even.turns().empty());
  const Workload alike = slowed(even, {{Rank(0), 2, Time(7)}, {Rank(1), 2, Time(7)}});
  EXPECT_EQ(alike.turns().size(), even.turns().size());
  EXPECT_TRUE(slowed(even, {{Rank(0), 2, Time(7)}, {Rank(1), 2, Time{}}}).turns().empty());
  EXPECT_TRUE(slowed(even, {{Rank(0), 2, Time(7)}}).turns().empty());
}

TEST(SlowRanks, NoiseIsTheSameForTheSameSeed) {
  constexpr int ranks = 2000;
  Model model;
  model.layers = {{"a", Time(1'000'000), Time(3'000'000), 8, 0}};
  const Workload even = make_workload(Ddp{}, model, ranks);
  const auto noisy = [&](const Jitter& jitter) {
    return slowed(even, with_jitter({{Rank(1), 2, Time(7)}}, jitter, even.group()));
  };
  const Workload shares = noisy({.share = 0.1, .seed = 3});
  EXPECT_EQ(works_of(shares, 5), works_of(noisy({.share = 0.1, .seed = 3}), 5));
  EXPECT_NE(works_of(shares, 5), works_of(noisy({.share = 0.1, .seed = 4}), 5));
  EXPECT_NE(works_of(shares, 5), works_of(shares, 6));
  EXPECT_GE(works_of(shares, 1)[2], 2'000'000);  // slow anyway
  double forward = 0;
  double delay = 0;
  double longest = 0;
  const Workload delays = noisy({.delay = Time(1'000'000), .seed = 3});
  for (std::size_t rank = 2; rank < ranks; ++rank) {
    forward += static_cast<double>(works_of(shares, rank)[1]);
    delay += static_cast<double>(works_of(delays, rank)[0]);
    longest = std::max(longest, static_cast<double>(works_of(delays, rank)[0]));
  }
  EXPECT_NEAR(forward / ranks, 1.1e6, 1e4);  // three standard deviations are 0.7e4
  EXPECT_NEAR(delay / ranks, 1e6, 1e5);
  EXPECT_NEAR(longest, 8.2e6, 4e6);  // the mean of the largest of 2,000, and three deviations
}

TEST(SlowRanks, ACommunicatorHasTheLanesOfItsAlgorithm) {
  EXPECT_EQ(lanes_of(Operation::all_reduce, {.name = "ring"}), 1);
  EXPECT_EQ(lanes_of(Operation::all_reduce, {.name = "ring", .channels = 4}), 4);
  Model model;
  model.layers = {{"a", Time(100), Time(300), 8, 0}};
  const Ddp plain;
  const Ddp wide{.all_reduce = {.name = "ring", .channels = 4}};
  EXPECT_EQ(make_workload(wide, model, 3).lanes(), make_workload(plain, model, 3).lanes() + 3);
}

}  // namespace
}  // namespace collsim
