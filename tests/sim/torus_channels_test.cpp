// SPDX-License-Identifier: Apache-2.0
//
// Channels of the torus algorithm keep all links of a torus busy.
#include <algorithm>

#include "collectives/cost/closed_forms.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

AlgorithmChoice bucket(const std::vector<int>& dims, int channels, int chunks = 1) {
  AlgorithmChoice choice;
  choice.name = "torus";
  choice.dims = dims;
  choice.channels = channels;
  choice.chunks = chunks;
  return choice;
}

Collective all_reduce_of(const Topology& topology, Bytes bytes) {
  return byte_collective(Operation::all_reduce, topology.rank_count(), bytes);
}

double time_of(const Topology& topology, Bytes bytes, const AlgorithmChoice& choice) {
  return simulate(topology, make_schedule(all_reduce_of(topology, bytes), choice)).time.seconds();
}

TEST(TorusChannels, KeepAllLinksBusy) {
  const Bytes bytes = mebibytes(64);
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    LinkParameters link{gigabytes_per_second(50)};
    link.sharing = sharing;
    // 2 (K-1)/K N / (2 D B)
    const Topology cube = make_torus({8, 8, 8}, link);
    EXPECT_NEAR(time_of(cube, bytes, bucket({8, 8, 8}, 6)), 0.446519e-3, 1e-8);
    // Not all as long: the longest must wait for its turns on the links.
    const Topology oblong = make_torus({4, 8}, link);
    EXPECT_LT(time_of(oblong, bytes, bucket({4, 8}, 4)),
              (sharing == Sharing::fair ? 1.13 : 1.52) * 0.650118e-3);
  }
}

TEST(TorusChannels, OneRankStandsForAll) {
  const Topology torus = make_torus({64, 64}, link_of(gigabytes_per_second(50), microseconds(1)));
  const Simulation run =
      simulate(torus, make_schedule(all_reduce_of(torus, mebibytes(64)), bucket({64, 64}, 4)));
  EXPECT_EQ(run.engine, Engine::symmetry);
}

AlgorithmChoice swing(const std::vector<int>& dims, int channels, int chunks = 1) {
  AlgorithmChoice choice = bucket(dims, channels, chunks);
  choice.name = "swing";
  return choice;
}

TEST(TorusChannels, SwingInTurnsOverTheDimensions) {
  const Topology torus =
      make_torus({16, 16}, link_of(gigabytes_per_second(50), microseconds(1), nanoseconds(500)));
  const Bytes bytes = mebibytes(64);
  const double along_a_line = time_of(torus, bytes, swing({256}, 1));
  const double in_turns = time_of(torus, bytes, swing({16, 16}, 1));
  const double over_all_links = time_of(torus, bytes, swing({16, 16}, 4));
  EXPECT_LT(in_turns, 0.6 * along_a_line);
  EXPECT_LT(over_all_links, in_turns / 3);
  EXPECT_LT(over_all_links, 1.25 * 2 * 255 / 256 * 67108864 / (4 * 50e9));
}

// Each step's messages queue at links, but never ask for one at once.
TEST(TorusChannels, FewRanksOfASwingStandForAll) {
  const Topology torus =
      make_torus({8, 16}, link_of(gigabytes_per_second(50), microseconds(1), nanoseconds(500)));
  const Schedule schedule = make_schedule(all_reduce_of(torus, mebibytes(4)), swing({8, 16}, 1));
  SimulationOptions options;
  options.engine = Engine::event;
  const Simulation all = simulate(torus, schedule, {}, options);
  const Simulation few = simulate(torus, schedule);
  EXPECT_EQ(few.engine, Engine::symmetry);
  EXPECT_EQ(few.time, all.time);
  EXPECT_EQ(few.finished, all.finished);
  EXPECT_EQ(few.fingerprint, all.fingerprint);
}

TEST(TorusChannels, AllRanksAreSimulatedWhereTwoAskAtOnce) {
  const Topology torus = make_torus({16, 16}, link_of(gigabytes_per_second(50)));
  const Schedule schedule =
      make_schedule(all_reduce_of(torus, mebibytes(4)), swing({16, 16}, 4, 4));
  EXPECT_EQ(simulate(torus, schedule).engine, Engine::event);
}

TEST(TorusChannels, TakeWhatTheFormulaSays) {
  const LinkParameters link = link_of(gigabytes_per_second(10), microseconds(2), nanoseconds(300));
  CostModel costs;
  costs.reduce_bandwidth = gigabytes_per_second(20);
  int compared = 0;
  const std::vector<std::vector<int>> arrangements{{6}, {3, 3}, {4, 1, 4}, {2, 2, 2}, {3, 3, 3}};
  for (const std::vector<int>& dims : arrangements) {
    const Topology torus = make_torus(dims, link);
    const auto ranks = static_cast<int>(torus.rank_count());
    for (int channels = 1; channels <= 7; ++channels) {
      for (const int chunks : {1, 3}) {
        const AlgorithmChoice choice = bucket(dims, channels, chunks);
        const Collective collective = all_reduce_of(torus, Bytes{200} * ranks * channels * chunks);
        const auto form = closed_form(collective, choice, torus, costs.reduce_bandwidth);
        if (!form) continue;
        ASSERT_TRUE(form->exact);
        const Schedule schedule = make_schedule(collective, choice);
        EXPECT_NEAR(simulate(torus, schedule, costs).time.seconds(), form->seconds, 1e-14)
            << channels << " channels, " << form->formula;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 2 * (2 + 4 + 4 + 3 + 6));
}

TEST(TorusChannels, HaveNoFormulaWhereTheyMeet) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  const auto has_form = [&](const Topology& network, const std::vector<int>& dims, int channels) {
    return closed_form(all_reduce_of(network, 4800), bucket(dims, channels), network).has_value();
  };
  EXPECT_TRUE(has_form(make_torus({4, 4}, link), {4, 4}, 4));
  EXPECT_FALSE(has_form(make_torus({4, 4}, link), {4, 4}, 5));
  EXPECT_FALSE(has_form(make_torus({4, 4}, link), {2, 8}, 2));
  EXPECT_FALSE(has_form(make_torus({2, 8}, link), {2, 8}, 2));
  EXPECT_TRUE(has_form(make_mesh({4, 4}, link), {4, 4}, 2));
  EXPECT_FALSE(has_form(make_mesh({4, 4}, link), {4, 4}, 4));
}

TEST(TorusChannels, AreAsManyAsThereAreDirections) {
  const LinkParameters link = link_of(gigabytes_per_second(10));
  const Algorithm& torus = find_algorithm(Operation::all_reduce, "torus");
  const auto channels = [&](const Topology& network, const std::vector<int>& dims,
                            const Algorithm& algorithm) {
    return default_channels(algorithm, dims, network, first_ranks(network.rank_count()));
  };
  EXPECT_EQ(channels(make_torus({4, 4}, link), {4, 4}, torus), 4);
  EXPECT_EQ(channels(make_torus({1, 3, 2}, link), {1, 3, 2}, torus), 4);
  EXPECT_EQ(channels(make_torus({2, 2, 2}, link), {2, 2, 2}, torus), 3);
  EXPECT_EQ(channels(make_torus({1, 1}, link), {1, 1}, torus), 1);
  EXPECT_EQ(channels(make_mesh({4, 5}, link), {4, 5}, torus), 2);
  EXPECT_EQ(channels(make_torus({4, 4}, link), {2, 8}, torus), 1);
  EXPECT_EQ(channels(make_switch(16, link), {4, 4}, torus), 1);
  const Algorithm& ring = find_algorithm(Operation::all_reduce, "ring");
  EXPECT_EQ(channels(make_torus({4, 4}, link), {4, 4}, ring), 1);
  const Topology square = make_torus({2, 2}, link);
  const std::vector<Rank> turned{Rank(1), Rank(0), Rank(2), Rank(3)};
  EXPECT_EQ(default_channels(torus, std::vector{2, 2}, square, turned), 1);
}

}  // namespace
}  // namespace collsim::testing
