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

TEST(SerialHops, OfATreeAllLevelsButOne) {
  const Topology topology = make_fully_connected(8, link_of(ten));
  const CriticalPath path =
      path_of(topology, byte_schedule(Operation::broadcast, 8, twenty_us, "binomial"));
  EXPECT_EQ(path.total(Kind::wire), microseconds(20));
  EXPECT_EQ(path.total(Kind::hop), microseconds(2 * 20));
}

}  // namespace
}  // namespace collsim::testing
