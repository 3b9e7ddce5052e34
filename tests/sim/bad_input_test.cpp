// SPDX-License-Identifier: Apache-2.0
//
// Whatever a caller does wrong, the library answers with a typed error that names the value, or
// with a defined result.
#include <algorithm>

#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

Simulation run(const Topology& topology, const Schedule& schedule,
               const SimulationOptions& options = {}) {
  return simulate(topology, schedule, {}, options);
}

TEST(BadInput, ZeroRanks) {
  expect_error(ErrorCode::invalid_argument, {"0"},
               [] { static_cast<void>(make_ring(0, link_of(ten))); });
  expect_error(ErrorCode::invalid_argument, {},
               [] { static_cast<void>(byte_schedule(Operation::all_reduce, 0, 8, "ring")); });
}

TEST(BadInput, MoreRanksThanAnIdHolds) {
  expect_error(ErrorCode::too_large, {"16777217"},
               [] { static_cast<void>(make_ring((std::size_t{1} << 24U) + 1, link_of(ten))); });
  expect_error(ErrorCode::too_large, {"5000000000"},
               [] { static_cast<void>(Rank(5'000'000'000)); });
}

TEST(BadInput, ARankTheTopologyDoesNotHave) {
  expect_error(ErrorCode::invalid_argument, {"rank 4", "0 to 3"}, [] {
    run(make_ring(4, link_of(ten)), byte_schedule(Operation::all_reduce, 5, 8, "ring"));
  });
}

TEST(BadInput, DisconnectedRanks) {
  TopologyBuilder builder;
  for (int rank = 0; rank < 3; ++rank) builder.add_node(NodeKind::gpu);
  builder.connect(NodeId(0), NodeId(1), link_of(ten));
  const Topology topology = builder.build();
  expect_error(ErrorCode::no_route, {"gpu1", "gpu2"},
               [&] { run(topology, byte_schedule(Operation::broadcast, 3, 8, "chain")); });
}

TEST(BadInput, TimesBeyond64Bits) {
  const Topology slow = make_ring(4, link_of(Bandwidth(1)));
  expect_error(ErrorCode::overflow, {}, [&] {
    run(slow, byte_schedule(Operation::broadcast, 4, gibibytes(1) * 1024, "chain"));
  });
  const Topology far = make_ring(4, link_of(ten, {}, Time(Time::never().ps() / 2)));
  expect_error(ErrorCode::overflow, {},
               [&] { run(far, byte_schedule(Operation::broadcast, 4, 8, "chain")); });
}

TEST(BadInput, SizesBeyond64Bits) {
  Collective collective = byte_collective(Operation::all_reduce, 4, std::int64_t{1} << 62U);
  collective.type = ElementType::f64;
  expect_error(ErrorCode::too_large, {"4611686018427387904"},
               [&] { static_cast<void>(make_schedule(collective)); });
}

TEST(BadInput, MoreChunksThanElementsAreEmptyMessages) {
  const Topology topology = make_ring(4, link_of(ten, microseconds(1)));
  const Simulation simulation =
      run(topology, byte_schedule(Operation::broadcast, 4, 3, "chain", 10));
  EXPECT_EQ(simulation.messages, 30U);
  EXPECT_EQ(simulation.wire_bytes, 9);
  EXPECT_GE(simulation.time, 12 * microseconds(1));
}

TEST(BadInput, NothingToDoTakesNoTime) {
  const Topology one = make_ring(1, link_of(ten));
  for (const Algorithm& algorithm : algorithms())
    EXPECT_EQ(run(one, byte_schedule(algorithm.operation, 1,
                                     algorithm.operation == Operation::barrier ? 0 : 17,
                                     std::string(algorithm.name)))
                  .time,
              Time{})
        << algorithm.name;
}

TEST(BadInput, UnknownNamesSuggestTheNearest) {
  expect_error(ErrorCode::unknown_name, {"rong", "ring"},
               [] { static_cast<void>(byte_schedule(Operation::all_reduce, 4, 8, "rong")); });
}

TEST(BadInput, RankCountsAnAlgorithmDoesNotHave) {
  expect_error(ErrorCode::unsupported_ranks, {"6", "power of two"},
               [] { static_cast<void>(byte_schedule(Operation::all_reduce, 6, 8, "swing")); });
}

TEST(BadInput, AbsurdChunksSlotsAndChannels) {
  const auto with = [](AlgorithmChoice choice) {
    return make_schedule(byte_collective(Operation::all_reduce, 4, 64), choice);
  };
  expect_error(ErrorCode::invalid_argument, {"0"}, [&] { static_cast<void>(with({.chunks = 0})); });
  expect_error(ErrorCode::invalid_argument, {"-3"},
               [&] { static_cast<void>(with({.channels = -3})); });
  expect_error(ErrorCode::invalid_argument, {"0"}, [&] { static_cast<void>(with({.slots = 0})); });
  expect_error(ErrorCode::too_large, {"2000000000"},
               [&] { static_cast<void>(with({.chunks = 2'000'000'000})); });
}

TEST(BadInput, LateRanksThatDoNotExistOrComeEarly) {
  const Topology topology = make_ring(4, link_of(ten));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 4, 64, "ring");
  expect_error(ErrorCode::invalid_argument, {"9", "0 to 3"}, [&] {
    run(topology, schedule, {.late = {{Rank(9), seconds(1)}}});
  });
  expect_error(ErrorCode::invalid_argument, {"rank 1"}, [&] {
    run(topology, schedule, {.late = {{Rank(1), Time(-1)}}});
  });
}

TEST(BadInput, AnEngineThatDoesNotApplySaysWhy) {
  const Topology topology = make_switch(4, link_of(ten));
  const Schedule schedule = byte_schedule(Operation::gather, 4, 64, "flat");
  expect_error(ErrorCode::engine_not_applicable, {"event engine"},
               [&] { run(topology, schedule, {.engine = Engine::dataflow}); });
  expect_error(ErrorCode::engine_not_applicable, {"symmetry"},
               [&] { run(topology, schedule, {.engine = Engine::symmetry}); });
}

Schedule two_ranks(const Instruction& first, const Instruction& second) {
  return handmade(2, [first, second](int position, Lane) -> Program {
    co_yield position == 0 ? first : second;
  });
}

TEST(BadInput, ProgramsThatDoNotFit) {
  const Topology topology = make_ring(2, link_of(ten));
  const Span four{Buffer::output, 0, 4};
  const Span five{Buffer::output, 0, 5};
  const Endpoint zero{Rank(0), Lane(0)};
  const Endpoint one{Rank(1), Lane(0)};
  for (const Engine engine : {Engine::automatic, Engine::dataflow, Engine::event}) {
    const SimulationOptions options{.engine = engine};
    const auto refused = [&](const Schedule& schedule, const std::vector<std::string>& words) {
      expect_error(ErrorCode::bad_schedule, words, [&] { run(topology, schedule, options); });
    };
    refused(two_ranks(send(one, four), receive(zero, five)), {"expects 5", "sent 4"});
    refused(two_ranks(send({Rank(7), Lane(0)}, four), receive(zero, four)), {"rank 7"});
    refused(two_ranks(send({Rank(1), Lane(3)}, four), receive(zero, four)), {"lane 3"});
    refused(two_ranks(send(zero, four), receive(zero, four)), {"itself"});
    refused(two_ranks(signal(one), wait(zero)), {"another rank"});
    refused(two_ranks(send(one, four), copy(four, four)), {"never received"});
  }
}

TEST(BadInput, ARecordingThatWouldNotFit) {
  const Topology topology = make_ring(8, link_of(ten));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 8, 1024, "ring");
  SimulationOptions options;
  options.recording = Recording::full;
  options.max_recorded_steps = 10;
  expect_error(ErrorCode::too_large, {"10"}, [&] { run(topology, schedule, options); });
}

TEST(BadInput, CountsThatCannotBe) {
  const Topology topology = make_ring(2, link_of(ten));
  const Endpoint zero{Rank(0), Lane(0)};
  const Endpoint one{Rank(1), Lane(0)};
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{-5}}) {
    const Span data{Buffer::output, 0, count};
    expect_error(ErrorCode::bad_schedule, {std::to_string(count)},
                 [&] { run(topology, two_ranks(send(one, data), receive(zero, data))); });
    expect_error(ErrorCode::bad_schedule, {std::to_string(count)},
                 [&] { run(topology, two_ranks(copy(data, data), copy(data, data))); });
  }
}

TEST(BadInput, MoreBytesInAllThan64BitsCount) {
  // 2 PiB over 4,096 ranks: every message and every time fits, the sum of bytes does not.
  const Topology topology = make_ring(4096, link_of(gigabytes_per_second(1'000'000)));
  const Schedule schedule =
      byte_schedule(Operation::all_reduce, 4096, gibibytes(1024) * 2048, "ring");
  for (const Engine engine : {Engine::symmetry, Engine::dataflow})
    expect_error(ErrorCode::overflow, {"64 bits"},
                 [&] { run(topology, schedule, {.engine = engine}); });
}

TEST(BadInput, CostsThatCannotBe) {
  const Topology topology = make_ring(4, link_of(ten));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 4, 64, "ring");
  for (const Time wrong : {picoseconds(-1), microseconds(-5), Time::never()}) {
    expect_error(ErrorCode::invalid_argument, {"launch"},
                 [&] { static_cast<void>(simulate(topology, schedule, {.launch = wrong})); });
    expect_error(ErrorCode::invalid_argument, {"instruction_overhead"}, [&] {
      static_cast<void>(simulate(topology, schedule, {.instruction_overhead = wrong}));
    });
    expect_error(ErrorCode::invalid_argument, {"rank 1"}, [&] {
      run(topology, schedule, {.late = {{Rank(1), wrong}}});
    });
  }
  expect_error(ErrorCode::invalid_argument, {"rank 1", "twice"}, [&] {
    run(topology, schedule, {.late = {{Rank(1), seconds(1)}, {Rank(1), seconds(2)}}});
  });
}

TEST(BadInput, AFlowThatIsSlowOnlyForAWhileIsNoOverflow) {
  // 9,000,000 s of bytes share with a single one: at half the rate they would not fit 64 bits.
  const Topology topology = make_switch(3, link_of(Bandwidth(1), {}, {}, Sharing::fair));
  const Schedule schedule = handmade(3, [](int position, Lane lane) -> Program {
    const Span longer{Buffer::input, 0, 9'000'000};
    const Span shorter{Buffer::input, 0, 1};
    if (position == 0) co_yield send({Rank(2), lane}, longer);
    if (position == 1) co_yield send({Rank(2), lane}, shorter);
    if (position == 2) co_yield receive({Rank(0), lane}, longer.in(Buffer::output));
    if (position == 2) co_yield receive({Rank(1), lane}, shorter.in(Buffer::output));
  });
  EXPECT_NEAR(run(topology, schedule).time.seconds(), 9'000'001, 1e-6);
  const Schedule both = handmade(3, [](int position, Lane lane) -> Program {
    const Span longer{Buffer::input, 0, 9'000'000};
    if (position != 2) co_yield send({Rank(2), lane}, longer);
    if (position == 2) co_yield receive({Rank(0), lane}, longer.in(Buffer::output));
    if (position == 2) co_yield receive({Rank(1), lane}, longer.in(Buffer::output));
  });
  expect_error(ErrorCode::overflow, {"106 days"}, [&] { run(topology, both); });
}

TEST(BadInput, ProgramsSoWrongThatTheyBeatTheBound) {
  Schedule::Parts parts;
  parts.collective = byte_collective(Operation::broadcast, 2, 1'000'000);
  parts.algorithm = "nothing at all";
  parts.program = [](int, Lane) -> Program { co_return; };
  expect_error(ErrorCode::bad_schedule, {"lower bound", "nothing at all"},
               [&] { run(make_ring(2, link_of(ten)), Schedule(parts)); });
}

}  // namespace
}  // namespace collsim::testing
