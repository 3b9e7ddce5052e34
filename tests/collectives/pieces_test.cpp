// SPDX-License-Identifier: Apache-2.0
#include "collectives/pieces.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "tests/collectives/collective_of.hpp"
#include "topo/shapes.hpp"

// Pieces are found in timelines, and the simulator is what makes them.
namespace collsim {
namespace {

struct Carried {
  Timeline timeline;
  Pieces pieces;

  // Pieces in the order in which a rank sends them.
  [[nodiscard]] std::vector<std::int32_t> sent_by(std::size_t rank) const {
    std::vector<std::int32_t> sent;
    for (std::size_t i = 0; i < timeline.steps.size(); ++i)
      if (timeline.steps[i].rank == Rank(rank) && pieces.of_step[i] >= 0)
        sent.push_back(pieces.of_step[i]);
    return sent;
  }
};

Carried carried(Operation operation, const std::string& algorithm, int ranks, int chunks = 1) {
  const LinkParameters link{gigabytes_per_second(25), nanoseconds(700), microseconds(5)};
  const Schedule schedule =
      make_schedule(collective_of(operation, ranks, 840), {.name = algorithm, .chunks = chunks});
  SimulationOptions options;
  options.recording = Recording::full;
  const Topology topology =
      operation == Operation::broadcast ? make_chain(ranks, link) : make_switch(ranks, link);
  Simulation simulation = simulate(topology, schedule, {}, options);
  Pieces pieces = find_pieces(schedule, *simulation.timeline);
  return {std::move(*simulation.timeline), std::move(pieces)};
}

using Numbers = std::vector<std::int32_t>;

TEST(Pieces, AMessageOfAPipelineKeepsItsPiece) {
  const Carried chain = carried(Operation::broadcast, "chain", 4, 3);
  EXPECT_EQ(chain.pieces.count, 3);
  for (const std::size_t rank : {0U, 1U, 2U}) EXPECT_EQ(chain.sent_by(rank), (Numbers{0, 1, 2}));
  EXPECT_TRUE(chain.sent_by(3).empty());
}

TEST(Pieces, WhatIsPassedOnIsWhatWasReceived) {
  const Carried ring = carried(Operation::all_gather, "ring", 4);
  EXPECT_EQ(ring.pieces.count, 4);
  EXPECT_EQ(ring.sent_by(0), (Numbers{0, 3, 2}));
  EXPECT_EQ(ring.sent_by(2), (Numbers{2, 1, 0}));
}

// The same element of every rank's vector is the same piece, also when it is a sum.
TEST(Pieces, SumsCountAsTheirPlace) {
  const Carried ring = carried(Operation::all_reduce, "ring", 4);
  EXPECT_EQ(ring.pieces.count, 4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const Numbers sent = ring.sent_by(rank);
    EXPECT_EQ(sent.size(), 6U);
    EXPECT_EQ(std::set<std::int32_t>(sent.begin(), sent.end()).size(), 4U);
  }
}

TEST(Pieces, OnlyMessagesOfSeveralBlocksAreMixed) {
  const std::vector<bool> single = carried(Operation::all_to_all, "pairwise", 4).pieces.mixed;
  EXPECT_EQ(single, std::vector<bool>(single.size(), false));
  const Carried bruck = carried(Operation::all_to_all, "bruck", 4);
  EXPECT_FALSE(bruck.pieces.mixed.empty());
  for (std::size_t i = 0; i < bruck.timeline.steps.size(); ++i)
    EXPECT_EQ(bruck.pieces.mixed[i], bruck.pieces.of_step[i] >= 0) << i;
}

// As deep as a trace may be: no recursion.
TEST(Pieces, DataMayComeFromFarAway) {
  const Carried far = carried(Operation::broadcast, "chain", 200'000);
  EXPECT_EQ(far.pieces.count, 1);
  EXPECT_EQ(far.sent_by(199'998), Numbers{0});
}

}  // namespace
}  // namespace collsim
