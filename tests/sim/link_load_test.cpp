// SPDX-License-Identifier: Apache-2.0
//
// What an algorithm's own traffic takes at least is never more than what it takes.
#include "collectives/cost/link_load.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

// Leads to a switch that adds.
LinkParameters adding(LinkParameters link, LinkProtocol protocol) {
  link.protocols[static_cast<std::size_t>(protocol)] = ProtocolCost{};
  return link;
}

std::vector<Topology> networks_of(std::size_t ranks) {
  std::vector<Topology> all;
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    const LinkParameters link = link_of(ten, microseconds(2), nanoseconds(700), sharing);
    LinkParameters half = link;
    half.half_duplex = true;
    NodesShape nodes{.intra_link = link_of(gigabytes_per_second(40), nanoseconds(500), {}, sharing),
                     .inter_link = link};
    nodes.nodes = 2;
    nodes.gpus_per_node = static_cast<int>(ranks) / 2;
    nodes.nics_per_node = 1;
    all.insert(
        all.end(),
        {make_ring(ranks, link), make_switch(ranks, link), make_switch(ranks, half),
         make_switch(ranks, adding(link, LinkProtocol::nvls)), make_fully_connected(ranks, link),
         make_torus({2, static_cast<int>(ranks) / 2}, link),
         with_routing(make_ring(ranks, link), Routing::spray, 0), make_nodes(nodes)});
  }
  return all;
}

class LoadOfLinks : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(LoadOfLinks, IsNeverMoreThanTheTimeItTakes) {
  const Algorithm& row = *GetParam();
  for (const int ranks : nearest_ranks(row, listed_cases<int>({4}, {6, 16}))) {
    if (ranks % 2 != 0) continue;
    for (const Topology& network : networks_of(static_cast<std::size_t>(ranks)))
      for (const int channels : listed_cases<int>({3}, {1}))
        for (const Bytes bytes : listed_cases<Bytes>({100'003}, {0, 7})) {
          const Collective collective =
              byte_collective(row.operation, static_cast<std::size_t>(ranks),
                              row.operation == Operation::barrier ? 0 : bytes);
          AlgorithmChoice choice;
          choice.name = row.name;
          choice.channels = channels;
          const LinkLoad load(collective, choice, network);
          const LinkLoad of_all = LinkLoad::of_all_links(collective, choice, network);
          for (const int chunks : listed_cases<int>({1, 5}, {2})) {
            choice.chunks = chunks;
            const Time time = simulate(network, make_schedule(collective, choice)).time;
            ASSERT_LE(std::max(load.at_least(chunks), of_all.at_least(chunks)), time)
                << network.shape() << ", " << chunks << " chunks, " << channels << " channels, "
                << bytes << " bytes";
          }
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, LoadOfLinks, ::testing::ValuesIn(all_rows()), name_of);

// Of 2(K-1) messages each way every further chunk adds the startups, also where programs are long.
TEST(LinkLoad, CountsStartupsOfLongPrograms) {
  const Topology network = make_ring(2000, link_of(ten, microseconds(2), microseconds(1)));
  AlgorithmChoice choice;
  choice.name = "bidirectional-ring";
  const LinkLoad load(byte_collective(Operation::all_reduce, 2000, mebibytes(256)), choice,
                      network);
  EXPECT_NEAR(load.at_least(2).seconds() - load.at_least(1).seconds(), 2 * 1999 * 2e-6, 1e-9);
}

// A port has 7 messages of 1/8 to send, each of which takes 1/8 MB / 10 GB/s + 2 us, then 1 us.
TEST(LinkLoad, IsThatOfTheBusiestLink) {
  const Topology network = make_switch(8, link_of(ten, microseconds(2), microseconds(1)));
  AlgorithmChoice choice;
  choice.name = "direct";
  const Collective exchange = byte_collective(Operation::all_to_all, 8, 1'000'000);
  EXPECT_NEAR(LinkLoad(exchange, choice, network).at_least(1).seconds(),
              7 * (12.5e-6 + 2e-6) + 1e-6, 1e-11);
  EXPECT_NEAR(LinkLoad(exchange, choice, network).at_least(3).seconds(),
              7 * (12.5e-6 + 6e-6) + 1e-6, 1e-11);
  choice.name = "ring";
  // Only one of a rank's four links on a torus: twice 15/16 MB.
  const Collective sum = byte_collective(Operation::all_reduce, 16, 1'000'000);
  const Topology torus = make_torus({4, 4}, link_of(ten));
  EXPECT_GT(LinkLoad(sum, choice, torus).at_least(1).seconds(), 1.4e-4);
}

// Every GPU of a switch that adds sends it all of the vector, and the sum of its own eighth.
TEST(LinkLoad, CountsWhatSwitchesAdd) {
  const Topology network =
      make_switch(8, adding(link_of(ten, {}, microseconds(1)), LinkProtocol::nvls));
  AlgorithmChoice choice;
  choice.name = "nvls";
  const Collective sum = byte_collective(Operation::all_reduce, 8, 1'000'000);
  EXPECT_NEAR(LinkLoad(sum, choice, network).at_least(1).seconds(), 1.125 * 1e-4 + 1e-6, 1e-11);
}

TEST(LinkLoad, OfNodesWhoseSwitchesAddIsNeverMoreThanTheTimeItTakes) {
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    const LinkParameters inside = link_of(gigabytes_per_second(40), nanoseconds(500), {}, sharing);
    const LinkParameters between = link_of(ten, microseconds(2), nanoseconds(700), sharing);
    NodesShape shape{.intra_link = adding(inside, LinkProtocol::nvls),
                     .inter_link = adding(between, LinkProtocol::collnet)};
    shape.nodes = 3;
    shape.gpus_per_node = shape.nics_per_node = 4;
    const Topology network = make_nodes(shape);
    for (const Bytes bytes : {7, 100'003})
      for (const char* const name : {"nvls", "nvls-sharp", "collnet-direct", "collnet-chain"}) {
        const Collective sum = byte_collective(Operation::all_reduce, 12, bytes);
        AlgorithmChoice choice;
        choice.name = name;
        choice.per_node = 4;
        choice.channels = 2;
        const LinkLoad load(sum, choice, network);
        const LinkLoad of_all = LinkLoad::of_all_links(sum, choice, network);
        for (choice.chunks = 1; choice.chunks <= 3; ++choice.chunks) {
          const Time time = simulate(network, make_schedule(sum, choice)).time;
          const Time least = load.at_least(choice.chunks);
          EXPECT_LE(std::max(least, of_all.at_least(choice.chunks)), time) << name;
          EXPECT_GT(least, Time{}) << name;
        }
      }
  }
}

// A graph has no shape that knows its routes.  A ring's ranks meet two others, which is soon
// searched; an exchange among thousands is given up, and what was read by then still holds.
TEST(LinkLoad, ReadsLargeGraphsAsLongAsFewRoutesAreSearched) {
  constexpr std::size_t ranks = 5000;
  TopologyBuilder builder;
  const NodeId hub = builder.add_node(NodeKind::network_switch);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    builder.connect(builder.add_node(NodeKind::gpu), hub, link_of(ten));
  const Topology star = builder.build();
  AlgorithmChoice choice;
  choice.name = "ring";
  const Bytes bytes = 100'000'000;
  const double twice = 2 * (1 - 1.0 / ranks) * 1e8 / 10e9;
  EXPECT_NEAR(LinkLoad(byte_collective(Operation::all_reduce, ranks, bytes), choice, star)
                  .at_least(1)
                  .seconds(),
              twice, 1e-9);
  choice.name = "direct";
  const double once = (1 - 1.0 / ranks) * 1e8 / 10e9;
  const double load = LinkLoad(byte_collective(Operation::all_to_all, ranks, bytes), choice, star)
                          .at_least(1)
                          .seconds();
  EXPECT_GT(load, once / 2);
  EXPECT_LT(load, once);
}

}  // namespace
}  // namespace collsim::testing
