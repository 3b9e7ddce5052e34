// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "collectives/cost/closed_forms.hpp"
#include "collectives/cost/uniform_cuts.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/contains.hpp"
#include "tests/sanitized.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

using enum Operation;

constexpr std::int64_t us = 1'000'000;  // picoseconds

LinkParameters link(std::int64_t gigabytes, Time startup = {}, Time latency = {},
                    Sharing sharing = Sharing::exclusive) {
  return {gigabytes_per_second(gigabytes), latency, startup, sharing, false};
}

Collective over(std::size_t ranks, Operation operation, Bytes bytes, int root = 0) {
  Collective collective = collective_of(operation, static_cast<int>(ranks), bytes, ElementType::u8);
  collective.root = root;
  return collective;
}

// Of some shape and size, all links alike.
Topology random_uniform_network(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const LinkParameters any =
      link(1 + below(9), nanoseconds(below(3) * below(1000)), nanoseconds(below(3) * below(1000)),
           below(3) > 0 ? Sharing::exclusive : Sharing::fair);
  std::vector<int> dims(1 + below(3));
  for (int& size : dims) size = static_cast<int>(1 + below(6));
  switch (below(7)) {
    case 0: return make_torus(dims, any);
    case 1: return make_mesh(dims, any);
    case 2: return make_hypercube(std::size_t{2} << below(5), any);
    case 3: return make_fully_connected(2 + below(12), any);
    case 4: return make_switch(2 + below(20), any);
    case 5: return make_chain(2 + below(30), any);
    default: return make_ring(2 + below(below(9) > 0 ? 30 : 300), any);
  }
}

// One rank stands for all in the one, and every rank is looked at in the other.
TEST(LowerBounds, OfUniformNetworksAreThoseOfTheirCuts) {
  std::mt19937 random(1);
  int quick = 0;
  for (int round = 0; round < testing::random_cases(3000); ++round) {
    const Topology network = random_uniform_network(random);
    const std::size_t ranks = network.rank_count();
    const auto root = static_cast<int>(random() % ranks);
    const Bytes bytes = static_cast<Bytes>(random() % (round % 2 == 0 ? 4 * ranks : 1'000'000));
    quick += uniform_cuts(network) ? 1 : 0;
    const NetworkCuts cuts(network, first_ranks(ranks));
    for (const Operation op : {broadcast, Operation::reduce, all_reduce, all_gather, reduce_scatter,
                               scatter, gather, all_to_all}) {
      const Collective collective = over(ranks, op, bytes, has_root(op) ? root : 0);
      const Bandwidth adding = gigabytes_per_second(1 + round % 5);
      EXPECT_EQ(lower_bounds(collective, network, adding), lower_bounds(collective, cuts, adding))
          << network.shape() << " of " << ranks << ", " << to_string(op) << " of " << bytes
          << " bytes, root " << root;
    }
  }
  EXPECT_GT(quick, testing::random_cases(1500));
}

// 8000 bytes, 4 ranks, ports of 1 GB/s: N/B is 8 us.
TEST(LowerBounds, BandwidthOfEveryOperationOnASwitch) {
  const Topology network = make_switch(4, link(1));
  const auto bandwidth = [&](Operation operation) {
    return lower_bounds(over(4, operation, 8000), network).bandwidth.ps();
  };
  EXPECT_EQ(bandwidth(broadcast), 8 * us) << "N into everybody";
  EXPECT_EQ(bandwidth(Operation::reduce), 8 * us);
  EXPECT_EQ(bandwidth(all_reduce), 12 * us) << "2 (K-1)/K N";
  EXPECT_EQ(bandwidth(all_gather), 6 * us) << "(K-1)/K N";
  EXPECT_EQ(bandwidth(reduce_scatter), 6 * us);
  EXPECT_EQ(bandwidth(gather), 6 * us) << "at the root";
  EXPECT_EQ(bandwidth(scatter), 6 * us);
  EXPECT_EQ(bandwidth(all_to_all), 6 * us);
  EXPECT_EQ(bandwidth(send_recv), 8 * us);
  EXPECT_EQ(lower_bound(over(4, barrier, 0), network), Time{}) << "nothing costs anything";
}

TEST(LowerBounds, PiecesThatDifferAreCountedExactly) {
  // 7 bytes over 4 ranks: pieces of 2, 2, 2, 1; at 1 GB/s a byte takes 1000 ps.
  const Topology network = make_switch(4, link(1));
  EXPECT_EQ(lower_bound(over(4, all_gather, 7), network).ps(), 6000) << "the last one lacks 6";
  EXPECT_EQ(lower_bound(over(4, scatter, 7, 3), network).ps(), 6000) << "root 3 keeps 1";
  EXPECT_EQ(lower_bound(over(4, scatter, 7, 0), network).ps(), 5000) << "root 0 keeps 2";
}

TEST(LowerBounds, SlowPortAndManyLinksCount) {
  const Topology ring = make_ring(4, link(1));
  EXPECT_EQ(lower_bound(over(4, broadcast, 8000), ring).ps(), 4 * us) << "two links per rank";
  const Topology mesh = make_fully_connected(5, link(1));
  EXPECT_EQ(lower_bound(over(5, broadcast, 8000), mesh).ps(), 2 * us) << "four links per rank";

  const Topology network = make_switch(4, link(4));
  LinkParameters slow = link(1);
  const Topology::LinkChange change{LinkId(2 * 2 + 1), slow};  // rank 2's way in
  const Topology changed = network.with_changed_links({&change, 1});
  EXPECT_EQ(lower_bound(over(4, broadcast, 8000), changed).ps(), 8 * us);
  EXPECT_EQ(lower_bound(over(4, Operation::reduce, 8000), changed).ps(), 2 * us)
      << "rank 2 only sends";
}

TEST(LowerBounds, OneMessageIsItsOwnBound) {
  const Topology network = make_switch(2, link(1, microseconds(3), microseconds(5)));
  EXPECT_EQ(lower_bound(over(2, broadcast, 8000), network).ps(), (3 + 8 + 10) * us)
      << "alpha + n/B + in and out latency";
}

TEST(LowerBounds, LatencyIsLogarithmicInTheRanks) {
  const auto rounds = [](const Topology& network, Operation operation) {
    const std::size_t ranks = network.rank_count();
    const Bytes bytes = operation == barrier ? 0 : static_cast<Bytes>(ranks);
    const Time latency = lower_bounds(over(ranks, operation, bytes), network).latency;
    EXPECT_EQ(latency.ps() % us, 0);
    return latency.ps() / us;
  };
  EXPECT_EQ(rounds(make_switch(8, link(1000, microseconds(1))), broadcast), 3);
  EXPECT_EQ(rounds(make_switch(9, link(1000, microseconds(1))), broadcast), 4);
  EXPECT_EQ(rounds(make_switch(1000, link(1000, microseconds(1))), barrier), 10);
  EXPECT_EQ(rounds(make_ring(9, link(1000, microseconds(1))), all_gather), 2)
      << "two links: three times as many per round";
  EXPECT_EQ(rounds(make_fully_connected(8, link(1000, microseconds(1))), Operation::reduce), 1);
  EXPECT_EQ(rounds(make_switch(9, link(1000, microseconds(1), {}, Sharing::fair)), broadcast), 1)
      << "startups on fair links overlap";
  EXPECT_EQ(rounds(make_switch(1, link(1, microseconds(1))), broadcast), 0);
}

// alpha = 1 us, 100 us through the switch: the root had better send all seven messages itself, the
// last leaves at 7 and arrives at 107; three rounds of 101 would be no bound.
TEST(LowerBounds, LongWiresAreNotPaidInEveryRound) {
  const Topology network = make_switch(8, link(1000, microseconds(1), microseconds(50)));
  EXPECT_EQ(lower_bounds(over(8, broadcast, 8), network).latency.ps(), 107 * us);
}

TEST(LowerBounds, EmptyPiecesNeedNotBeSent) {
  const Topology network = make_switch(8, link(1, microseconds(1)));
  EXPECT_EQ(lower_bounds(over(8, scatter, 1), network).latency, Time{})
      << "the root has the only element";
  EXPECT_EQ(lower_bounds(over(8, scatter, 3), network).latency.ps(), 2 * us) << "to two others";
  EXPECT_EQ(lower_bound(over(8, all_reduce, 0), network), Time{});
  EXPECT_EQ(lower_bound(over(8, barrier, 0), network).ps(), 3 * us);
}

TEST(LowerBounds, ReductionIsSharedByRanksAndLanes) {
  const Topology network = make_switch(4, link(1000));
  const Collective sum = over(4, all_reduce, 8000);
  const auto compute = [&](int lanes) {
    return lower_bounds(sum, network, gigabytes_per_second(1), lanes).compute.ps();
  };
  EXPECT_EQ(compute(1), 6 * us) << "(K-1)/K N*gamma";
  EXPECT_EQ(compute(2), 3 * us);
  EXPECT_EQ(lower_bounds(over(4, broadcast, 8000), network, gigabytes_per_second(1)).compute,
            Time{});
}

TEST(LowerBounds, NarrowestLinksAreWhatTheBandwidthBoundIsMadeOf) {
  const Topology chain = make_chain(4, link(10, microseconds(2), microseconds(3)));
  const auto expect_made_of = [&](const Collective& collective, int position,
                                  CutDirection direction, Bytes bytes, std::uint32_t links) {
    const LowerBounds bounds = lower_bounds(collective, chain);
    EXPECT_EQ(bounds.startup.ps(), 2 * us);
    EXPECT_EQ(bounds.flight.ps(), 3 * us);
    const NetworkCuts cuts(chain, collective.group);
    const std::optional<NarrowestLinks> narrowest = narrowest_links(collective, cuts);
    ASSERT_TRUE(narrowest);
    EXPECT_EQ(narrowest->kind, Division::Kind::ranks);
    EXPECT_EQ(narrowest->positions, std::vector<int>{position});
    EXPECT_EQ(narrowest->direction, direction);
    EXPECT_EQ(narrowest->bytes, bytes);
    EXPECT_EQ(narrowest->links, links);
    EXPECT_NEAR(static_cast<double>(narrowest->bytes) / narrowest->bytes_per_second,
                (bounds.bandwidth - bounds.startup - bounds.flight).seconds(), 1e-12);
  };
  expect_made_of(over(4, broadcast, 80'000), 0, CutDirection::out, 80'000, 1);
  expect_made_of(over(4, reduce, 80'000), 0, CutDirection::in, 80'000, 1);
  expect_made_of(over(4, all_gather, 80'000), 0, CutDirection::in, 60'000, 1);
  expect_made_of(over(4, all_reduce, 80'000), 0, CutDirection::out, 80'000, 1);
  // With two links each, only all ranks together say that 2(K-1) N must pass.
  const std::optional<NarrowestLinks> all = narrowest_links(
      over(4, all_reduce, 80'000), NetworkCuts(make_ring(4, link(10)), first_ranks(4)));
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->together);
  EXPECT_EQ(all->bytes, 480'000);
  EXPECT_EQ(all->bytes_per_second, 80e9);
  EXPECT_FALSE(narrowest_links(over(4, barrier, 0), NetworkCuts(chain, first_ranks(4))));
  EXPECT_FALSE(narrowest_links(over(1, broadcast, 80'000), NetworkCuts(chain, first_ranks(1))));
}

TEST(LowerBounds, RoundDownWhereMessagesRoundUp) {
  // 3 GB/s: 1000 messages of 1 byte take 333.3 ps each, 334 when simulated.
  EXPECT_EQ(lower_bound(over(2, broadcast, 1000), make_switch(2, link(3))).ps(), 333'333);
}

// Both directions share 1 GB/s: what comes in counts beside what goes out.
TEST(LowerBounds, HalfDuplexLinksCarryOneDirectionAtATime) {
  LinkParameters port = link(1);
  port.half_duplex = true;
  const Topology network = make_switch(4, port);
  EXPECT_EQ(lower_bound(over(4, broadcast, 8000), network).ps(), 8 * us);
  EXPECT_EQ(lower_bound(over(4, all_to_all, 8000), network).ps(), 12 * us);
  EXPECT_EQ(lower_bound(over(4, all_reduce, 8000), network).ps(), 24 * us) << "4 (K-1)/K N";
}

TEST(LowerBounds, PartOfTheMachine) {
  // Ranks 1 and 3 of a chain: what goes left leads nowhere.
  Collective pair = over(2, broadcast, 8000);
  pair.group = {Rank(1), Rank(3)};
  EXPECT_EQ(lower_bound(pair, make_chain(5, link(1))).ps(), 8 * us);
}

TEST(LowerBounds, RanksThatTheTopologyLacks) {
  const Topology network = make_switch(4, link(1));
  const auto refusal = [&](const Collective& collective, int lanes) -> std::string {
    try {
      (void)lower_bounds(collective, network, gigabytes_per_second(1), lanes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(over(4, all_reduce, 8000), 1), "accepted");
  expect_contains(refusal(over(5, all_reduce, 8000), 1), "rank 4 ");
  Collective alone = over(1, all_reduce, 8000);
  alone.group = {Rank(7)};
  expect_contains(refusal(alone, 1), "rank 7 ");
  expect_contains(refusal(over(4, all_reduce, 8000), 0), "not 0");
  expect_contains(refusal(over(4, all_reduce, 8000), -2), "not -2");
}

// Every formula that is exact must lie above the bound.
TEST(LowerBounds, NoClosedFormIsBelow) {
  int compared = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const int ranks : nearest_ranks(algorithm, {2, 3, 4, 7, 8, 9, 16})) {
      for (const int latency : {0, 3, 80})
        for (const int startup : {0, 2}) {
          const auto k = static_cast<std::size_t>(ranks);
          const LinkParameters cable = link(10, microseconds(startup), microseconds(latency));
          for (const Topology& network : {make_chain(k, cable), make_ring(k, cable),
                                          make_fully_connected(k, cable), make_switch(k, cable)})
            for (const auto& adding :
                 {std::optional<Bandwidth>{}, std::optional(gigabytes_per_second(4))}) {
              AlgorithmChoice choice;
              choice.name = algorithm.name;
              const Bytes bytes = algorithm.operation == barrier ? 0 : 5040 * 16;
              const Collective collective = over(k, algorithm.operation, bytes);
              const auto form = closed_form(collective, choice, network, adding);
              if (!form || !form->exact) continue;
              const Time bound = lower_bound(collective, network, adding, algorithm.lanes);
              EXPECT_LE(bound.seconds(), form->seconds * (1 + 1e-12))
                  << to_string(algorithm.operation) << " " << algorithm.name << " of " << ranks
                  << " on a " << network.shape();
              ++compared;
            }
        }
    }
  EXPECT_GT(compared, 1000);
}

// Where theory says that an algorithm is optimal, bound and formula meet.
TEST(LowerBounds, AreReachedByOptimalAlgorithms) {
  const Topology network = make_switch(8, link(10));
  const auto meets = [&](Operation operation, const char* algorithm) {
    AlgorithmChoice choice;
    choice.name = algorithm;
    const Collective collective = over(8, operation, 80'000);
    return std::abs(closed_form(collective, choice, network)->seconds -
                    lower_bound(collective, network).seconds()) < 1e-12;
  };
  EXPECT_TRUE(meets(all_reduce, "ring"));
  EXPECT_TRUE(meets(all_reduce, "halving-doubling"));
  EXPECT_TRUE(meets(all_gather, "bruck"));
  EXPECT_TRUE(meets(reduce_scatter, "recursive-halving"));
  EXPECT_TRUE(meets(all_to_all, "direct"));
  EXPECT_FALSE(meets(broadcast, "binomial"));
}

// Where switches add and multicast, N bytes go up and down every link, and no more need to.
TEST(Bounds, SwitchesThatAddNeedFewerBytes) {
  LinkParameters link{.bandwidth = gigabytes_per_second(1)};
  link.sharing = Sharing::fair;
  const auto bound = [&] {
    return lower_bounds(over(8, Operation::all_reduce, 8000), make_switch(8, link)).bandwidth;
  };
  EXPECT_EQ(bound().ps(), 14 * us - 1) << "rounded down";
  link.protocols[static_cast<std::size_t>(LinkProtocol::nvls)] = ProtocolCost{};
  EXPECT_EQ(bound().ps(), 8 * us - 1);
}

}  // namespace
}  // namespace collsim
