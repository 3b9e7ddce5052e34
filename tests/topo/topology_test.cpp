// SPDX-License-Identifier: Apache-2.0
#include "topo/topology.hpp"

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

// A box of two GPUs behind a switch with a host and a NIC; devices in no particular order.
struct Box {
  TopologyBuilder builder;
  NodeId host = builder.add_node(NodeKind::cpu, "host");
  NodeId left = builder.add_node(NodeKind::gpu, "left");
  NodeId hub = builder.add_node(NodeKind::network_switch, "hub");
  NodeId right = builder.add_node(NodeKind::gpu, "right");
  NodeId port = builder.add_node(NodeKind::nic, "port");
};

TEST(TopologyBuilder, RanksAreTheGpusInOrder) {
  Box box;
  box.builder.connect(box.left, box.hub, plain_link);
  box.builder.connect(box.right, box.hub, plain_link);
  const Topology topology = box.builder.build();
  EXPECT_EQ(topology.shape(), "explicit");
  EXPECT_EQ(topology.node_count(), 5U);
  ASSERT_EQ(topology.rank_count(), 2U);
  EXPECT_EQ(topology.node_of(Rank(0)), box.left);
  EXPECT_EQ(topology.node_of(Rank(1)), box.right);
  EXPECT_EQ(topology.rank_at(box.left), Rank(0));
  EXPECT_EQ(topology.rank_at(box.right), Rank(1));
  EXPECT_EQ(topology.rank_at(box.host), std::nullopt);
  EXPECT_EQ(topology.rank_at(box.port), std::nullopt);
  EXPECT_EQ(topology.kind(box.hub), NodeKind::network_switch);
}

TEST(TopologyBuilder, NamesAreFoundAgain) {
  Box box;
  const LinkId cable = box.builder.connect(box.left, box.hub, plain_link);
  const Topology topology = box.builder.build("box");
  EXPECT_EQ(topology.shape(), "box");
  EXPECT_EQ(topology.name(box.hub), "hub");
  EXPECT_EQ(topology.name(cable), "left->hub");
  EXPECT_EQ(topology.find_node("port"), box.port);
  EXPECT_EQ(topology.find_node("gpu0"), std::nullopt);
  EXPECT_EQ(topology.find_node(""), std::nullopt);
}

TEST(TopologyBuilder, DevicesWithoutNameGetKindAndNumber) {
  TopologyBuilder builder;
  builder.add_node(NodeKind::gpu, "mine");
  const NodeId second = builder.add_node(NodeKind::gpu);
  const NodeId hub = builder.add_node(NodeKind::network_switch);
  const NodeId third = builder.add_node(NodeKind::gpu);
  const Topology topology = builder.build();
  EXPECT_EQ(topology.name(second), "gpu1");
  EXPECT_EQ(topology.name(third), "gpu2");
  EXPECT_EQ(topology.name(hub), "switch0");
  EXPECT_EQ(topology.find_node("gpu2"), third);
}

TEST(TopologyBuilder, ACableHasTwoDirectionsWithNeighbouringIds) {
  Box box;
  box.builder.connect_one_way(box.host, box.hub, plain_link);
  const LinkId there = box.builder.connect(box.left, box.hub, plain_link);
  const Topology topology = box.builder.build();
  ASSERT_EQ(topology.links().size(), 3U);
  const LinkId back(there.index() + 1);
  EXPECT_EQ(there, LinkId(1));
  EXPECT_EQ(topology.link(there).from, box.left);
  EXPECT_EQ(topology.link(there).to, box.hub);
  EXPECT_EQ(topology.link(back).from, box.hub);
  EXPECT_EQ(topology.link(back).to, box.left);
  EXPECT_EQ(topology.link(there).resource, there);
  EXPECT_EQ(topology.link(back).resource, back);
  EXPECT_EQ(topology.parameters(there), plain_link);
}

TEST(TopologyBuilder, HalfDuplexDirectionsAreOneResource) {
  Box box;
  LinkParameters half = plain_link;
  half.half_duplex = true;
  const LinkId there = box.builder.connect(box.left, box.hub, half);
  const Topology topology = box.builder.build();
  EXPECT_EQ(topology.link(there).resource, there);
  EXPECT_EQ(topology.link(LinkId(there.index() + 1)).resource, there);
  EXPECT_EQ(topology.parameters(there), half);
  EXPECT_EQ(topology.parameters(LinkId(there.index() + 1)), half);
}

TEST(TopologyBuilder, ParallelCablesAreAllFound) {
  Box box;
  box.builder.connect(box.left, box.hub, plain_link);
  box.builder.connect(box.left, box.right, plain_link);
  box.builder.connect(box.hub, box.left, plain_link);
  const Topology topology = box.builder.build();
  EXPECT_EQ(topology.links_between(box.left, box.hub), (std::vector{LinkId(0), LinkId(5)}));
  EXPECT_EQ(topology.links_between(box.hub, box.left), (std::vector{LinkId(1), LinkId(4)}));
  EXPECT_TRUE(topology.links_between(box.hub, box.right).empty());
}

TEST(TopologyBuilder, MistakesNameTheDevice) {
  Box box;
  LinkParameters late = plain_link;
  late.latency = picoseconds(-7);
  LinkParameters cheap = plain_link;
  cheap.startup = picoseconds(-8);
  LinkParameters half = plain_link;
  half.half_duplex = true;
  expect_error(ErrorCode::unknown_name, {"left", "node 99", "5 devices"},
               [&] { box.builder.connect(box.left, NodeId(99), plain_link); });
  expect_error(ErrorCode::unknown_name, {"node 99"},
               [&] { box.builder.connect_one_way(NodeId(99), box.left, plain_link); });
  expect_error(ErrorCode::invalid_argument, {"hub", "itself"},
               [&] { box.builder.connect(box.hub, box.hub, plain_link); });
  expect_error(ErrorCode::invalid_argument, {"left->hub", "latency", "-7 ps"},
               [&] { box.builder.connect(box.left, box.hub, late); });
  expect_error(ErrorCode::invalid_argument, {"overhead", "-8 ps"},
               [&] { box.builder.connect_one_way(box.left, box.hub, cheap); });
  expect_error(ErrorCode::invalid_argument, {"left->hub", "half duplex"},
               [&] { box.builder.connect_one_way(box.left, box.hub, half); });
  expect_error(ErrorCode::invalid_argument, {"'hub'", "twice"},
               [&] { box.builder.add_node(NodeKind::gpu, "hub"); });
  const Topology topology = box.builder.build();
  EXPECT_EQ(topology.node_count(), 5U) << "a refused device must leave no trace";
  EXPECT_TRUE(topology.links().empty()) << "a refused link must leave no trace";
}

TEST(TopologyBuilder, AtLeastOneGpuIsNeeded) {
  TopologyBuilder builder;
  expect_error(ErrorCode::invalid_argument, {"gpu"}, [&] { (void)builder.build(); });
  builder.add_node(NodeKind::network_switch);
  expect_error(ErrorCode::invalid_argument, {"gpu"}, [&] { (void)builder.build(); });
}

TEST(Topology, NodesOfShapesAreNamedByKindAndNumber) {
  const Topology topology = make_nodes({.nodes = 3,
                                        .gpus_per_node = 4,
                                        .nics_per_node = 2,
                                        .intra = NodesShape::Intra::network_switch,
                                        .intra_dims = {},
                                        .intra_link = plain_link,
                                        .inter_link = plain_link});
  ASSERT_EQ(topology.node_count(), 12U + 4U + 6U);
  for (std::size_t node = 0; node < topology.node_count(); ++node)
    EXPECT_EQ(topology.find_node(topology.name(NodeId(node))), NodeId(node));
  EXPECT_EQ(topology.name(NodeId(11)), "gpu11");
  EXPECT_EQ(topology.name(NodeId(12)), "switch0");
  EXPECT_EQ(topology.name(NodeId(15)), "switch3");
  EXPECT_EQ(topology.name(NodeId(21)), "nic5");
  EXPECT_EQ(topology.rank_at(NodeId(11)), Rank(11));
  EXPECT_EQ(topology.rank_at(NodeId(12)), std::nullopt);
}

TEST(Topology, FindNodeTakesNothingButExistingNames) {
  const Topology topology = make_switch(12, plain_link);
  EXPECT_EQ(topology.find_node("gpu0"), NodeId(0));
  EXPECT_EQ(topology.find_node("gpu11"), NodeId(11));
  EXPECT_EQ(topology.find_node("switch0"), NodeId(12));
  for (const char* name : {"gpu12", "switch1", "nic0", "cpu0", "gpu", "gpu01", "gpu-1", "gpu+1",
                           "gpu1x", "gpu 1", "GPU1", "", "1", "gpu99999999999999999999"})
    EXPECT_EQ(topology.find_node(name), std::nullopt) << name;
}

TEST(Topology, IdsThatDoNotExistAreRefusedByNumber) {
  Box box;
  box.builder.connect(box.left, box.hub, plain_link);
  for (const Topology& topology : {box.builder.build(), make_chain(2, plain_link)}) {
    expect_error(ErrorCode::unknown_name, {"rank 2", "there are 2"},
                 [&] { (void)topology.node_of(Rank(2)); });
    expect_error(ErrorCode::unknown_name, {"node 70"}, [&] { (void)topology.kind(NodeId(70)); });
    expect_error(ErrorCode::unknown_name, {"node 71"}, [&] { (void)topology.name(NodeId(71)); });
    expect_error(ErrorCode::unknown_name, {"link 2", "there are 2"},
                 [&] { (void)topology.name(LinkId(2)); });
    expect_error(ErrorCode::unknown_name, {"link 9"},
                 [&] { (void)topology.parameters(LinkId(9)); });
    EXPECT_EQ(topology.rank_at(NodeId(70)), std::nullopt);
  }
}

TEST(Topology, TimesNearTheEndOfTimeAreRefused) {
  const Time longest(Time::never().ps() / 2);
  LinkParameters link = plain_link;
  link.latency = longest;
  link.startup = longest;
  EXPECT_EQ(make_ring(3, link).parameters(LinkId(0)), link);
  for (Time LinkParameters::*const time : {&LinkParameters::latency, &LinkParameters::startup})
    for (const Time value : {longest + picoseconds(1), Time::never()}) {
      LinkParameters never = plain_link;
      never.*time = value;
      const std::string what = time == &LinkParameters::latency ? "latency" : "overhead";
      const std::string number = std::to_string(value.ps());
      expect_error(ErrorCode::invalid_argument, {"ring", what, number, "too long"},
                   [&] { (void)make_ring(3, never); });
      Box box;
      expect_error(ErrorCode::invalid_argument, {"left->hub", what, "too long"},
                   [&] { box.builder.connect(box.left, box.hub, never); });
      const std::vector<Topology::LinkChange> late{{.link = LinkId(0), .parameters = never}};
      expect_error(ErrorCode::invalid_argument, {what, "too long"},
                   [&] { (void)make_ring(3, plain_link).with_changed_links(late); });
    }
}

TEST(ChangedLinks, OnlyTheGivenLinksChange) {
  const Topology before = make_switch(4, plain_link);
  LinkParameters slow = plain_link;
  slow.startup = nanoseconds(3);
  slow.latency = nanoseconds(4);
  slow.sharing = Sharing::fair;
  const Topology after = before.with_changed_links(
      std::vector<Topology::LinkChange>{{.link = LinkId(2), .parameters = slow}});
  for (std::size_t id = 0; id < 8; ++id) {
    EXPECT_EQ(before.parameters(LinkId(id)), plain_link);
    EXPECT_EQ(after.parameters(LinkId(id)), id == 2 ? slow : plain_link);
  }
  EXPECT_EQ(after.shape(), "switch");
}

TEST(ChangedLinks, LoseSymmetryUnlessNothingChanged) {
  const Topology before = make_switch(4, plain_link);
  ASSERT_FALSE(before.turnings().empty());
  EXPECT_FALSE(before.with_changed_links({}).turnings().empty());
  const std::vector<Topology::LinkChange> change{{.link = LinkId(2), .parameters = link_of(1)}};
  const Topology after = before.with_changed_links(change);
  EXPECT_TRUE(after.turnings().empty());
}

TEST(ChangedLinks, DuplexHoldsForBothDirectionsOfTheCable) {
  for (const Topology& full : {make_switch(3, plain_link), make_ring(3, plain_link),
                               make_fully_connected(3, plain_link)}) {
    LinkParameters half = plain_link;
    half.half_duplex = true;
    const LinkId one(3);
    const LinkId other = full.links_between(full.link(one).to, full.link(one).from).at(0);
    const std::vector<Topology::LinkChange> halve{{.link = one, .parameters = half}};
    const Topology halved = full.with_changed_links(halve);
    EXPECT_EQ(halved.link(one).resource, std::min(one, other));
    EXPECT_EQ(halved.link(other).resource, std::min(one, other));
    EXPECT_TRUE(halved.parameters(other).half_duplex);
    for (std::size_t id = 0; id < full.links().size(); ++id)
      EXPECT_EQ(halved.parameters(LinkId(id)),
                LinkId(id) == one || LinkId(id) == other ? half : plain_link);

    const std::vector<Topology::LinkChange> restore{{.link = other, .parameters = plain_link}};
    const Topology restored = halved.with_changed_links(restore);
    for (std::size_t id = 0; id < full.links().size(); ++id) {
      EXPECT_EQ(restored.link(LinkId(id)).resource, LinkId(id));
      EXPECT_EQ(restored.parameters(LinkId(id)), plain_link);
    }
  }
}

TEST(ChangedLinks, TheLastWordOnDuplexCounts) {
  Box box;
  LinkParameters half = plain_link;
  half.half_duplex = true;
  const LinkId there = box.builder.connect(box.left, box.hub, half);
  const LinkId back(there.index() + 1);
  const Topology before = box.builder.build();
  const Topology::LinkChange full{.link = there, .parameters = plain_link};
  const Topology::LinkChange as_before{.link = back, .parameters = before.parameters(back)};
  const std::vector<Topology::LinkChange> half_last{full, as_before};
  EXPECT_EQ(before.with_changed_links(half_last).link(back).resource, there);
  const std::vector<Topology::LinkChange> full_last{as_before, full};
  EXPECT_EQ(before.with_changed_links(full_last).link(back).resource, back);
}

TEST(ChangedLinks, DuplexOfParallelCablesPairsThemInOrder) {
  Box box;
  box.builder.connect(box.left, box.hub, plain_link);
  box.builder.connect(box.left, box.hub, plain_link);
  LinkParameters half = plain_link;
  half.half_duplex = true;
  const std::vector<Topology::LinkChange> change{{.link = LinkId(3), .parameters = half}};
  const Topology changed = box.builder.build().with_changed_links(change);
  EXPECT_EQ(changed.link(LinkId(3)).resource, LinkId(2));
  EXPECT_EQ(changed.link(LinkId(2)).resource, LinkId(2));
  EXPECT_EQ(changed.link(LinkId(1)).resource, LinkId(1));
}

TEST(ChangedLinks, RefuseWhatMakesNoSense) {
  Box box;
  box.builder.connect_one_way(box.left, box.hub, plain_link);
  box.builder.connect(box.right, box.hub, plain_link);
  const Topology topology = box.builder.build();
  const auto change = [&](std::size_t link, const LinkParameters& parameters) {
    const std::vector<Topology::LinkChange> changes{
        {.link = LinkId(link), .parameters = parameters}};
    (void)topology.with_changed_links(changes);
  };
  LinkParameters half = plain_link;
  half.half_duplex = true;
  LinkParameters negative = plain_link;
  negative.latency = picoseconds(-1);
  LinkParameters half_fair = half;
  half_fair.sharing = Sharing::fair;
  expect_error(ErrorCode::unknown_name, {"link 3", "there are 3"}, [&] { change(3, plain_link); });
  expect_error(ErrorCode::invalid_argument, {"right->hub", "-1 ps"}, [&] { change(1, negative); });
  expect_error(ErrorCode::invalid_argument, {"left->hub", "opposite"}, [&] { change(0, half); });
  expect_error(ErrorCode::invalid_argument, {"right", "same sharing"},
               [&] { change(1, half_fair); });
}

TEST(TopologyDeathTest, InconsistentPartsAreOurBug) {
  Topology::Parts parts;
  parts.shape = "broken";
  parts.kinds = {NodeKind::gpu, NodeKind::gpu};
  parts.rank_nodes = {NodeId(0)};
  EXPECT_DEATH(Topology{parts}, "node 1 is a gpu but not rank 1");
  parts.rank_nodes = {NodeId(0), NodeId(1)};
  const Link link{.from = NodeId(0),
                  .to = NodeId(2),
                  .resource = LinkId(0),
                  .bandwidth = gigabytes_per_second(1),
                  .latency = {},
                  .startup = {}};
  parts.links = {link};
  EXPECT_DEATH(Topology{parts}, "joins nodes 0 and 2 of 2");
  parts.links[0].to = NodeId(1);
  EXPECT_EQ(Topology(parts).rank_count(), 2U);
  parts.links[0].resource = LinkId(1);
  EXPECT_DEATH(Topology{parts}, "resource 1");
}

}  // namespace
}  // namespace collsim
