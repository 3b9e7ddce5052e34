// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/sanitized.hpp"
#include "topo/turns.hpp"

namespace collsim {
namespace {

constexpr int per_node = 4;

Schedule among_nodes(Operation operation, const char* algorithm, int ranks, std::int64_t count,
                     bool in_place = false, std::vector<std::vector<int>> orders = {}) {
  AlgorithmChoice choice{.name = algorithm};
  choice.orders = std::move(orders);
  choice.chunks = 2;
  choice.channels = per_node;
  choice.per_node = per_node;
  choice.local_pass = true;
  Collective collective = collective_of(operation, ranks, count);
  collective.in_place = in_place;
  if (has_root(operation)) collective.root = ranks - 2;
  return make_schedule(collective, choice);
}
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

// A channel's tree crosses to other nodes at one GPU of each, another for every channel.
TEST(TreesOfNodes, EveryChannelCrossesAtAnotherGpu) {
  constexpr int nodes = 5;
  const Schedule schedule =
      among_nodes(Operation::all_reduce, "double-tree", nodes * per_node, 960);
  const int lanes = schedule.lanes() / per_node;
  for (int position = 0; position < nodes * per_node; ++position)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      while (const Instruction* const instruction = program.next()) {
        if (!sends(instruction->op)) continue;
        const int target = static_cast<int>(instruction->to.rank.index());
        if (target / per_node == position / per_node) continue;
        EXPECT_EQ(position % per_node, lane / lanes);
        EXPECT_EQ(target % per_node, lane / lanes);
      }
    }
}

TEST(AlgorithmsOfNodes, AreRight) {
  struct Row {
    Operation operation;
    const char* algorithm;
  };
  for (const Row& row :
       {Row{Operation::all_reduce, "double-tree"}, Row{Operation::all_reduce, "nvls"},
        Row{Operation::all_reduce, "nvls-sharp"}, Row{Operation::all_reduce, "collnet-direct"},
        Row{Operation::all_reduce, "collnet-chain"}, Row{Operation::all_gather, "nvls"},
        Row{Operation::all_gather, "collnet-direct"}, Row{Operation::reduce_scatter, "nvls"},
        Row{Operation::reduce_scatter, "collnet-direct"}, Row{Operation::broadcast, "chain"},
        Row{Operation::reduce, "chain"}})
    for (const int nodes : testing::listed_cases<int>({1, 2, 3}, {4, 5, 7}))
      for (const std::int64_t count : testing::listed_cases<std::int64_t>({13}, {0, 1, 960}))
        for (const bool in_place : {false, true}) {
          const CheckReport report =
              check(among_nodes(row.operation, row.algorithm, nodes * per_node, count, in_place));
          EXPECT_TRUE(report.ok) << to_string(row.operation) << " by " << row.algorithm << ", "
                                 << nodes << " nodes, " << count
                                 << " elements: " << (report.fault ? report.fault->text : "");
        }
}

// Every channel goes through the members of all nodes in the same order, which it may share.
TEST(AlgorithmsOfNodes, AreRightInOrdersOfTheirMembers) {
  using enum Operation;
  const std::vector<std::vector<int>> orders{{2, 0, 3, 1}, {1, 3, 2, 0}, {0, 1, 2, 3}};
  for (const auto& [operation, algorithm] :
       {std::pair(all_reduce, "ring"), std::pair(all_gather, "ring"),
        std::pair(reduce_scatter, "ring"), std::pair(all_reduce, "double-tree"),
        std::pair(broadcast, "chain"), std::pair(reduce, "chain")})
    for (const int nodes : {1, 2, 3})
      for (const std::int64_t count : {1, 13, 960}) {
        const Schedule schedule =
            among_nodes(operation, algorithm, nodes * per_node, count, false, orders);
        const CheckReport report = check(schedule);
        EXPECT_TRUE(report.ok) << to_string(operation) << " by " << algorithm << ", " << nodes
                               << " nodes: " << (report.fault ? report.fault->text : "");
      }
  const auto with_order = [&](std::vector<int> order) {
    static_cast<void>(among_nodes(all_reduce, "ring", 8, 64, false, {std::move(order)}));
  };
  EXPECT_NO_THROW(with_order({3, 2, 1, 0}));
  EXPECT_THROW(with_order({3, 2, 1, 1}), Error);
  EXPECT_THROW(with_order({0, 1, 2, 3, 4, 5, 6, 7}), Error);
}

// Empty where the program of a lane is that of the lane that stands for it, with its peers turned
// likewise; else what differs.
std::string difference(const Schedule& schedule, const Turns& turns, Rank rank, Lane lane) {
  const auto turned = [&](const Endpoint& peer) {
    const Rank its = turns.turned(peer.rank, rank);
    return Endpoint{its, schedule.turned(peer.lane, peer.rank, its)};
  };
  const Endpoint other = turned({rank, lane});
  LaneProgram expected = schedule.program(static_cast<int>(other.rank.index()), other.lane);
  LaneProgram program = schedule.program(static_cast<int>(rank.index()), lane);
  for (int step = 0;; ++step) {
    const Instruction* const its = expected.next();
    const Instruction* const mine = program.next();
    const std::string place = "step " + std::to_string(step) + ": ";
    if (its == nullptr || mine == nullptr) return its == mine ? "" : place + "one has ended";
    if (mine->op != its->op || mine->count != its->count) return place + "operation or size";
    if (gives_to_lane(mine->op) && turned(mine->to) != its->to) return place + "target";
    if (takes_from_lane(mine->op) && turned(mine->from) != its->from) return place + "source";
  }
}

void expect_turned_programs(const Schedule& schedule, int nodes, std::size_t order) {
  const TurnDigit of_nodes{.size = static_cast<std::uint32_t>(nodes), .permutes = true};
  const Turns turns =
      Turns::common({of_nodes, {.size = per_node, .permutes = true}}, schedule.turns());
  EXPECT_EQ(turns.order(), order);
  if (order == 1) return;
  for (int position = 0; position < schedule.size(); ++position)
    for (int lane = 0; lane < schedule.lanes(); ++lane)
      ASSERT_EQ(difference(schedule, turns, Rank(static_cast<std::size_t>(position)),
                           Lane(static_cast<std::size_t>(lane))),
                "")
          << schedule.algorithm() << ", " << nodes << " nodes: rank " << position << ", lane "
          << lane;
}

TEST(AlgorithmsOfNodes, AreTheSameAfterTheTurnsThatTheyClaim) {
  using enum Operation;
  const std::vector<std::vector<int>> orders{{2, 0, 3, 1}, {1, 3, 2, 0}, {0, 1, 2, 3}};
  for (const int nodes : {2, 3, 4, 6})
    for (const bool in_place : {false, true}) {
      const auto made = [&](const char* algorithm, std::vector<std::vector<int>> in_orders = {}) {
        return among_nodes(all_reduce, algorithm, nodes * per_node, 960 * nodes, in_place,
                           std::move(in_orders));
      };
      const auto all_nodes = static_cast<std::size_t>(nodes);
      const std::size_t mirrors = nodes % 2 == 0 ? 2 : 1;
      expect_turned_programs(made("ring"), nodes, all_nodes * per_node);
      expect_turned_programs(made("ring", orders), nodes, all_nodes);
      expect_turned_programs(made("double-tree"), nodes, mirrors * per_node);
      expect_turned_programs(made("double-tree", orders), nodes, mirrors);
      expect_turned_programs(made("nvls"), nodes, mirrors * per_node);
      for (const char* algorithm : {"nvls-sharp", "collnet-direct", "collnet-chain"})
        expect_turned_programs(made(algorithm), nodes, per_node);
    }
}

TEST(RingsOfNodes, NodesMustBeFull) {
  EXPECT_THROW(static_cast<void>(rings(Operation::all_reduce, 6, 12)), Error);
}

}  // namespace
}  // namespace collsim
