// SPDX-License-Identifier: Apache-2.0
//
// Among nodes whose GPUs are alike one GPU of a node, or of all nodes, stands for the others, also
// where each channel enters a node at another of them.
#include "tests/sanitized.hpp"
#include "tests/sim/testing.hpp"
#include "topo/graph_nodes.hpp"

namespace collsim::testing {
namespace {

constexpr int members = 4;

// `switches_add`: those inside of the nodes and the one that joins them.
Topology nodes_of_four(int nodes, bool switches_add) {
  LinkParameters inside = link_of(gigabytes_per_second(300), {}, nanoseconds(350), Sharing::fair);
  if (switches_add) inside.protocols[static_cast<std::size_t>(LinkProtocol::nvls)] = ProtocolCost{};
  NodesShape shape{.intra_link = inside,
                   .inter_link = link_of(gigabytes_per_second(47), nanoseconds(200),
                                         nanoseconds(1700), Sharing::fair)};
  if (switches_add)
    shape.inter_link.protocols[static_cast<std::size_t>(LinkProtocol::collnet)] = ProtocolCost{};
  shape.nodes = nodes;
  shape.gpus_per_node = shape.nics_per_node = members;
  return make_nodes(shape);
}

struct NodeCase {
  Operation operation;
  const char* algorithm;
  int channels;
  int chunks;
  std::vector<std::vector<int>> orders = {};
};

Schedule schedule_of(const NodeCase& one, int nodes, std::int64_t count, bool in_place) {
  AlgorithmChoice choice;
  choice.name = one.algorithm;
  choice.channels = one.channels;
  choice.chunks = one.chunks;
  choice.per_node = members;
  choice.orders = one.orders;
  return make_schedule(in_place_if(in_place, collective_of(one.operation, nodes * members, count)),
                       choice);
}

void expect_same_with_few_ranks(const NodeCase& one, int nodes, bool switches_add, bool in_place) {
  SCOPED_TRACE(std::string(one.algorithm) + " over " + std::to_string(one.channels) +
               " channels, " + std::to_string(nodes) + " nodes");
  const Topology topology = nodes_of_four(nodes, switches_add);
  const Schedule schedule = schedule_of(one, nodes, 96 * nodes * one.channels * members, in_place);
  const CostModel costs{.reduce_bandwidth = gigabytes_per_second(200)};
  const Simulation all = simulate(topology, schedule, costs, {.engine = Engine::event});
  const Simulation few = simulate(topology, schedule, costs, {.engine = Engine::symmetry});
  EXPECT_EQ(all.time, few.time);
  EXPECT_EQ(all.finished, few.finished);
  EXPECT_EQ(all.messages, few.messages);
  EXPECT_EQ(all.instructions, few.instructions);
  EXPECT_EQ(all.wire_bytes, few.wire_bytes);
  EXPECT_EQ(all.fingerprint, few.fingerprint);
}

TEST(NodeTurns, FewRanksTakeAsLongAsAll) {
  using enum Operation;
  for (const int nodes : listed_cases<int>({2, 3}, {4, 7}))
    for (const int chunks : {1, 3})
      for (const bool in_place : {false, true}) {
        for (const int channels : {4, 8}) {
          for (const Operation operation : {all_reduce, all_gather, reduce_scatter})
            expect_same_with_few_ranks({operation, "ring", channels, chunks}, nodes, false,
                                       in_place);
          expect_same_with_few_ranks({all_reduce, "double-tree", channels, chunks}, nodes, false,
                                     in_place);
          for (const bool switches_add : {false, true})
            expect_same_with_few_ranks({all_reduce, "collnet-chain", channels, chunks}, nodes,
                                       switches_add, in_place);
        }
        for (const int channels : {1, 2})
          for (const bool switches_add : {false, true}) {
            for (const char* algorithm : {"nvls", "nvls-sharp", "collnet-direct"})
              expect_same_with_few_ranks({all_reduce, algorithm, channels, chunks}, nodes,
                                         switches_add, in_place);
            for (const Operation operation : {all_gather, reduce_scatter})
              for (const char* algorithm : {"nvls", "collnet-direct"})
                expect_same_with_few_ranks({operation, algorithm, channels, chunks}, nodes,
                                           switches_add, in_place);
          }
      }
}

// Rings that go through the members in orders of their own leave only the nodes alike.
TEST(NodeTurns, NodesTurnWhereMembersHaveAnOrder) {
  const std::vector<std::vector<int>> orders{{2, 0, 3, 1}, {1, 3, 2, 0}, {0, 1, 2, 3}};
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    const NodeCase rings{operation, "ring", 3, 1, orders};
    EXPECT_FALSE(schedule_of(rings, 3, 96 * 3 * 3 * members, false).turns().empty());
    for (const int nodes : {2, 3, 5}) expect_same_with_few_ranks(rings, nodes, false, false);
  }
  const NodeCase trees{Operation::all_reduce, "double-tree", 3, 1, orders};
  EXPECT_TRUE(schedule_of(trees, 3, 96, false).turns().empty());
}

// Of two trees over an even number of nodes each is the mirror of the other.
TEST(NodeTurns, HalfOfTheNodesStandForThoseOfMirroredTrees) {
  const auto order_of = [](const NodeCase& one, int nodes) {
    return Turns::common({{.size = static_cast<std::uint32_t>(nodes), .permutes = true},
                          {.size = members, .permutes = true}},
                         schedule_of(one, nodes, 96 * nodes * members, false).turns())
        .order();
  };
  const NodeCase in_switches{Operation::all_reduce, "nvls", 2, 3};
  EXPECT_EQ(order_of(in_switches, 6), 2U * members);
  EXPECT_EQ(order_of(in_switches, 7), 1U * members);
  NodeCase one_tree = in_switches;
  one_tree.channels = 1;
  EXPECT_EQ(order_of(one_tree, 6), 1U * members);
  const NodeCase trees{Operation::all_reduce, "double-tree", 4, 3};
  EXPECT_EQ(order_of(trees, 6), 2U * members);
  EXPECT_EQ(order_of(trees, 7), 1U * members);
  const NodeCase in_orders{
      Operation::all_reduce, "double-tree", 2, 3, {{2, 0, 3, 1}, {1, 3, 2, 0}}};
  EXPECT_EQ(order_of(in_orders, 6), 2U);
  for (const bool in_place : {false, true})
    for (const int nodes : {2, 6})
      for (const NodeCase& one : {in_switches, trees, in_orders})
        expect_same_with_few_ranks(one, nodes, false, in_place);
}

// Lane n takes the n-th of parallel cables: another one where trees are exchanged.
TEST(NodeTurns, NodesAreNotMirroredWhereLanesChooseCables) {
  const LinkParameters cable =
      link_of(gigabytes_per_second(10), {}, nanoseconds(350), Sharing::fair);
  TopologyBuilder builder;
  for (int gpu = 0; gpu < members; ++gpu) builder.add_node(NodeKind::gpu);
  for (std::size_t gpu = 0; gpu < members; ++gpu)
    builder.connect(NodeId(gpu), builder.add_node(NodeKind::nic), cable);
  for (std::size_t gpu = 0; gpu + 1 < members; ++gpu)
    for (int parallel = 0; parallel < 3; ++parallel)
      builder.connect(NodeId(gpu), NodeId(gpu + 1), cable);
  Topology::Parts parts = make_switched_copies(builder.build(), 4, cable).parts();
  parts.routing = Routing::first;
  const Topology machine(std::move(parts));
  for (const NodeCase& one : {NodeCase{Operation::all_reduce, "double-tree", 4, 16},
                              NodeCase{Operation::all_reduce, "nvls", 4, 1}}) {
    const Schedule schedule = schedule_of(one, 4, 96 * 4 * 4 * members, false);
    EXPECT_EQ(simulate(machine, schedule).fingerprint,
              simulate(machine, schedule, {}, {.engine = Engine::event}).fingerprint);
  }
}

// A channel that one of the members lacks, or shares of different lengths.
TEST(NodeTurns, AreNotClaimedWhereMembersDiffer) {
  const NodeCase trees{Operation::all_reduce, "double-tree", 4, 1};
  EXPECT_FALSE(schedule_of(trees, 3, 8, false).turns().empty());
  EXPECT_TRUE(schedule_of(trees, 3, 9, false).turns().empty());
  NodeCase fewer = trees;
  fewer.channels = 3;
  EXPECT_TRUE(schedule_of(fewer, 3, 24, false).turns().empty());
  const NodeCase in_switches{Operation::all_reduce, "nvls", 1, 1};
  EXPECT_FALSE(schedule_of(in_switches, 3, 4, false).turns().empty());
  EXPECT_TRUE(schedule_of(in_switches, 3, 6, false).turns().empty());
}

}  // namespace
}  // namespace collsim::testing
