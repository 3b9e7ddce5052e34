// SPDX-License-Identifier: Apache-2.0
#include "collectives/pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

struct HoldingsRun {
  Simulation simulation;
  Pieces pieces;
  Holdings holdings;

  // Pieces that a rank has in the end, and since when.
  [[nodiscard]] std::map<std::int32_t, OutputPiece> had_by(std::size_t rank) const {
    std::map<std::int32_t, OutputPiece> had;
    for (const OutputPiece& one : holdings.outputs)
      if (one.rank == Rank(rank)) had.emplace(one.piece, one);
    return had;
  }
  [[nodiscard]] std::set<std::int32_t> pieces_of(std::size_t rank) const {
    std::set<std::int32_t> all;
    for (const auto& [piece, holding] : had_by(rank)) all.insert(piece);
    return all;
  }
  [[nodiscard]] std::int64_t brought_by(std::size_t position) const {
    return holdings.inputs[position].end - holdings.inputs[position].first;
  }
};

HoldingsRun holdings_of(Operation operation, const std::string& algorithm, std::vector<Rank> group,
                        int chunks = 1, int root = 0) {
  Collective collective;
  collective.operation = operation;
  collective.count = 840;
  collective.group = std::move(group);
  collective.root = root;
  AlgorithmChoice choice;
  choice.name = algorithm;
  choice.chunks = chunks;
  const Schedule schedule = make_schedule(collective, choice);
  SimulationOptions options;
  options.recording = Recording::full;
  const LinkParameters link{gigabytes_per_second(25), nanoseconds(700), microseconds(5)};
  HoldingsRun run{simulate(make_switch(8, link), schedule, {}, options), {}, {}};
  run.pieces = find_pieces(schedule, *run.simulation.timeline);
  run.holdings = find_holdings(schedule, *run.simulation.timeline, run.pieces);
  return run;
}

std::set<std::int32_t> piece_numbers(std::int32_t first, std::int32_t end) {
  std::set<std::int32_t> all;
  for (std::int32_t i = first; i < end; ++i) all.insert(i);
  return all;
}

TEST(Holdings, OfABroadcastTheRootHasAllFromTheStartAndTheOthersWhenItArrives) {
  const HoldingsRun chain = holdings_of(Operation::broadcast, "chain", first_ranks(4), 3);
  EXPECT_EQ(chain.brought_by(0), 3);
  EXPECT_EQ(chain.brought_by(1), 0);
  for (const std::size_t rank : {0U, 1U, 2U, 3U})
    EXPECT_EQ(chain.pieces_of(rank), piece_numbers(0, 3)) << rank;
  EXPECT_EQ(chain.had_by(0).at(2).done, Time{});
  EXPECT_LT(chain.had_by(1).at(2).done, chain.had_by(2).at(2).done);
  EXPECT_LT(chain.had_by(3).at(0).done, chain.had_by(3).at(2).done);
  EXPECT_EQ(chain.had_by(3).at(2).done, chain.simulation.time);
}

TEST(Holdings, OfAReduceOnlyTheRootHasTheSum) {
  for (const char* algorithm : {"chain", "binomial"}) {
    const HoldingsRun reduce = holdings_of(Operation::reduce, algorithm, first_ranks(4), 2, 1);
    for (const std::size_t position : {0U, 1U, 2U, 3U})
      EXPECT_EQ(reduce.brought_by(position), reduce.pieces.count) << algorithm;
    EXPECT_EQ(reduce.holdings.outputs.size(), static_cast<std::size_t>(reduce.pieces.count));
    for (const OutputPiece& had : reduce.holdings.outputs)
      EXPECT_EQ(had.rank, Rank(1)) << algorithm;
    EXPECT_EQ(reduce.had_by(1).rbegin()->second.done, reduce.simulation.time) << algorithm;
  }
}

TEST(Holdings, OfAReduceScatterEachRankHasItsPart) {
  const HoldingsRun ring = holdings_of(Operation::reduce_scatter, "ring", first_ranks(4));
  EXPECT_EQ(ring.pieces.count, 4);
  for (const std::size_t rank : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(ring.brought_by(rank), 4);
    EXPECT_EQ(ring.pieces_of(rank), (std::set<std::int32_t>{static_cast<std::int32_t>(rank)}));
  }
}

TEST(Holdings, OfAnAllReduceByRingSumsAreThereAfterTheFirstHalf) {
  const HoldingsRun ring = holdings_of(Operation::all_reduce, "ring", first_ranks(4));
  for (const std::size_t rank : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(ring.pieces_of(rank), piece_numbers(0, 4));
    for (const auto& [piece, had] : ring.had_by(rank))
      EXPECT_GE(had.done.ps() * 2, ring.simulation.time.ps()) << rank << " " << piece;
  }
}

// Also what no message carries: the root's own part.
TEST(Holdings, OfGatherAndScatterAllPartsAreAtTheRoot) {
  for (const char* algorithm : {"flat", "binomial"}) {
    const HoldingsRun gather = holdings_of(Operation::gather, algorithm, first_ranks(5), 1, 2);
    EXPECT_EQ(gather.pieces.count, 5) << algorithm;
    EXPECT_EQ(gather.holdings.outputs.size(), 5U) << algorithm;
    EXPECT_EQ(gather.pieces_of(2), piece_numbers(0, 5)) << algorithm;
    EXPECT_EQ(gather.had_by(2).at(2).done, Time{}) << algorithm;
    EXPECT_EQ(gather.brought_by(3), 1) << algorithm;
    const HoldingsRun scatter = holdings_of(Operation::scatter, algorithm, first_ranks(5), 1, 2);
    EXPECT_EQ(scatter.brought_by(2), 5) << algorithm;
    EXPECT_EQ(scatter.brought_by(0), 0) << algorithm;
    for (const std::size_t rank : {0U, 1U, 2U, 3U, 4U})
      EXPECT_EQ(scatter.pieces_of(rank), (std::set<std::int32_t>{static_cast<std::int32_t>(rank)}))
          << algorithm;
  }
}

TEST(Holdings, OfAnAllToAllEachRankHasAPartOfEach) {
  const HoldingsRun direct = holdings_of(Operation::all_to_all, "direct", first_ranks(4));
  EXPECT_EQ(direct.pieces.count, 16);
  for (const std::int32_t rank : {0, 1, 2, 3}) {
    EXPECT_EQ(direct.brought_by(static_cast<std::size_t>(rank)), 4);
    EXPECT_EQ(direct.pieces_of(static_cast<std::size_t>(rank)),
              (std::set<std::int32_t>{rank, 4 + rank, 8 + rank, 12 + rank}));
  }
}

TEST(Holdings, GroupsMayBeAPartInAnyOrder) {
  const HoldingsRun gather =
      holdings_of(Operation::all_gather, "ring", {Rank(6), Rank(1), Rank(3)});
  EXPECT_EQ(gather.holdings.inputs[0].rank, Rank(6));
  EXPECT_EQ(gather.holdings.inputs[0].first, 0);
  for (const std::size_t rank : {6U, 1U, 3U})
    EXPECT_EQ(gather.pieces_of(rank), piece_numbers(0, 3));
  EXPECT_EQ(gather.had_by(1).at(1).done, Time{});
}

TEST(Holdings, WithoutDataNobodyHasAnything) {
  EXPECT_TRUE(
      holdings_of(Operation::barrier, "dissemination", first_ranks(4)).holdings.outputs.empty());
}

// Whatever the algorithm: nothing before it began, all when the run is over, and not all at the
// start.
TEST(Holdings, AreThereAtTheEndOfEveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation == Operation::barrier) continue;
    const HoldingsRun run =
        holdings_of(algorithm.operation, std::string(algorithm.name), first_ranks(8), 2);
    Time last{};
    for (const OutputPiece& had : run.holdings.outputs) {
      EXPECT_LE(had.begun, had.done) << algorithm.name;
      last = std::max(last, had.done);
    }
    EXPECT_EQ(last, run.simulation.time) << to_string(algorithm.operation) << " " << algorithm.name;
  }
}

}  // namespace
}  // namespace collsim
