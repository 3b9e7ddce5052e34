// SPDX-License-Identifier: Apache-2.0
#include "collectives/contributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "tests/collectives/collective_of.hpp"
#include "topo/shapes.hpp"

// Found in timelines, and the simulator is what makes them.
namespace collsim {
namespace {

using Numbers = std::vector<std::int32_t>;

struct SumsOnTheWay {
  Timeline timeline;
  Numbers sums;

  // In the order in which a rank sends.
  [[nodiscard]] Numbers by(std::size_t rank) const {
    Numbers sent;
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (timeline.steps[i].rank == Rank(rank) && sends(timeline.steps[i].instruction.op))
        sent.push_back(sums[i]);
    return sent;
  }
};

SumsOnTheWay sums_on_the_way(Operation operation, const std::string& algorithm, int ranks,
                             int chunks = 1) {
  const LinkParameters link{gigabytes_per_second(25), nanoseconds(700), microseconds(5)};
  const Schedule schedule =
      make_schedule(collective_of(operation, ranks, 840), {.name = algorithm, .chunks = chunks});
  SimulationOptions options;
  options.recording = Recording::full;
  Simulation simulation =
      simulate(make_switch(static_cast<std::size_t>(ranks), link), schedule, {}, options);
  Numbers sums = find_contributions(schedule, *simulation.timeline);
  return {std::move(*simulation.timeline), std::move(sums)};
}

TEST(Contributions, ARingAddsOneRankAStepAndThenPassesTheSumOn) {
  const SumsOnTheWay ring = sums_on_the_way(Operation::all_reduce, "ring", 4);
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(ring.by(rank), (Numbers{1, 2, 3, 4, 4, 4}));
  const SumsOnTheWay cut = sums_on_the_way(Operation::reduce_scatter, "ring", 3, 2);
  EXPECT_EQ(cut.by(1), (Numbers{1, 1, 2, 2}));
}

TEST(Contributions, ATreeAddsWholeSubtrees) {
  const SumsOnTheWay tree = sums_on_the_way(Operation::reduce, "binomial", 8);
  EXPECT_EQ(tree.by(0), Numbers{});
  EXPECT_EQ(tree.by(1), Numbers{4});
  EXPECT_EQ(tree.by(2), Numbers{2});
  EXPECT_EQ(tree.by(4), Numbers{1});
}

TEST(Contributions, WhoAddsNothingHasNone) {
  EXPECT_TRUE(sums_on_the_way(Operation::all_gather, "ring", 4).sums.empty());
}

// Whatever the algorithm: no message holds more than all, and in the end all are added up.
TEST(Contributions, GrowToAllRanksInEveryReduction) {
  for (const Algorithm& row : algorithms()) {
    if (row.operation != Operation::all_reduce && row.operation != Operation::reduce) continue;
    const std::string name(row.name);
    const Schedule probe =
        make_schedule(collective_of(row.operation, 8, 840), {.name = name, .dims = {2, 4}});
    SimulationOptions options;
    options.recording = Recording::full;
    const LinkParameters link{gigabytes_per_second(25), nanoseconds(700), microseconds(5)};
    const Simulation simulation = simulate(make_fully_connected(8, link), probe, {}, options);
    const Timeline& timeline = *simulation.timeline;
    const Numbers sums = find_contributions(probe, timeline);
    std::int32_t most = 0;
    int messages = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!sends(timeline.steps[i].instruction.op)) continue;
      EXPECT_GE(sums[i], 1) << name;
      EXPECT_LE(sums[i], 8) << name;
      most = std::max(most, sums[i]);
      ++messages;
    }
    // The root of a reduction, and both of a last exchange, send nothing that is complete; where
    // every rank adds up everything itself, all send their own data to all.
    const bool is_all_to_all = messages == 8 * 7;
    if (row.operation == Operation::all_reduce) {
      EXPECT_TRUE(most >= 4 || is_all_to_all) << name;
    }
  }
}

}  // namespace
}  // namespace collsim
