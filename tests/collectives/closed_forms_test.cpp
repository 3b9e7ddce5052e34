// SPDX-License-Identifier: Apache-2.0
//
// The formulas against numbers computed elsewhere, worked by hand or from the literature; that they
// agree with the simulator is a test of the simulator.
#include "collectives/cost/closed_forms.hpp"
#include "tests/collectives/collective_of.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "collectives/cost/conditions.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

using Kind = UniformNetwork::Kind;
using enum Operation;

constexpr double us = 1e-6;

struct Case {
  Operation operation;
  std::string algorithm;
  Kind kind;
  int ranks;
  Bytes bytes;
  double bandwidth;
  double alpha = 0;
  double latency = 0;
  int chunks = 1;
  std::optional<Bandwidth> reduce_bandwidth{};
  int radix = 4;
  int root = 0;

  [[nodiscard]] Collective collective() const {
    Collective collective = collective_of(operation, ranks, bytes, ElementType::u8);
    collective.root = root;
    return collective;
  }
  [[nodiscard]] AlgorithmChoice choice() const {
    AlgorithmChoice choice;
    choice.name = algorithm;
    choice.chunks = chunks;
    choice.radix = radix;
    return choice;
  }
  [[nodiscard]] UniformNetwork network() const {
    return {kind, {alpha, bandwidth, latency}, static_cast<std::size_t>(ranks)};
  }
  [[nodiscard]] std::optional<ClosedForm> form() const {
    return closed_form(collective(), choice(), network(), reduce_bandwidth);
  }
};

void expect_seconds(const Case& given, double expected) {
  const std::optional<ClosedForm> form = given.form();
  ASSERT_TRUE(form) << given.algorithm;
  EXPECT_NEAR(form->seconds, expected, 1e-9 * expected) << given.algorithm << ": " << form->formula;
  EXPECT_FALSE(form->formula.empty());
  EXPECT_FALSE(form->reference.empty());
}

// 1 GiB to 4 ranks at 25 GB/s, the lecture's example.
TEST(ClosedForms, PipelinedChainBroadcast) {
  const auto chain = [](int ranks, int chunks, double alpha, double latency) {
    return Case{broadcast, "chain", Kind::ring, ranks, gibibytes(1), 25e9, alpha, latency, chunks};
  };
  expect_seconds(chain(4, 1, 0, 0), 0.12884901888);
  expect_seconds(chain(4, 16, 0, 0), 0.04831838208);
  expect_seconds(chain(4, 1024, 0, 0), 0.04303355904);
  expect_seconds(chain(4, 16, 5 * us, 0), 0.04840838208);
  expect_seconds(chain(64, 256, 5 * us, 0), 0.05494154688);
  expect_seconds(chain(8, 64, 0, 2 * us), 0.0469902048);
}

TEST(ClosedForms, BestNumberOfChunks) {
  const Case chain{broadcast, "chain", Kind::ring, 8, gibibytes(1), 25e9, 5 * us};
  ASSERT_TRUE(chain.form()->best_chunks);
  EXPECT_NEAR(*chain.form()->best_chunks, 227.02336344966787, 1e-6);
  Case at_best = chain;
  at_best.chunks = 227;
  const double best = at_best.form()->seconds;
  EXPECT_NEAR(best, 0.04524990660651983, 1e-12);
  for (const int other : {225, 226, 228, 229}) {
    at_best.chunks = other;
    EXPECT_GT(at_best.form()->seconds, best);
  }
  Case free_messages = chain;
  free_messages.alpha = 0;
  EXPECT_FALSE(free_messages.form()->best_chunks) << "without alpha, more is always better";
  Case two_ranks = chain;
  two_ranks.ranks = 2;
  two_ranks.kind = Kind::independent_links;
  EXPECT_EQ(two_ranks.form()->best_chunks, 1.0) << "one hop: nothing to overlap";
}

TEST(ClosedForms, BroadcastsOfTheLiterature) {
  const Bytes n = mebibytes(64);
  expect_seconds(
      {broadcast, "bidirectional-chain", Kind::ring, 6, gibibytes(1), 25e9, 5 * us, 0, 32},
      0.02433919104);
  expect_seconds({broadcast, "flat", Kind::ports, 8, n, 25e9, 5 * us}, 0.01882548192);
  expect_seconds({broadcast, "flat", Kind::independent_links, 8, n, 25e9, 5 * us}, 0.00268935456);
  expect_seconds({broadcast, "binomial", Kind::ports, 13, n, 25e9, 5 * us}, 0.01075741824);
  expect_seconds({broadcast, "binomial", Kind::ports, 1000, n, 25e9, 5 * us}, 0.0268935456);
  expect_seconds({broadcast, "k-nomial", Kind::ports, 64, n, 25e9, 5 * us}, 0.02420419104);
  expect_seconds({broadcast, "binary-tree", Kind::ports, 15, n, 25e9, 5 * us, 0, 16},
                 0.00621979776);
  expect_seconds({broadcast, "scatter-allgather", Kind::ports, 8, n, 25e9, 5 * us}, 0.00474762048);
}

TEST(ClosedForms, AllReducesOfTheLiterature) {
  const Bytes n = mebibytes(256);
  expect_seconds({all_reduce, "ring", Kind::ring, 8, n, 100e9, 3 * us}, 0.00473962048);
  expect_seconds({all_reduce, "ring", Kind::ring, 7, n, 100e9, 3 * us}, 0.0046377506742857144);
  expect_seconds({all_reduce, "ring", Kind::ring, 65536, gibibytes(4), 50e9, 1 * us}, 0.3028660704);
  expect_seconds(
      {all_reduce, "ring", Kind::ring, 8, n, 100e9, 3 * us, 0, 1, gigabytes_per_second(300)},
      0.005522557226666666);
  expect_seconds({all_reduce, "ring", Kind::ring, 8, n, 100e9, 0, 4 * us, 4}, 0.00470162048);
  expect_seconds({all_reduce, "ring", Kind::ring, 4, n, 100e9, 0, 2e-3, 2}, 0.01434881024);
  expect_seconds({all_reduce, "bidirectional-ring", Kind::ring, 8, n, 100e9, 3 * us},
                 0.00239081024);

  const Bytes m = mebibytes(16);
  expect_seconds({all_reduce, "naive", Kind::ports, 8, m, 100e9, 3 * us}, 0.00119540512);
  expect_seconds({all_reduce, "master", Kind::ports, 8, m, 100e9, 3 * us}, 0.00239081024);
  expect_seconds({all_reduce, "recursive-doubling", Kind::ports, 8, m, 100e9, 3 * us},
                 0.00051231648);
  expect_seconds({all_reduce, "recursive-doubling", Kind::ports, 12, m, 100e9, 3 * us},
                 0.0008538608);
  expect_seconds({all_reduce, "halving-doubling", Kind::ports, 8, m, 100e9, 3 * us}, 0.00031160128);
  expect_seconds({all_reduce, "halving-doubling", Kind::ports, 8, m, 100e9, 3 * us, 0, 1,
                  gigabytes_per_second(200)},
                 0.0003850016);
  expect_seconds({all_reduce, "binomial", Kind::ports, 8, m, 100e9, 3 * us}, 0.00102463296);
  expect_seconds({all_reduce, "chain", Kind::chain, 8, m, 100e9, 3 * us, 0, 32}, 0.0003709296);
  expect_seconds({all_reduce, "one-shot", Kind::independent_links, 8, kibibytes(256), 25e9, 2 * us},
                 1.2485760e-05);
  expect_seconds({all_reduce, "two-shot", Kind::independent_links, 8, mebibytes(4), 25e9, 2 * us},
                 4.594304e-05);
  expect_seconds({all_reduce, "two-shot", Kind::ports, 8, mebibytes(4), 300e9, 2 * us},
                 5.246677333333333e-05);
}

TEST(ClosedForms, PiecesOfTheLiterature) {
  const Bytes n = mebibytes(512);
  expect_seconds({all_gather, "ring", Kind::ring, 8, n, 50e9, 4 * us}, 0.00942324096);
  expect_seconds({all_gather, "bruck", Kind::ports, 11, n, 50e9, 4 * us}, 0.009777289309090909);
  expect_seconds({all_gather, "recursive-doubling", Kind::ports, 16, n, 50e9, 4 * us},
                 0.0100823296);
  expect_seconds({all_gather, "pat", Kind::ports, 16, n, 50e9, 4 * us}, 0.0100823296);
  expect_seconds({reduce_scatter, "ring", Kind::ring, 11, n, 50e9, 4 * us}, 0.00980128930909091);
  expect_seconds({reduce_scatter, "direct", Kind::ports, 8, n, 50e9, 4 * us}, 0.00942324096);
  expect_seconds({reduce_scatter, "recursive-halving", Kind::ports, 16, n, 50e9, 4 * us},
                 0.0100823296);
  expect_seconds({scatter, "flat", Kind::ports, 8, n, 50e9, 4 * us}, 0.00942324096);
  expect_seconds({scatter, "binomial", Kind::ports, 8, n, 50e9, 4 * us}, 0.00940724096);
  expect_seconds({gather, "binomial", Kind::ports, 8, n, 50e9, 4 * us}, 0.00940724096);
  expect_seconds({all_to_all, "pairwise", Kind::ports, 8, mebibytes(128), 50e9, 4 * us},
                 0.00237681024);
  expect_seconds({all_to_all, "bruck", Kind::ports, 8, mebibytes(128), 50e9, 4 * us},
                 0.00403853184);
  expect_seconds({barrier, "dissemination", Kind::ports, 1000, 0, 1e9, 2 * us}, 20 * us);
  expect_seconds({barrier, "flat", Kind::ports, 8, 0, 1e9, 2 * us}, 28 * us);
  expect_seconds({send_recv, "direct", Kind::ports, 2, 3'000'000'000, 1e9, 2 * us, 1 * us},
                 3.000003);
}

// Two ranks, 1000 bytes, 1 GB/s, 100 ns, 0.5 GB/s to add: the message takes 1.1 us, adding 2 us.
TEST(ClosedForms, ReduceOfTwoRanksByHand) {
  for (const char* algorithm : {"chain", "flat", "binomial"})
    expect_seconds({Operation::reduce, algorithm, Kind::independent_links, 2, 1000, 1e9, 1e-7, 0, 1,
                    Bandwidth(500'000'000)},
                   3.1e-6);
}

TEST(ClosedForms, ExactOnlyWhenEverythingDividesEvenly) {
  Case ring{all_reduce, "ring", Kind::ring, 4, 1000, 1e9};
  EXPECT_TRUE(ring.form()->exact);
  ring.bytes = 1001;
  EXPECT_FALSE(ring.form()->exact);
  ring.bytes = 1000;
  ring.chunks = 3;  // 1000 bytes do not make 12 even pieces
  EXPECT_FALSE(ring.form()->exact);
}

TEST(ClosedForms, OneRankTakesNoTime) {
  const Case alone{all_reduce, "ring", Kind::ports, 1, 1000, 1e9, 1 * us};
  EXPECT_EQ(alone.form()->seconds, 0);
  EXPECT_TRUE(alone.form()->exact);
}

// A message takes as long as the slowest link of its way; which one that is may depend on its size.
TEST(ClosedForms, LinksOfOneWayMayDifferWhereOneIsTheSlowest) {
  const auto form = [](Time startup_of_slow) {
    const Topology topology =
        make_switch(2, LinkParameters{Bandwidth(1'000'000'000), {}, microseconds(1)});
    const std::vector<Topology::LinkChange> slow{
        {LinkId(0), LinkParameters{Bandwidth(500'000'000), {}, startup_of_slow}}};
    Collective collective;
    collective.operation = Operation::send_recv;
    collective.group = first_ranks(2);
    collective.type = ElementType::i8;
    collective.count = 1000;
    collective.pattern.kind = Pattern::Kind::pairs;
    collective.pattern.pairs = {{0, 1}};
    return closed_form(collective, {.name = "direct"}, topology.with_changed_links(slow));
  };
  ASSERT_TRUE(form(microseconds(2)));
  EXPECT_NEAR(form(microseconds(2))->seconds, 4e-6, 1e-15);
  EXPECT_FALSE(form(Time{}));
}

TEST(ClosedForms, NothingWhereNoFormulaHolds) {
  const Case ring{all_reduce, "ring", Kind::ring, 8, 8000, 1e9, 1 * us};
  ASSERT_TRUE(ring.form());
  const auto with = [&](auto change) {
    Collective collective = ring.collective();
    AlgorithmChoice choice = ring.choice();
    UniformNetwork network = ring.network();
    change(collective, choice, network);
    return closed_form(collective, choice, network).has_value();
  };
  EXPECT_TRUE(with([](Collective&, AlgorithmChoice&, UniformNetwork&) {}));
  EXPECT_FALSE(with([](auto&, auto& choice, auto&) { choice.channels = 2; }));
  EXPECT_FALSE(with([](auto&, auto& choice, auto&) { choice.slots = 1; }));
  EXPECT_TRUE(with([](auto&, auto& choice, auto&) { choice.slots = 1000; }))
      << "more slots than messages: nobody waits";
  EXPECT_FALSE(with([](auto&, auto&, auto& network) { network.kind = Kind::chain; }))
      << "a chain has no link that closes the ring";
  EXPECT_FALSE(with([](auto&, auto&, auto& network) { network.ranks = 9; }))
      << "8 of 9 ranks of a ring are a chain";
  EXPECT_FALSE(with([](auto& collective, auto&, auto&) {
    std::swap(collective.group[0], collective.group[5]);
  })) << "ring neighbours are no neighbours any more";
  EXPECT_TRUE(with([](auto& collective, auto&, auto& network) {
    std::swap(collective.group[0], collective.group[5]);
    network.kind = Kind::ports;
  })) << "a switch does not care";

  EXPECT_FALSE((Case{broadcast, "chain", Kind::chain, 8, 8000, 1e9, 0, 0, 1, {}, 4, 3}.form()))
      << "from the middle of a chain";
  EXPECT_FALSE((Case{broadcast, "bidirectional-chain", Kind::ports, 8, 8000, 1e9}.form()))
      << "both ways through one port";
  EXPECT_FALSE((Case{all_reduce, "halving-doubling", Kind::ports, 12, 24000, 1e9, 1 * us}.form()));
  EXPECT_FALSE((Case{broadcast, "k-nomial", Kind::ports, 8, 8000, 1e9}.form())) << "8 is no 4^m";
  EXPECT_FALSE((Case{broadcast, "double-tree", Kind::ports, 8, 8000, 1e9}.form()));
}

// The code of the error that closed_form() raises for an all-reduce of 8 ranks after this change.
template <class Change>
std::optional<ErrorCode> refusal(const Change& change) {
  const Case ring{all_reduce, "ring", Kind::ports, 8, 8000, 1e9, 1 * us};
  Collective collective = ring.collective();
  AlgorithmChoice choice = ring.choice();
  UniformNetwork network = ring.network();
  change(collective, choice, network);
  try {
    (void)closed_form(collective, choice, network);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(ClosedForms, RefuseWhatMakeScheduleRefuses) {
  using enum ErrorCode;
  EXPECT_EQ(refusal([](auto&, auto&, auto&) {}), std::nullopt);
  EXPECT_EQ(refusal([](auto&, auto& choice, auto&) { choice.name = "no such"; }), unknown_name);
  EXPECT_EQ(refusal([](auto&, auto& choice, auto&) { choice.chunks = 0; }), invalid_argument);
  EXPECT_EQ(refusal([](auto&, auto& choice, auto&) { choice.slots = 0; }), invalid_argument);
  EXPECT_EQ(refusal([](auto& collective, auto& choice, auto&) {
              collective.operation = broadcast;
              choice.name = "k-nomial";
              choice.radix = 1;
            }),
            invalid_argument);
  EXPECT_EQ(refusal([](auto& collective, auto& choice, auto&) {
              collective.operation = all_gather;
              choice.name = "pat";
              choice.aggregation = 0;
            }),
            invalid_argument);
  EXPECT_EQ(refusal([](auto& collective, auto&, auto&) { collective.group.clear(); }),
            invalid_argument);
  EXPECT_EQ(refusal([](auto& collective, auto&, auto&) { collective.root = 8; }), invalid_argument);
  EXPECT_EQ(refusal([](auto& collective, auto&, auto&) {
              collective.count = std::numeric_limits<std::int64_t>::max();
            }),
            too_large);
  EXPECT_EQ(refusal([](auto& collective, auto& choice, auto& network) {
              choice.name = "swing";
              collective.group = first_ranks(7);
              network.ranks = 7;
            }),
            unsupported_ranks);
}

TEST(ClosedForms, RefuseDimsThatDoNotArrangeTheRanks) {
  const Case all{all_reduce, "torus", Kind::ports, 8, 8000, 1e9};
  const Topology network = make_switch(8, {gigabytes_per_second(10), {}, {}, {}, false});
  for (const std::vector<int>& dims : {std::vector<int>{3, 5}, {0, 5}, {-2, -4}, {8, 2}}) {
    AlgorithmChoice choice = all.choice();
    choice.dims = dims;
    EXPECT_THROW((void)closed_form(all.collective(), choice, network), Error) << dims[0];
  }
}

TEST(ClosedForms, NothingWhereChannelsMeet) {
  const Case swing{all_reduce, "swing", Kind::ports, 8, 8000, 1e9};
  const LinkParameters link{gigabytes_per_second(10), {}, {}, {}, false};
  for (const Topology& network : {make_switch(8, link), make_fully_connected(8, link)}) {
    AlgorithmChoice choice = swing.choice();
    EXPECT_TRUE(closed_form(swing.collective(), choice, network));
    choice.channels = 2;
    EXPECT_FALSE(closed_form(swing.collective(), choice, network));
  }
}

TEST(ClosedForms, RefuseRanksThatTheNetworkLacks) {
  EXPECT_EQ(refusal([](auto&, auto&, auto& network) { network.ranks = 7; }),
            ErrorCode::invalid_argument);
  const Case all{all_reduce, "ring", Kind::ports, 8, 8000, 1e9};
  const auto on_switch = [&](std::size_t ranks) {
    const Topology network = make_switch(ranks, {gigabytes_per_second(10), {}, {}, {}, false});
    return closed_form(all.collective(), all.choice(), network);
  };
  EXPECT_TRUE(on_switch(8));
  EXPECT_THROW((void)on_switch(4), Error);
}

TEST(ClosedForms, DefaultAlgorithmAndAliases) {
  const Case ring{all_reduce, "ring", Kind::ring, 8, 8000, 1e9, 1 * us};
  Case unnamed = ring;
  unnamed.algorithm.clear();
  ASSERT_TRUE(unnamed.form());
  EXPECT_EQ(unnamed.form()->seconds, ring.form()->seconds);
  int aliases = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const std::string_view alias : algorithm.aliases) {
      Case named{algorithm.operation, std::string(algorithm.name), Kind::ports, 8, 8000, 1e9};
      const auto form = named.form();
      named.algorithm = alias;
      EXPECT_EQ(named.form().has_value(), form.has_value()) << alias;
      if (!form || !named.form()) continue;
      EXPECT_EQ(named.form()->formula, form->formula) << alias;
      ++aliases;
    }
  EXPECT_GT(aliases, 0);
  AlgorithmChoice choice = ring.choice();
  choice.chunks = 2;
  choice.chunk_size = 500;
  EXPECT_TRUE(closed_form(ring.collective(), choice, ring.network()))
      << "chunks are those of the schedule, whatever they come from";
}

TEST(ClosedForms, ShiftsToNeighboursOfAHugeRing) {
  constexpr int ranks = 1 << 18;
  const auto shifts_by = [](int distance) {
    Case shift{send_recv, "direct", Kind::ring, ranks, 1000, 1e9, 1 * us};
    Collective collective = shift.collective();
    collective.pattern.distance = distance;
    return closed_form(collective, shift.choice(), shift.network()).has_value();
  };
  EXPECT_TRUE(shifts_by(1));
  EXPECT_TRUE(shifts_by(-1));
  EXPECT_TRUE(shifts_by(ranks - 1));
  EXPECT_FALSE(shifts_by(0));
  EXPECT_FALSE(shifts_by(1 << 16)) << "whose square does not fit an int";
}

LinkParameters link(Sharing sharing = Sharing::exclusive) {
  return {gigabytes_per_second(10), microseconds(2), microseconds(1), sharing, false};
}

TEST(UniformNetworks, AreRecognisedByTheirLinks) {
  const auto kind_of = [](const Topology& topology) {
    const std::optional<UniformNetwork> network = uniform_network(topology);
    return network ? std::optional(network->kind) : std::nullopt;
  };
  for (const std::size_t ranks : {4U, 5U, 17U}) {
    EXPECT_EQ(kind_of(make_chain(ranks, link())), Kind::chain);
    EXPECT_EQ(kind_of(make_ring(ranks, link())), Kind::ring);
    EXPECT_EQ(kind_of(make_fully_connected(ranks, link())), Kind::independent_links);
    EXPECT_EQ(kind_of(make_switch(ranks, link())), Kind::ports);
  }
  EXPECT_EQ(kind_of(make_ring(3, link())), Kind::independent_links);
  EXPECT_EQ(kind_of(make_chain(2, link())), Kind::independent_links);
  EXPECT_EQ(kind_of(make_hypercube(8, link())), std::nullopt);
  EXPECT_EQ(kind_of(make_torus({3, 3}, link())), std::nullopt);
  EXPECT_EQ(kind_of(make_switch(4, link(Sharing::fair))), std::nullopt);
  LinkParameters shared = link();
  shared.half_duplex = true;
  EXPECT_EQ(kind_of(make_ring(4, shared)), std::nullopt);

  const std::optional<UniformNetwork> ports = uniform_network(make_switch(4, link()));
  EXPECT_EQ(ports->hop.latency, 4e-6) << "in and out";
  EXPECT_EQ(ports->hop.alpha, 1e-6) << "paid once";
  EXPECT_EQ(ports->ranks, 4U);
}

TEST(UniformNetworks, OneOddLinkMakesThemUnequal) {
  const Topology ring = make_ring(6, link());
  LinkParameters slow = link();
  slow.bandwidth = gigabytes_per_second(4);
  const Topology::LinkChange change{ring.links_between(NodeId(2), NodeId(3)).front(), slow};
  EXPECT_TRUE(uniform_network(ring));
  EXPECT_FALSE(uniform_network(ring.with_changed_links({&change, 1})));
}

// A ring of 8 with one link of 40 instead of 100 GB/s: every step takes as long as that link.
TEST(ClosedForms, OneSlowLinkSlowsTheWholeRing) {
  LinkParameters fast{gigabytes_per_second(100), Time{}, microseconds(3), Sharing::exclusive,
                      false};
  const Topology ring = make_ring(8, fast);
  fast.bandwidth = gigabytes_per_second(40);
  const Topology::LinkChange change{ring.links_between(NodeId(5), NodeId(6)).front(), fast};
  const Case all{all_reduce, "ring", Kind::ring, 8, mebibytes(256), 0};
  const auto form =
      closed_form(all.collective(), all.choice(), ring.with_changed_links({&change, 1}));
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->seconds, 0.0117860512, 1e-12);
}

TEST(ClosedForms, ChainOfUnequalLinks) {
  LinkParameters cable{gigabytes_per_second(25), Time{}, microseconds(5), Sharing::exclusive,
                       false};
  const Topology chain = make_chain(8, cable);
  cable.bandwidth = gigabytes_per_second(10);
  const Topology::LinkChange change{chain.links_between(NodeId(3), NodeId(4)).front(), cable};
  const Case all{broadcast, "chain", Kind::chain, 8, mebibytes(64), 0, 0, 0, 32};
  const auto form =
      closed_form(all.collective(), all.choice(), chain.with_changed_links({&change, 1}));
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->seconds, 0.00740420288, 1e-12);
}

// Through two switches: the largest startup, the smallest bandwidth, the sum of latencies.
TEST(ClosedForms, MessageAcrossUnequalLinksCutsThrough) {
  TopologyBuilder builder;
  const NodeId from = builder.add_node(NodeKind::gpu);
  const NodeId to = builder.add_node(NodeKind::gpu);
  const NodeId left = builder.add_node(NodeKind::network_switch);
  const NodeId right = builder.add_node(NodeKind::network_switch);
  builder.connect(from, left, {gigabytes_per_second(25), microseconds(1)});
  builder.connect(left, right, {Bandwidth(12'500'000'000), microseconds(2)});
  builder.connect(right, to, {gigabytes_per_second(25), microseconds(1)});
  Case one{send_recv, "direct", Kind::ring, 2, mebibytes(1), 0};
  Collective collective = one.collective();
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = {{0, 1}};
  const auto form = closed_form(collective, one.choice(), builder.build());
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->seconds, 8.788608e-05, 1e-15);
}

TEST(ClosedForms, HierarchicalAndTorusLevelByLevel) {
  const LinkParameters inside{gigabytes_per_second(300), Time{}, microseconds(3),
                              Sharing::exclusive, false};
  const LinkParameters between{gigabytes_per_second(25), Time{}, microseconds(10),
                               Sharing::exclusive, false};
  const Topology rails =
      make_nodes({4, 8, 8, NodesShape::Intra::network_switch, {}, inside, between});
  Case all{all_reduce, "hierarchical", Kind::ports, 32, mebibytes(256), 0};
  AlgorithmChoice choice = all.choice();
  choice.dims = {4, 8};
  auto form = closed_form(all.collective(), choice, rails);
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->seconds, 0.0036811394133333336, 1e-12);
  EXPECT_TRUE(form->by_levels);
  EXPECT_TRUE(form->formula.starts_with(
      "sum over levels of K ranks each, inner first with N bytes, then N/K, ...; of (K-1)*"))
      << form->formula;
  EXPECT_NE(form->formula.find("; plus "), std::string::npos) << form->formula;

  const LinkParameters cable{gigabytes_per_second(100), Time{}, microseconds(3), Sharing::exclusive,
                             false};
  choice.name = "torus";
  form = closed_form(all.collective(), choice, make_torus({4, 8}, cable));
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->seconds, 0.00526093696, 1e-12);
  // A mesh closes its rings over the links of the other direction, which are free; the way back is
  // as fast, but with wire latency it is longer.
  LinkParameters wire = cable;
  wire.latency = microseconds(1);
  EXPECT_TRUE(closed_form(all.collective(), choice, make_mesh({4, 8}, cable)));
  EXPECT_FALSE(closed_form(all.collective(), choice, make_mesh({4, 8}, wire)));
}

TEST(ClosedForms, HoldOnALevelForItsRanks) {
  const Collective collective = collective_of(all_reduce, 12, 12, ElementType::u8);
  const CostCase level{collective, {}, Kind::ring, false, {.K = 2}};
  EXPECT_TRUE(when::power_of_two(level));
  EXPECT_FALSE(when::more_than_two_ranks(level));
}

}  // namespace
}  // namespace collsim
