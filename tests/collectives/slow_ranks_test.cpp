// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
