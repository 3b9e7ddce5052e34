// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "topo/shapes.hpp"
#include "topo/topology.hpp"

namespace collsim {
namespace {

LinkParameters with_protocols() {
  LinkParameters link{.bandwidth = gigabytes_per_second(100),
                      .latency = nanoseconds(300),
                      .startup = nanoseconds(200)};
  link.protocols[0] = ProtocolCost{.hop = nanoseconds(1000), .growth = 0.5, .rate = 0.25};
  link.protocols[2] = ProtocolCost{.hop = nanoseconds(7000), .rate = 1.125};
  return link;
}

TEST(Protocols, TakeThePlaceOfALinksLatencyAndStartup) {
  const Topology ring = make_ring(4, with_protocols());
  const Topology simple = ring.under(LinkProtocol::simple, 1 << 20);
  for (const Link& link : simple.links()) {
    EXPECT_EQ(link.bandwidth.bytes_per_second(), 112'500'000'000);
    EXPECT_EQ(link.latency, nanoseconds(7000));
    EXPECT_EQ(link.startup, Time{});
  }
  EXPECT_EQ(ring.link(LinkId(0)).latency, nanoseconds(300)) << "the network itself is unchanged";
  EXPECT_EQ(simple.turnings().size(), ring.turnings().size()) << "and so are its turns";
}

// By half of the growth at 2 KiB, by nearly all of it for long messages.
TEST(Protocols, HopsMayGrowWithTheMessage) {
  const Topology ring = make_ring(4, with_protocols());
  const auto hop = [&](Bytes bytes) {
    return ring.under(LinkProtocol::ll, bytes).link(LinkId(0)).latency;
  };
  EXPECT_EQ(hop(0), nanoseconds(1000));
  EXPECT_EQ(hop(2048), nanoseconds(1250));
  EXPECT_GT(hop(1 << 30), nanoseconds(1499));
  EXPECT_LE(hop(1 << 30), nanoseconds(1500));
}

TEST(Protocols, HopsGrowWithWhatAProtocolPassesOn) {
  const ProtocolCost cost{.hop = nanoseconds(1000), .growth = 0.5};
  EXPECT_EQ(cost.flight_of(64 << 10, LinkProtocol::simple), nanoseconds(1250));
  EXPECT_LE(cost.flight_of(1 << 30, LinkProtocol::simple), nanoseconds(1500));
  EXPECT_EQ(cost.flight_of(64 << 10, LinkProtocol::p2p_simple), nanoseconds(17'000));
}

TEST(Protocols, AreRefusedWhereALinkDoesNotCarryThem) {
  const Topology ring = make_ring(4, with_protocols());
  EXPECT_TRUE(ring.carries(LinkProtocol::ll));
  EXPECT_FALSE(ring.carries(LinkProtocol::ll128));
  try {
    static_cast<void>(ring.under(LinkProtocol::ll128, 0));
    FAIL() << "LL128 was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "link gpu0->gpu1 does not carry protocol LL128");
  }
}

TEST(Protocols, AndSegmentsOfLinksWithinNodesAreThoseOfTheirShape) {
  NodesShape shape{.nodes = 2,
                   .gpus_per_node = 2,
                   .nics_per_node = 2,
                   .intra_link = with_protocols(),
                   .inter_link = {Bandwidth(500)}};
  shape.intra_link.segments = {{100, Bandwidth(1'000)}, {200, Bandwidth(2'000)}};
  take_best_of_segments(shape.intra_link);
  const Topology nodes = make_nodes(shape);
  EXPECT_EQ(nodes.parameters(nodes.links_between(NodeId(0), NodeId(4)).at(0)), shape.intra_link);
  EXPECT_EQ(nodes.parameters(nodes.links_between(NodeId(0), NodeId(6)).at(0)), shape.inter_link);
}

TEST(Protocols, OfOneLinkCanChange) {
  const Topology ring = make_ring(4, with_protocols());
  LinkParameters slow = ring.parameters(LinkId(1));
  EXPECT_EQ(slow, with_protocols());
  slow.protocols[2]->rate = 0.5;
  const Topology changed = ring.with_changed_links({{{LinkId(1), slow}}});
  EXPECT_EQ(changed.parameters(LinkId(1)), slow);
  EXPECT_EQ(changed.parameters(LinkId(2)), with_protocols());
}

TEST(Protocols, MustMakeSense) {
  for (const ProtocolCost wrong : {ProtocolCost{.hop = Time(-1)}, ProtocolCost{.growth = -1},
                                   ProtocolCost{.rate = 0}, ProtocolCost{.rate = 1e9}}) {
    LinkParameters link = with_protocols();
    link.protocols[0] = wrong;
    EXPECT_THROW(static_cast<void>(make_ring(4, link)), Error);
  }
}

}  // namespace
}  // namespace collsim
