// SPDX-License-Identifier: Apache-2.0
#include "sim/serial_hops.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

using Kind = CriticalPath::Kind;

constexpr Bytes twenty_us = 200'000;  // at 10 GB/s

CriticalPath path_of(const Topology& topology, const Schedule& schedule) {
  SimulationOptions options;
  options.recording = Recording::full;
  return critical_path(topology, schedule, simulate(topology, schedule, {}, options));
}

TEST(SerialHops, OfAMessageThatIsRelayedWholeOneLinkIsWire) {
  const Topology topology = make_chain(6, link_of(ten));
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 6, twenty_us, "chain"));
  EXPECT_EQ(path.total(Kind::wire), microseconds(20));
  EXPECT_EQ(path.total(Kind::hop), microseconds(4 * 20));
  EXPECT_EQ(topology.name(*path.longest_on), "gpu0->gpu1");
}

TEST(SerialHops, OfAPipelineWhatFillsAndDrainsIt) {
  const Topology topology = make_chain(6, link_of(ten));
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 6, twenty_us, "chain", 5));
  EXPECT_EQ(path.total(Kind::wire), microseconds(20));
  EXPECT_EQ(path.total(Kind::hop), microseconds(4 * 4));
}

TEST(SerialHops, OnASlowLinkBytesAreWire) {
  const Topology even = make_chain(6, link_of(ten));
  std::vector<Topology::LinkChange> slow;
  for (std::uint32_t i = 0; i < even.links().size(); ++i)
    if (even.name(LinkId(i)) == "gpu2->gpu3")
      slow.push_back({LinkId(i), link_of(Bandwidth(1'000'000'000))});
  const Topology topology = even.with_changed_links(slow);
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 6, twenty_us, "chain", 5));
  EXPECT_EQ(topology.name(*path.longest_on), "gpu2->gpu3");
  EXPECT_EQ(path.total(Kind::wire), microseconds(200));
  EXPECT_EQ(path.total(Kind::hop), microseconds(4 * 4));
}

TEST(SerialHops, NoneWhereAllLinksAreBusyAllTheTime) {
  const Topology topology = make_ring(6, link_of(ten));
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::all_reduce, 6, 6 * twenty_us, "ring"));
  EXPECT_EQ(path.total(Kind::wire), microseconds(10 * 20));
  EXPECT_EQ(path.total(Kind::hop), Time{});
}

TEST(SerialHops, WireIsTheSameForAnyNumberOfMessages) {
  const Topology topology = make_chain(8, link_of(ten, microseconds(1)));
  for (int chunks = 1; chunks <= 100; ++chunks) {
    const Bytes bytes = Bytes{2'000} * chunks;  // 200 ns each
    const CriticalPath path =
        path_of(topology, byte_schedule(Operation::broadcast, 8, bytes, "chain", chunks));
    EXPECT_EQ(path.total(Kind::wire), nanoseconds(200 * chunks)) << chunks;
    EXPECT_EQ(path.total(Kind::hop), nanoseconds(6 * 200)) << chunks;
  }
}

// Messages are on all links of their routes: here rank 0's port and the cable between the leaves
// are on the path for equally long, and the cable is never idle.
TEST(SerialHops, AreBesideTheBusiestOfEqualLinks) {
  TopologyBuilder builder;
  for (int rank = 0; rank < 4; ++rank) builder.add_node(NodeKind::gpu);
  const NodeId near = builder.add_node(NodeKind::network_switch);
  const NodeId far = builder.add_node(NodeKind::network_switch);
  LinkParameters port = link_of(ten);
  port.sharing = Sharing::fair;
  for (int rank = 0; rank < 4; ++rank)
    builder.connect(NodeId(static_cast<std::size_t>(rank)), rank < 2 ? near : far, port);
  port.bandwidth = gigabytes_per_second(5);
  builder.connect(near, far, port);
  const Topology topology = builder.build();
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 4, twenty_us, "binomial"));
  EXPECT_EQ(topology.name(*path.longest_on), "switch0->switch1");
  EXPECT_EQ(path.total(Kind::hop), Time{});
}

TEST(SerialHops, OfATreeAllLevelsButOne) {
  const Topology topology = make_fully_connected(8, link_of(ten));
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 8, twenty_us, "binomial"));
  EXPECT_EQ(path.total(Kind::wire), microseconds(20));
  EXPECT_EQ(path.total(Kind::hop), microseconds(2 * 20));
}

}  // namespace
}  // namespace collsim::testing
