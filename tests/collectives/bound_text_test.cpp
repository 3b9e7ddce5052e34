// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/bound_text.hpp"

#include <gtest/gtest.h>

#include "tests/collectives/collective_of.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

LinkParameters rate(std::int64_t gigabytes) {
  return {.bandwidth = gigabytes_per_second(gigabytes)};
}

std::string text_of(const Topology& network, const Collective& collective) {
  const NetworkCuts cuts(network, collective.group);
  return to_text(narrowest_links(collective, cuts).value(), collective, network);
}

std::string text_of(const Topology& network, Operation op) {
  return text_of(network, collective_of(op, static_cast<int>(network.rank_count()), mebibytes(64),
                                        ElementType::u8));
}

Topology boxes(int nodes) {
  return make_nodes({.nodes = nodes,
                     .gpus_per_node = 8,
                     .nics_per_node = 4,
                     .intra_dims = {},
                     .intra_link = rate(450),
                     .inter_link = rate(50)});
}

TEST(BoundText, NamesRanks) {
  EXPECT_EQ(text_of(make_chain(4, rate(25)), Operation::broadcast),
            "rank 0 must send at least 64 MiB through its one link of 25 GB/s");
  EXPECT_EQ(text_of(make_ring(4, rate(25)), Operation::all_reduce),
            "all ranks together must send at least 2(K-1) times the vector, 384 MiB, and their "
            "links carry 200 GB/s together");
}

TEST(BoundText, SaysWhatSharesALink) {
  LinkParameters slot = rate(12);
  slot.half_duplex = true;
  EXPECT_EQ(text_of(make_switch(4, slot), Operation::all_to_all),
            "rank 0 must send and receive at least 96 MiB through its one link of 12 GB/s");
  EXPECT_EQ(text_of(make_switch(4, slot), Operation::all_reduce),
            "all ranks together must send and receive at least 4(K-1) times the vector, 768 MiB, "
            "and their links carry 48 GB/s together");
}

TEST(BoundText, NamesNodes) {
  EXPECT_EQ(text_of(boxes(4), Operation::all_to_all),
            "at least 384 MiB must leave node 0 (ranks 0 to 7) through 4 links of together 200 "
            "GB/s");
  EXPECT_EQ(text_of(boxes(4), Operation::all_reduce),
            "the 4 nodes must send each other at least 2(4-1) times the vector, 384 MiB, and the "
            "links between them carry 800 GB/s together");
  Collective in_part = collective_of(Operation::all_to_all, 6, mebibytes(48), ElementType::u8);
  in_part.group = {Rank(17), Rank(16), Rank(19), Rank(25), Rank(26), Rank(21)};
  EXPECT_EQ(text_of(make_nodes({.nodes = 4,
                                .gpus_per_node = 8,
                                .nics_per_node = 1,
                                .intra_dims = {},
                                .intra_link = rate(450),
                                .inter_link = rate(50)}),
                    in_part),
            "at least 64 MiB must leave node 2 (ranks 16, 17, 19, 21) through one link of 50 GB/s");
}

TEST(BoundText, NamesPlacesOfAGrid) {
  EXPECT_EQ(text_of(make_torus({8, 4}, rate(50)), Operation::all_to_all),
            "at least 512 MiB must leave places 0 to 3 of dimension 0 (16 ranks) through 8 links "
            "of together 400 GB/s");
  EXPECT_EQ(text_of(make_chain(8, rate(50)), Operation::all_to_all),
            "at least 128 MiB must leave ranks 0 to 3 through one link of 50 GB/s");
}

TEST(BoundText, NamesSwitches) {
  TopologyBuilder builder;
  const NodeId spine = builder.add_node(NodeKind::network_switch, "spine");
  for (int leaf = 0; leaf < 2; ++leaf) {
    const NodeId name = builder.add_node(NodeKind::network_switch, "leaf" + std::to_string(leaf));
    builder.connect(name, spine, rate(100));
    for (int gpu = 0; gpu < 4; ++gpu)
      builder.connect(builder.add_node(NodeKind::gpu), name, rate(50));
  }
  EXPECT_EQ(text_of(builder.build(), Operation::all_to_all),
            "at least 128 MiB must leave what is behind leaf0 (ranks 0 to 3) through one link of "
            "100 GB/s");
}

}  // namespace
}  // namespace collsim
