// SPDX-License-Identifier: Apache-2.0
//
// A network that claims turns must look the same after each of them: links lie where the turned
// links lay, and routes are turned routes.
#include <array>
#include <bit>
#include <map>
#include <optional>

#include "tests/topo/testing.hpp"
#include "topo/graph_nodes.hpp"
#include "topo/turns.hpp"

namespace collsim {
namespace {

using Digits = std::vector<std::uint32_t>;  // slowest first

Digits digits_of(const std::vector<TurnDigit>& sizes, std::size_t rank) {
  Digits digits(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0; rank /= sizes[i].size)
    digits[i] = static_cast<std::uint32_t>(rank % sizes[i].size);
  return digits;
}

std::size_t rank_of(const std::vector<TurnDigit>& sizes, const Digits& digits) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) rank = rank * sizes[i].size + digits[i];
  return rank;
}

// A renaming of the values of one digit.
struct Renaming {
  const std::vector<TurnDigit>& sizes;
  std::size_t digit;
  std::vector<std::uint32_t> to;

  [[nodiscard]] std::size_t of(std::size_t rank) const {
    Digits digits = digits_of(sizes, rank);
    digits[digit] = to[digits[digit]];
    return rank_of(sizes, digits);
  }
  [[nodiscard]] LinkPlace of(const LinkPlace& place) const {
    const bool matters = (place.without >> digit & 1U) == 0;
    return {place.kind, matters ? Rank(of(place.at.index())) : place.at, place.without};
  }
};

// One turn of every digit that turns; of those that permute also a swap.
std::vector<Renaming> generators(const std::vector<TurnDigit>& sizes) {
  std::vector<Renaming> all;
  for (std::size_t digit = 0; digit < sizes.size(); ++digit) {
    const auto [size, step, permutes, mirrors] = sizes[digit];
    EXPECT_FALSE(mirrors) << "schedules say that";
    Renaming turn{sizes, digit, {}};
    for (std::uint32_t value = 0; value < size; ++value) turn.to.push_back((value + step) % size);
    if (step < size) all.push_back(turn);
    if (!permutes || size < 3) continue;
    for (std::uint32_t value = 0; value < size; ++value) turn.to[value] = value;
    std::swap(turn.to[0], turn.to[1]);
    all.push_back(turn);
  }
  return all;
}

void expect_turns(const Topology& topology, const Topology::Turning& turning) {
  std::map<std::pair<std::uint32_t, Rank>, LinkId> link_at;
  for (std::size_t id = 0; id < topology.links().size(); ++id) {
    const LinkPlace place = turning.place(LinkId(id));
    ASSERT_TRUE(link_at.emplace(std::pair(place.kind, place.at), LinkId(id)).second)
        << topology.shape() << ": " << topology.name(LinkId(id)) << " lies where another one does";
    const Digits digits = digits_of(turning.digits, place.at.index());
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if ((place.without >> i & 1U) != 0) {
        ASSERT_EQ(digits[i], 0U);
      }
    }
  }
  const std::size_t ranks = topology.rank_count();
  Router router(topology);
  for (const Renaming& renaming : generators(turning.digits)) {
    const auto image = [&](LinkId id) {
      const LinkPlace place = renaming.of(turning.place(id));
      const auto found = link_at.find({place.kind, place.at});
      return found == link_at.end() ? std::nullopt : std::optional(found->second);
    };
    for (std::size_t id = 0; id < topology.links().size(); ++id) {
      ASSERT_TRUE(image(LinkId(id)).has_value());
      ASSERT_EQ(topology.parameters(*image(LinkId(id))), topology.parameters(LinkId(id)));
    }
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t to = 0; to < ranks; ++to) {
        if (from == to) continue;
        std::vector<LinkId> images;
        for (const LinkId id : route(router, from, to)) images.push_back(*image(id));
        ASSERT_EQ(images, route(router, renaming.of(from), renaming.of(to)))
            << topology.shape() << " of " << ranks << ", " << from << " to " << to;
      }
  }
}

void expect_turns(const Topology& topology, std::size_t groups = 1) {
  EXPECT_EQ(topology.turnings().size(), groups) << topology.shape();
  for (const Topology::Turning& turning : topology.turnings()) expect_turns(topology, turning);
}

TEST(Turnings, OfFlatShapes) {
  for (std::size_t ranks = 1; ranks <= 17; ++ranks) {
    expect_turns(make_ring(ranks, plain_link));
    expect_turns(make_switch(ranks, plain_link));
    expect_turns(make_fully_connected(ranks, plain_link), std::has_single_bit(ranks) ? 2 : 1);
    if (std::has_single_bit(ranks)) expect_turns(make_hypercube(ranks, plain_link));
  }
}

TEST(Turnings, OfToriFatTreesAndDragonflies) {
  for (const std::vector<int>& dims :
       std::vector<std::vector<int>>{{4, 4}, {2, 3}, {3, 1, 5}, {2, 2, 2}, {4, 6}, {1}, {5, 2, 4}})
    expect_turns(make_torus(dims, plain_link));
  for (const int ports : {2, 4, 6}) expect_turns(make_fat_tree(ports, plain_link));
  for (const int groups : {1, 2, 4, 9})
    for (const int routers : {1, 3, 4})
      for (const int ranks : {1, 2})
        expect_turns(make_dragonfly({.groups = groups,
                                     .routers_per_group = routers,
                                     .ranks_per_router = ranks,
                                     .link = plain_link}));
}

TEST(Turnings, OfOtherTreesAndDragonflies) {
  const auto tree = [](std::size_t leaves, std::size_t per_leaf, std::size_t spines,
                       std::size_t cables, std::size_t rails) {
    return make_tree({.name = "tree",
                      .ends = leaves * per_leaf * rails,
                      .ends_per_leaf = per_leaf,
                      .rails = rails,
                      .spines = spines,
                      .cables = cables,
                      .links = {plain_link, link_of(1)}});
  };
  expect_turns(tree(4, 16, 8, 1, 1));
  expect_turns(tree(3, 4, 2, 2, 1));
  expect_turns(tree(3, 4, 2, 1, 2));
  expect_turns(tree(3, 4, 3, 1, 1), 0);
  for (const std::vector<double>& ratios : std::vector<std::vector<double>>{{1, 1}, {2, 1}})
    for (const std::size_t ranks : {std::size_t{0}, std::size_t{7}})
      expect_turns(make_tree(tree_of({.levels = 3,
                                      .ports = 6,
                                      .ranks = ranks,
                                      .oversubscription = ratios,
                                      .links = {plain_link, plain_link, plain_link}})),
                   ranks == 0 ? 1 : 0);
  for (const int cables : {2, 3})
    expect_turns(make_dragonfly({.groups = 4,
                                 .routers_per_group = 3,
                                 .ranks_per_router = 4,
                                 .link = plain_link,
                                 .global_link = link_of(1),
                                 .cables = cables}));
}

// Two pods each.  Groups of ends and cores that are multiples of each other or not, and fewer cores
// than leaves.
TEST(Turnings, OfOversubscribedTreesOfThreeLevels) {
  const auto tree = [](std::size_t leaves, std::size_t groups, std::size_t cores) {
    return make_tree({.name = "tree",
                      .ends = 2 * leaves * 2 * groups,
                      .ends_per_leaf = 2 * groups,
                      .spines = 2,
                      .leaves_per_pod = leaves,
                      .cores = cores,
                      .links = {plain_link, link_of(1), link_of(2)}});
  };
  for (const auto& [leaves, groups, cores] : std::vector<std::array<std::size_t, 3>>{
           {6, 2, 6}, {6, 3, 6}, {8, 1, 4}, {4, 3, 4}, {2, 4, 2}, {3, 4, 6}, {10, 3, 5}, {6, 4, 3}})
    expect_turns(tree(leaves, groups, cores));
  expect_turns(tree(4, 1, 8), 0);  // which cores depends on the pod
}

TEST(Turnings, OfNodes) {
  for (const int nodes : {1, 2, 3, 4})
    for (const int nics : {1, 2, 4})
      for (const auto intra :
           {NodesShape::Intra::ring, NodesShape::Intra::network_switch, NodesShape::Intra::chain})
        expect_turns(make_nodes({.nodes = nodes,
                                 .gpus_per_node = 4,
                                 .nics_per_node = nics,
                                 .intra = intra,
                                 .intra_link = plain_link,
                                 .inter_link = link_of(1)}));
}

TreeShape tree_of_nics(std::size_t per_leaf, std::size_t rails, std::size_t spines) {
  return {.ends_per_leaf = per_leaf,
          .rails = rails,
          .spines = spines,
          .links = {plain_link, link_of(1)}};
}

std::vector<std::uint32_t> turning_nodes(const Topology& topology) {
  std::vector<std::uint32_t> sizes;
  for (const Topology::Turning& turning : topology.turnings())
    for (const TurnDigit& digit : turning.digits)
      if (digit.step < digit.size) sizes.push_back(digit.size);
  return sizes;
}

using NetworkOfNodes = std::variant<std::monostate, TreeShape, DragonflyShape>;

// 12 nodes of 4 GPUs with as many NICs, or half as many.
TEST(Turnings, OfNodesJoinedByNetworks) {
  const auto nodes = [](const NetworkOfNodes& network, int nics, bool pxn = false) {
    return make_nodes({.nodes = 12,
                       .gpus_per_node = 4,
                       .nics_per_node = nics,
                       .intra_link = plain_link,
                       .inter_link = link_of(1),
                       .network = network,
                       .pxn = pxn});
  };
  const auto expect = [](const Topology& topology, const std::vector<std::uint32_t>& sizes) {
    expect_turns(topology);
    EXPECT_EQ(turning_nodes(topology), sizes);
  };
  using Sizes = std::vector<std::uint32_t>;
  // Six nodes to a leaf: two of them share the choice of eight spines, three that of four.
  expect(nodes(tree_of_nics(24, 1, 8), 4), (Sizes{2, 3, 2}));
  expect(nodes(tree_of_nics(24, 1, 4), 4), (Sizes{2, 6}));
  expect(nodes(tree_of_nics(12, 1, 2), 2), (Sizes{2, 6}));
  for (const bool pxn : {false, true}) {
    expect(nodes(tree_of_nics(12, 4, 12), 4, pxn), (Sizes{12}));
    expect(nodes(tree_of_nics(6, 4, 3), 4, pxn), (Sizes{2, 2, 3}));
  }
  const DragonflyShape fly{
      .groups = 3, .routers_per_group = 2, .ranks_per_router = 8, .link = link_of(1), .cables = 2};
  expect(nodes(fly, 4), (Sizes{3, 2}));
  expect(nodes(tree_of_nics(2, 1, 2), 4), (Sizes{12}));  // two leaves for each node
  // Spines that nodes do not divide.
  expect_turns(nodes(tree_of_nics(24, 1, 6), 4), 0);
}

// Each of four GPUs beside a NIC of its own; rank 0's is the second one.
TEST(Turnings, OfGraphsJoinedByNetworks) {
  TopologyBuilder builder;
  for (int i = 0; i < 4; ++i) builder.add_node(NodeKind::nic);
  for (int i = 0; i < 4; ++i) builder.add_node(NodeKind::gpu);
  const NodeId joint = builder.add_node(NodeKind::network_switch, "nvswitch");
  for (std::size_t i = 0; i < 4; ++i) {
    builder.connect(NodeId(4 + i), joint, link_of(9));
    builder.connect(NodeId(4 + i), NodeId(i == 0 ? 1 : i == 1 ? 0 : i), link_of(3));
  }
  const Topology node = builder.build();
  const DragonflyShape fly{
      .groups = 3, .routers_per_group = 1, .ranks_per_router = 8, .link = link_of(1)};
  expect_turns(make_graph_nodes({.node = node, .nodes = 6, .network = fly}));
  const Topology rails =
      make_graph_nodes({.node = node, .nodes = 6, .network = tree_of_nics(6, 4, 3)});
  expect_turns(rails);
  EXPECT_EQ(turning_nodes(rails), (std::vector<std::uint32_t>{2, 3}));

  const auto names = [](const Topology& topology, std::size_t from, std::size_t to) {
    Router router(topology);
    std::string text = topology.name(topology.node_of(Rank(from)));
    for (const LinkId id : router.route(Rank(from), Rank(to)))
      text += " " + topology.name(topology.link(id).to);
    return text;
  };
  EXPECT_EQ(names(rails, 0, 3), "gpu0 node0.nvswitch gpu3");
  EXPECT_EQ(names(rails, 0, 4), "gpu0 node0.nic1 leaf1 node1.nic1 gpu4");
  EXPECT_EQ(names(rails, 0, 7), "gpu0 node0.nic1 leaf1 spine1 leaf3 node1.nic3 gpu7");
  const Topology pxn =
      make_graph_nodes({.node = node, .nodes = 6, .network = tree_of_nics(6, 4, 3), .pxn = true});
  EXPECT_EQ(names(pxn, 0, 7), "gpu0 node0.nvswitch gpu3 node0.nic3 leaf3 node1.nic3 gpu7");
}

TEST(Turnings, AreNotClaimedWhereThereAreNone) {
  EXPECT_TRUE(make_chain(4, plain_link).turnings().empty());
  EXPECT_TRUE(make_mesh({4, 4}, plain_link).turnings().empty());
}

TEST(Turnings, StayWhereAllLinksOfAKindChangeAlike) {
  const auto changed = [](const Topology& topology, std::size_t first, std::size_t count,
                          Time latency, std::int64_t slower = 1) {
    std::vector<Topology::LinkChange> changes;
    for (std::size_t id = first; id < first + count; ++id) {
      LinkParameters parameters = topology.parameters(LinkId(id));
      parameters.latency = latency;
      parameters.bandwidth = Bandwidth(parameters.bandwidth.bytes_per_second() / slower);
      changes.push_back({LinkId(id), parameters});
    }
    return topology.with_changed_links(changes);
  };
  const Topology tree = make_fat_tree(4, plain_link);
  const std::size_t cables = tree.links().size() / 3;
  expect_turns(changed(tree, cables, cables, microseconds(3), 2));
  expect_turns(changed(tree, cables, cables - 2, microseconds(3)), 0);
  expect_turns(changed(tree, 0, 1, {}, 2), 0);
  const Topology torus = make_torus({3, 4}, plain_link);
  expect_turns(changed(torus, 0, torus.links().size(), microseconds(3)));
  expect_turns(changed(torus, 0, torus.links().size(), {}, 2));
  expect_turns(changed(torus, 0, 1, {}, 2), 0);
  // Its routes are searched from then on.
  const Topology ring = make_ring(6, plain_link);
  expect_turns(changed(ring, 0, ring.links().size(), {}, 2), 0);
}

// --- common turns -------------------------------------------------------------------------------

std::vector<std::vector<std::uint32_t>> common(const std::vector<TurnDigit>& network,
                                               const std::vector<TurnDigit>& schedule) {
  std::vector<std::vector<std::uint32_t>> digits;
  const Turns turns = Turns::common(network, schedule);
  for (const Turns::Digit& digit : turns.digits())
    digits.push_back({digit.size, digit.step, digit.of_network});
  return digits;
}

using Expected = std::vector<std::vector<std::uint32_t>>;

TEST(Turns, CommonToNetworkAndSchedule) {
  const TurnDigit ports{.size = 12, .permutes = true};
  EXPECT_EQ(common({{12}}, {{12}}), (Expected{{12, 1, 0}}));
  EXPECT_EQ(common({{12, 2}}, {{12, 3}}), (Expected{{12, 6, 0}}));
  // Rotation moves nodes of 4 when it moves by multiples of 4.
  EXPECT_EQ(common({{3}, {4}}, {{12}}), (Expected{{3, 1, 0}, {4, 4, 1}}));
  EXPECT_EQ(common({{3}, {4}}, {{12, 6}}), (Expected{{3, 3, 0}, {4, 4, 1}}))
      << "6 ranks are no whole number of nodes";
  EXPECT_EQ(common({{12}}, {{3}, {4}}), (Expected{{3, 1, 0}, {4, 4, 0}}));
  EXPECT_EQ(common({ports}, {{3}, {4}}), (Expected{{3, 1, 0}, {4, 1, 0}}));
  EXPECT_EQ(common({{2}, {ports}}, {{24}}), (Expected{{2, 1, 0}, {12, 12, 1}}));
  EXPECT_EQ(common({{4}, {1}, {2}}, {{2}, {2}, {2}}), (Expected{{2, 1, 0}, {2, 2, 0}, {2, 1, 2}}));
  EXPECT_EQ(Turns::common({{3}, {4}}, {{4}, {3}}).order(), 1U);
  EXPECT_EQ(Turns::common({{12}}, {}).order(), 1U);
}

TEST(Turns, TakeRanksToTheirRepresentatives) {
  const Turns turns = Turns::common({{3}, {4, 2}}, {{3}, {4}});
  EXPECT_EQ(turns.order(), 6U);
  for (std::size_t rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(turns.representative(Rank(rank)), Rank(rank % 2));
    // The next rank of the digit is turned along.
    const std::size_t next = rank / 4 * 4 + (rank + 1) % 4;
    EXPECT_EQ(turns.turned(Rank(next), Rank(rank)), Rank((rank % 2 + 1) % 4));
  }
}

// Nodes 0 1 2 3 of two ranks that turn: 0 and 1 are seen as they are, 2 and 3 from the other end.
TEST(Turns, MirrorADigitThatPermutes) {
  const std::vector<TurnDigit> schedule{{.size = 4, .step = 4, .mirrors = true}, {2}};
  const TurnDigit nodes{.size = 4, .permutes = true};
  const Turns turns = Turns::common({nodes, {2}}, schedule);
  EXPECT_EQ(turns.order(), 4U);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const std::size_t node = rank / 2;
    EXPECT_EQ(turns.representative(Rank(rank)), Rank(2 * (node < 2 ? node : 3 - node)));
    for (std::size_t other = 0; other < 8; ++other) {
      const std::size_t its = node < 2 ? other / 2 : 3 - other / 2;
      EXPECT_EQ(turns.turned(Rank(other), Rank(rank)), Rank(2 * its + (other + rank) % 2));
    }
  }
  EXPECT_EQ(Turns::common({{.size = 8, .permutes = true}}, schedule).order(), 4U);
  EXPECT_EQ(Turns::common({{4}, {2}}, schedule).order(), 2U) << "rotates only";
  EXPECT_EQ(Turns::common({{2}, {.size = 2, .permutes = true}, {2}}, schedule).order(), 2U)
      << "in parts";
}

}  // namespace
}  // namespace collsim
