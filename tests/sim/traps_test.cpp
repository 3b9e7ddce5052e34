// SPDX-License-Identifier: Apache-2.0
//
// Places where simulators of this field have given wrong answers without a word.  One test each.
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/cost/bounds.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

const Bandwidth fifty = gigabytes_per_second(50);

TEST(Traps, ABroadcastCostsRealTime) {
  const Topology topology = make_switch(8, link_of(fifty, microseconds(1)));
  for (const Algorithm* algorithm : algorithms(Operation::broadcast)) {
    const Schedule schedule =
        byte_schedule(Operation::broadcast, 8, mebibytes(64), std::string(algorithm->name));
    EXPECT_GE(simulate(topology, schedule).time, transfer_time(mebibytes(64), fifty))
        << algorithm->name;
  }
}

TEST(Traps, ASwitchHopIsNotSerialisedTwice) {
  const Topology topology = make_switch(8, link_of(fifty));
  const Time ring = 14 * transfer_time(gibibytes(1) / 8, fifty);
  EXPECT_EQ(simulate(topology, byte_schedule(Operation::all_reduce, 8, gibibytes(1), "ring")).time,
            ring);
  EXPECT_EQ(simulate(make_ring(8, link_of(fifty)),
                     byte_schedule(Operation::all_reduce, 8, gibibytes(1), "ring"))
                .time,
            ring);
}

TEST(Traps, NoResultBeatsItsBound) {
  int results = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const int count : nearest_ranks(algorithm, {2, 3, 6, 8})) {
      const auto ranks = static_cast<std::size_t>(count);
      const Schedule schedule =
          byte_schedule(algorithm.operation, ranks, 1'000'003, std::string(algorithm.name), 3);
      for (const Topology& topology :
           {make_ring(ranks, link_of(fifty, microseconds(1), microseconds(2))),
            make_switch(ranks, link_of(fifty, microseconds(1), microseconds(2), Sharing::fair)),
            make_fully_connected(ranks, link_of(fifty))}) {
        EXPECT_GE(simulate(topology, schedule).time, lower_bound(schedule.collective(), topology))
            << algorithm.name << " on a " << topology.shape() << " of " << ranks;
        ++results;
      }
    }
  }
  EXPECT_GT(results, 500);
}

TEST(Traps, ATreePipelines) {
  const Topology topology = make_switch(15, link_of(fifty, microseconds(1)));
  const auto time = [&](int chunks) {
    return simulate(topology,
                    byte_schedule(Operation::broadcast, 15, mebibytes(256), "binary-tree", chunks))
        .time;
  };
  EXPECT_EQ(time(64), (2 * (3 + 64 - 1)) * (microseconds(1) + transfer_time(mebibytes(4), fifty)));
  EXPECT_LT(time(64).seconds(), 0.4 * time(1).seconds());
}

TEST(Traps, GBIsNotGiB) {
  EXPECT_EQ(transfer_time(1'000'000'000, gigabytes_per_second(1)), seconds(1));
  EXPECT_EQ(transfer_time(gibibytes(1), gigabytes_per_second(1)), picoseconds(1'073'741'824'000));
}

TEST(Traps, HalvingDoublingAndDoubleTreeFinishOnSixRanks) {
  const Topology topology = make_switch(6, link_of(fifty, microseconds(3)));
  const Bytes size = 6 * 4 * 1'000'000;
  const Time halving =
      simulate(topology, byte_schedule(Operation::all_reduce, 6, size, "halving-doubling")).time;
  const Time alpha = microseconds(3);
  EXPECT_EQ(halving, 2 * (alpha + transfer_time(size, fifty)) +
                         2 * (alpha + transfer_time(size / 2, fifty)) +
                         2 * (alpha + transfer_time(size / 4, fifty)));
  EXPECT_GT(
      simulate(topology, byte_schedule(Operation::all_reduce, 6, size, "double-tree", 8)).time,
      2 * transfer_time(size, fifty));
}

TEST(Traps, RingAllReduceIsRightForEveryNumberOfRanks) {
  const Time alpha = microseconds(3);
  const auto check = [&](std::size_t ranks) {
    const Bytes block = 1'000'000;
    const auto size = static_cast<Bytes>(ranks) * block;
    const Topology topology = make_ring(ranks, link_of(fifty, alpha));
    EXPECT_EQ(simulate(topology, byte_schedule(Operation::all_reduce, ranks, size, "ring")).time,
              2 * static_cast<Bytes>(ranks - 1) * (alpha + transfer_time(block, fifty)))
        << ranks;
  };
  for (std::size_t ranks = 2; ranks <= 64; ++ranks) check(ranks);
  check(1024);
}

TEST(Traps, BinomialBroadcastKeepsTreeOrderAtAMillionRanks) {
  constexpr int depth = is_sanitized ? 14 : 20;
  constexpr std::size_t ranks = std::size_t{1} << depth;
  const Topology topology = make_switch(ranks, link_of(fifty, microseconds(1)));
  const Simulation simulation =
      simulate(topology, byte_schedule(Operation::broadcast, ranks, mebibytes(1), "binomial"));
  EXPECT_EQ(simulation.time, depth * (microseconds(1) + transfer_time(mebibytes(1), fifty)));
  EXPECT_EQ(simulation.messages, ranks - 1);
}

TEST(Traps, APipelinedChainIsFullDuplex) {
  // Up and down the same cables at once: the way down starts as soon as the first chunk is
  // complete.
  const Topology topology = make_chain(8, link_of(fifty, microseconds(3)));
  const Time message = microseconds(3) + transfer_time(mebibytes(16) / 32, fifty);
  EXPECT_EQ(
      simulate(topology, byte_schedule(Operation::all_reduce, 8, mebibytes(16), "chain", 32)).time,
      (2 * 7 + 32 - 1) * message);
}

TEST(Traps, EightSendersToOneReceiverTakeEightTimesOne) {
  for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
    const Topology topology = make_switch(9, link_of(fifty, {}, {}, sharing));
    const Schedule schedule = byte_schedule(Operation::gather, 9, 9 * mebibytes(1), "flat");
    const Time one = transfer_time(mebibytes(1), fifty);
    EXPECT_NEAR(simulate(topology, schedule).time.seconds() / one.seconds(), 8, 1e-9);
  }
}

TEST(Traps, AnUnfinishedRankIsAnErrorThatSaysWhoWaitsForWhom) {
  const Schedule schedule = handmade(3, [](int position, Lane lane) -> Program {
    const Endpoint next{Rank(static_cast<std::size_t>((position + 1) % 3)), lane};
    const Endpoint previous{Rank(static_cast<std::size_t>((position + 2) % 3)), lane};
    co_yield receive(previous, Span{Buffer::output, 0, 1});
    co_yield send(next, Span{Buffer::output, 0, 1});
  });
  const Topology topology = make_ring(3, link_of(fifty));
  for (const Engine engine : {Engine::automatic, Engine::dataflow, Engine::event})
    expect_error(ErrorCode::deadlock,
                 {"rank 0 lane 0", "waits for a message from rank 2", "rank 2 lane 0",
                  "waits for a message from rank 1"},
                 [&] { static_cast<void>(simulate(topology, schedule, {}, {.engine = engine})); });
}

// Rank 0 sends to all others over one first link, in an order that comes back to some of them; on a
// chain later ones share the links behind it, too.
TEST(Traps, ALaneQueuesBehindItsOwnMessagesToOthers) {
  constexpr std::size_t ranks = 5;
  const std::vector<std::pair<int, Bytes>> sent{{1, 100'000}, {2, 10},    {1, 50'000}, {3, 70'000},
                                                {2, 300'000}, {4, 1'000}, {3, 0},      {1, 90'000}};
  const auto part = [](Bytes bytes) { return Span{Buffer::output, 0, bytes}; };
  const Schedule schedule = handmade(ranks, [&](int position, Lane lane) -> Program {
    for (const auto& [to, bytes] : sent) {
      if (position == 0) co_yield send({Rank(static_cast<std::size_t>(to)), lane}, part(bytes));
      if (position == to) co_yield receive({Rank(0), lane}, part(bytes));
    }
  });
  const LinkParameters link = link_of(ten, microseconds(3), microseconds(2));
  for (const Topology& topology :
       {make_switch(ranks, link), make_chain(ranks, link), make_fully_connected(ranks, link)}) {
    const auto finished_by = [&](Engine engine) {
      return simulate(topology, schedule, {}, {.engine = engine}).finished;
    };
    EXPECT_EQ(finished_by(Engine::dataflow), finished_by(Engine::event)) << topology.shape();
  }
  Time sum;
  for (const auto& [to, bytes] : sent) sum += link.startup + transfer_time(bytes, ten);
  EXPECT_EQ(simulate(make_switch(ranks, link), schedule).finished.front(), sum);
}

}  // namespace
}  // namespace collsim::testing
