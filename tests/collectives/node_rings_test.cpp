// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "tests/collectives/collective_of.hpp"

namespace collsim {
namespace {

constexpr int per_node = 4;

Schedule rings(Operation operation, int ranks, std::int64_t count) {
  AlgorithmChoice choice{.name = "ring"};
  choice.channels = per_node;
  choice.per_node = per_node;
  choice.local_pass = true;
  return make_schedule(collective_of(operation, ranks, count), choice);
}

// Two NICs of a node would stay idle if two channels left it at the same GPU.
TEST(RingsOfNodes, EveryChannelLeavesANodeAtAnotherGpu) {
  const Schedule schedule = rings(Operation::all_reduce, 3 * per_node, 960);
  for (int node = 0; node < 3; ++node) {
    std::set<int> leaving;
    for (int channel = 0; channel < per_node; ++channel)
      for (int gpu = 0; gpu < per_node; ++gpu) {
        const int position = node * per_node + gpu;
        LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(channel)));
        const Instruction* first = program.next();
        ASSERT_NE(first, nullptr);
        const int target = static_cast<int>(first->to.rank.index());
        if (target / per_node == node) continue;
        EXPECT_EQ(target / per_node, (node + 1) % 3);
        leaving.insert(gpu);
      }
    EXPECT_EQ(leaving.size(), static_cast<std::size_t>(per_node));
  }
}

TEST(RingsOfNodes, AreRight) {
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter})
    for (const int nodes : {1, 2, 3})
      for (const std::int64_t count : {0, 1, 13, 960}) {
        const CheckReport report = check(rings(operation, nodes * per_node, count));
        EXPECT_TRUE(report.ok) << to_string(operation) << ", " << nodes << " nodes, " << count
                               << " elements: " << (report.fault ? report.fault->text : "");
      }
}

TEST(RingsOfNodes, NodesMustBeFull) {
  EXPECT_THROW(static_cast<void>(rings(Operation::all_reduce, 6, 12)), Error);
}

}  // namespace
}  // namespace collsim
