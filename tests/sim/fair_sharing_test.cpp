// SPDX-License-Identifier: Apache-2.0
//
// Fair links: max-min between connections, first in first out within one.
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

const LinkParameters fair = link_of(gigabytes_per_second(10), {}, {}, Sharing::fair);
constexpr Bytes message = 10'000;  // 1 us alone

TEST(FairSharing, ChunksOfOnePipelineDoNotShareWithEachOther) {
  // A pipelined chain on fair links takes what it takes on exclusive ones: its chunks go one after
  // the other.
  for (const int chunks : {1, 4, 10})
    EXPECT_EQ(simulate(make_chain(4, fair),
                       byte_schedule(Operation::broadcast, 4, message, "chain", chunks))
                  .time,
              (2 + chunks) * transfer_time(message / chunks, gigabytes_per_second(10)));
}

TEST(FairSharing, TwoConnectionsOverOneCableTakeTwiceAsLong) {
  const Topology topology = make_chain(3, fair);  // 0 -> 2 and 1 -> 2 share the cable 1 -> 2
  const Schedule schedule = byte_schedule(Operation::gather, 3, 3 * message, "flat");
  AlgorithmChoice choice;
  choice.name = "flat";
  Collective collective = byte_collective(Operation::gather, 3, 3 * message);
  collective.root = 2;
  EXPECT_EQ(simulate(topology, make_schedule(collective, choice)).time, microseconds(2));
}

TEST(FairSharing, OverheadDelaysTheStartAndOccupiesNothing) {
  const Topology topology =
      make_chain(2, link_of(gigabytes_per_second(10), microseconds(3), {}, Sharing::fair));
  EXPECT_EQ(
      simulate(topology, byte_schedule(Operation::broadcast, 2, 4 * message, "chain", 4)).time,
      microseconds(3 + 4));
}

TEST(FairSharing, AFlowSpeedsUpWhenAnotherEnds) {
  // 3 us of data share with 1 us of data: both at half rate until 2 us, then the long one alone
  // until 4 us.
  const Topology topology = make_switch(3, fair);
  const Schedule schedule = handmade(3, [](int position, Lane lane) -> Program {
    const Span longer{Buffer::input, 0, 3 * message};
    const Span shorter{Buffer::input, 0, message};
    if (position == 0) co_yield send({Rank(2), lane}, longer);
    if (position == 1) co_yield send({Rank(2), lane}, shorter);
    if (position == 2) {
      co_yield receive({Rank(0), lane}, longer.in(Buffer::output));
      co_yield receive({Rank(1), lane}, shorter.in(Buffer::output));
    }
  });
  const Simulation simulation = simulate(topology, schedule);
  EXPECT_EQ(simulation.finished,
            (std::vector<Time>{microseconds(4), microseconds(2), microseconds(4)}));
}

TEST(FairSharing, ALateFlowTakesItsShareFromThenOn) {
  const Topology topology = make_switch(3, fair);
  const Schedule schedule =
      byte_schedule(Operation::gather, 3, 3 * 2 * message, "flat");  // 2 us each alone
  SimulationOptions options;
  options.late = {{Rank(2), microseconds(1)}};
  // 1 us alone, then both at half rate: the first ends at 1 + 2 = 3 us, the second has 1 us of work
  // left then.
  const Simulation simulation = simulate(topology, schedule, {}, options);
  EXPECT_EQ(simulation.finished[1], microseconds(3));
  EXPECT_EQ(simulation.finished[2], microseconds(4));
}

TEST(FairSharing, ManyEqualFlowsEndTogether) {
  const Topology topology = make_switch(64, fair);
  const Schedule schedule = byte_schedule(Operation::all_to_all, 64, 64 * message, "direct");
  EXPECT_EQ(simulate(topology, schedule, {}, {.engine = Engine::event}).time, microseconds(63));
  EXPECT_EQ(simulate(topology, schedule, {}, {.engine = Engine::symmetry}).time, microseconds(63));
}

// Seven ranks share an uplink of a leaf, and five or seven a cable to a core switch.
TEST(FairSharing, CopiesOfARankShareWhatTheirNumberDoesNotDivide) {
  const TreeShape two_levels{.ends = 28, .ends_per_leaf = 14, .spines = 2, .links = {fair, fair}};
  const TreeShape three_levels{.ends = 60,
                               .ends_per_leaf = 6,
                               .spines = 2,
                               .leaves_per_pod = 5,
                               .cores = 1,
                               .links = {fair, fair, fair}};
  const TreeShape groups_cannot_turn{.ends = 48,
                                     .ends_per_leaf = 6,
                                     .spines = 2,
                                     .leaves_per_pod = 4,
                                     .cores = 4,
                                     .links = {fair, fair, fair}};
  for (const TreeShape& shape : {two_levels, three_levels, groups_cannot_turn}) {
    const Topology topology = make_tree(shape);
    const Bytes bytes = static_cast<Bytes>(shape.ends) * 999'983;
    for (const auto& [operation, algorithm] :
         {std::pair(Operation::all_to_all, "direct"), std::pair(Operation::all_to_all, "pairwise"),
          std::pair(Operation::all_gather, "ring")}) {
      const Schedule schedule = byte_schedule(operation, shape.ends, bytes, algorithm);
      const Simulation all = simulate(topology, schedule, {}, {.engine = Engine::event});
      const Simulation few = simulate(topology, schedule, {}, {.engine = Engine::symmetry});
      EXPECT_EQ(all.time, few.time) << algorithm << " on " << shape.ends;
      EXPECT_EQ(all.finished, few.finished) << algorithm << " on " << shape.ends;
      EXPECT_EQ(all.fingerprint, few.fingerprint) << algorithm << " on " << shape.ends;
    }
  }
}

// Twice: sends so many messages to every other rank, then takes as many from each.
Program exchange(int me, int ranks, int messages) {
  const auto data = [](int from, int to, Buffer buffer) {
    return Span{buffer, 0, message * (1 + (from + 2 * to) % 3)};
  };
  const auto lane_of = [](int rank) {
    return Endpoint{Rank(static_cast<std::size_t>(rank)), Lane(0)};
  };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < messages * (ranks - 1); ++i) {
      const int to = (me + 1 + i % (ranks - 1)) % ranks;
      co_yield send(lane_of(to), data(me, to, Buffer::input));
    }
    for (int i = 0; i < messages * (ranks - 1); ++i) {
      const int from = (me + ranks - 1 - i % (ranks - 1)) % ranks;
      co_yield receive(lane_of(from), data(from, me, Buffer::output));
    }
  }
}

// Without a recording, messages to which nobody attends are kept without a connection; it must come
// back whoever turns to it first, the sender or the receiver, before the message arrives or after.
TEST(FairSharing, MessagesThatRestAreAsIfTheyHadAConnection) {
  for (const int messages : {1, 2, 3})
    for (const Time startup : {Time{}, microseconds(2)}) {
      SCOPED_TRACE(std::to_string(messages) + " messages, startup " + to_text(startup));
      const Schedule schedule =
          handmade(7, [messages](int position, Lane) { return exchange(position, 7, messages); });
      const auto link = [&](int gigabytes) {
        return link_of(gigabytes_per_second(gigabytes), startup, microseconds(1), Sharing::fair);
      };
      const std::vector<Topology::LinkChange> slow{{LinkId(2), link(3)}};
      const Topology topology = make_switch(7, link(10)).with_changed_links(slow);
      SimulationOptions options;
      options.engine = Engine::event;
      const Simulation resting = simulate(topology, schedule, {}, options);
      options.recording = Recording::full;
      const Simulation connected = simulate(topology, schedule, {}, options);
      EXPECT_EQ(resting.finished, connected.finished);
      EXPECT_EQ(resting.fingerprint, connected.fingerprint);
      EXPECT_EQ(resting.messages, connected.messages);
      EXPECT_EQ(resting.wire_bytes, connected.wire_bytes);
    }
}

TEST(FairSharing, AMessageThatRestsAndIsNeverReceivedIsReported) {
  const Schedule schedule = handmade(3, [](int position, Lane lane) -> Program {
    const Span data{Buffer::input, 0, message};
    if (position == 0) {
      co_yield send({Rank(2), lane}, data);
      co_yield send({Rank(1), lane}, data);
    }
    if (position == 1) co_yield receive({Rank(0), lane}, data.in(Buffer::output));
  });
  try {
    (void)simulate(make_switch(3, fair), schedule, {}, {.engine = Engine::event});
    FAIL() << "not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_schedule);
    EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
  }
}

TEST(MixedRoutes, AMessageHoldsNothingWhileItFlows) {
  // Two ranks share an exclusive uplink into a fair backbone that a third keeps half busy.
  TopologyBuilder builder;
  for (int rank = 0; rank < 5; ++rank) builder.add_node(NodeKind::gpu);
  const NodeId left = builder.add_node(NodeKind::network_switch);
  const NodeId middle = builder.add_node(NodeKind::network_switch);
  const NodeId right = builder.add_node(NodeKind::network_switch);
  const LinkParameters wide = link_of(gigabytes_per_second(100), {}, {}, Sharing::fair);
  builder.connect(NodeId(0), left, wide);
  builder.connect(NodeId(1), left, wide);
  builder.connect(left, middle, link_of(gigabytes_per_second(10)));
  builder.connect(NodeId(2), middle, wide);
  builder.connect(middle, right, fair);
  builder.connect(right, NodeId(3), wide);
  builder.connect(right, NodeId(4), wide);
  const Schedule schedule = handmade(5, [](int position, Lane lane) -> Program {
    const Span data{Buffer::input, 0, message};
    const Span twice{Buffer::input, 0, 2 * message};
    if (position == 0 || position == 1) co_yield send({Rank(3), lane}, data);
    if (position == 2) co_yield send({Rank(4), lane}, twice);
    if (position == 3) {
      co_yield receive({Rank(0), lane}, data.in(Buffer::output));
      co_yield receive({Rank(1), lane}, data.in(Buffer::output));
    }
    if (position == 4) co_yield receive({Rank(2), lane}, twice.in(Buffer::output));
  });
  const Simulation simulation = simulate(builder.build(), schedule);
  // Rank 0 has the uplink until 1 us, rank 1 until 2 us; their flows begin when they begin there.
  //   0 -> 1 us      ranks 0 and 2 flow, half of the backbone each
  //   1 -> 2.5 us    all three: rank 0's ends
  //   2.5 -> 3.5 us  ranks 1 and 2: rank 1's ends
  //   3.5 -> 4 us    the rest of rank 2's
  EXPECT_EQ(simulation.finished[0], microseconds(1));
  EXPECT_EQ(simulation.finished[1], microseconds(2));
  EXPECT_NEAR(simulation.finished[3].seconds(), 3.5e-6, 3e-12);
  EXPECT_NEAR(simulation.finished[4].seconds(), 4e-6, 3e-12);
}

}  // namespace
}  // namespace collsim::testing
