// SPDX-License-Identifier: Apache-2.0
//
// The hierarchical all-to-all over the NICs of all GPUs: few messages, and with two channels no
// more time than the NICs need.
#include "tests/collectives/algorithm_cases.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

constexpr int nodes_here = 4;
constexpr int gpus_per_node = 8;
constexpr int all_gpus = nodes_here * gpus_per_node;

Topology machine(Sharing sharing, Time startup) {
  const Bandwidth nvlink = gigabytes_per_second(400);
  const Bandwidth nic = gigabytes_per_second(50);
  NodesShape shape{.intra_link = link_of(nvlink, startup, {}, sharing),
                   .inter_link = link_of(nic, startup, {}, sharing)};
  shape.nodes = nodes_here;
  shape.gpus_per_node = shape.nics_per_node = gpus_per_node;
  return make_nodes(shape);
}

Schedule exchange(const std::string& name, int channels, Bytes bytes) {
  AlgorithmChoice choice;
  choice.name = name;
  choice.channels = channels;
  choice.dims = {nodes_here, gpus_per_node};
  return make_schedule(byte_collective(Operation::all_to_all, all_gpus, bytes), choice);
}

double time_on(const Topology& topology, const Schedule& schedule) {
  return simulate(topology, schedule).time.seconds();
}

TEST(Rails, AChannelSendsAFewLargeMessages) {
  // In the node 7 messages of 4 blocks, along the rail 3 of 8.
  const Schedule one = exchange("hierarchical", 1, 3200);
  EXPECT_EQ(sent_by(one, 11), (Sent{7 + 3, 7 * 400 + 3 * 800}));
  EXPECT_EQ(peers_of(one, 11), (std::set<int>{8, 9, 10, 12, 13, 14, 15, 3, 19, 27}));
  const Schedule two = exchange("hierarchical", 2, 3200);
  EXPECT_EQ(sent_by(two, 11), (Sent{2 * (7 + 3), 7 * 400 + 3 * 800}));
  // The second goes along the rail first.
  LaneProgram program = two.program(11, Lane(1));
  const Instruction* instruction = program.next();
  while (instruction != nullptr && !sends(instruction->op)) instruction = program.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->to.rank, Rank(19));
}

TEST(Rails, TwoChannelsKeepTheNicsBusyAllTheTime) {
  const Bytes bytes = mebibytes(64);
  const double of_nics = 0.75 * static_cast<double>(bytes) / 50e9;
  const double in_node = 7.0 / 8 * static_cast<double>(bytes) / 400e9;
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    const Topology topology = machine(sharing, Time{});
    EXPECT_NEAR(time_on(topology, exchange("hierarchical", 1, bytes)), of_nics + in_node, 1e-8);
    for (const int channels : {2, 8})
      EXPECT_LT(time_on(topology, exchange("hierarchical", channels, bytes)), 1.03 * of_nics);
  }
}

TEST(Rails, FewMessagesWinWhereStartingOneTakesTime) {
  const Topology topology = machine(Sharing::exclusive, microseconds(3));
  const double direct = time_on(topology, exchange("direct", 1, kibibytes(64)));
  EXPECT_LT(time_on(topology, exchange("hierarchical", 1, kibibytes(64))), direct / 2);
  const Bytes large = gibibytes(1);
  EXPECT_LT(time_on(topology, exchange("hierarchical", 2, large)),
            time_on(topology, exchange("direct", 1, large)));
}

}  // namespace
}  // namespace collsim::testing
