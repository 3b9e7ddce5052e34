// SPDX-License-Identifier: Apache-2.0
#include "collectives/workloads/workloads.hpp"
#include "sim/critical_path.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

using Kind = CriticalPath::Kind;

constexpr Bytes one_message = 10'000;  // 1 us at 10 GB/s

Simulation recorded(const Topology& topology, const Schedule& schedule, const CostModel& costs = {},
                    SimulationOptions options = {}) {
  options.recording = Recording::full;
  return simulate(topology, schedule, costs, options);
}

void expect_seamless(const CriticalPath& path, Time end) {
  Time now{};
  for (const CriticalPath::Segment& segment : path.segments) {
    EXPECT_EQ(segment.from, now);
    EXPECT_LT(segment.from, segment.to);
    now = segment.to;
  }
  EXPECT_EQ(now, end);
}

TEST(Timeline, AChainOfThreeInFull) {
  const Topology topology = make_chain(3, link_of(ten, microseconds(2), microseconds(5)));
  const Simulation simulation =
      recorded(topology, byte_schedule(Operation::broadcast, 3, one_message, "chain"));
  const std::vector<Step>& steps = simulation.timeline->steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].instruction.op, Op::copy_send);
  EXPECT_EQ(steps[0].departed, Time{});
  EXPECT_EQ(steps[0].left, microseconds(3));
  EXPECT_EQ(steps[0].arrived, microseconds(8));
  EXPECT_EQ(steps[1].instruction.op, Op::receive_send);
  EXPECT_EQ(steps[1].reached, Time{});
  EXPECT_EQ(steps[1].began, microseconds(8));
  EXPECT_EQ(steps[1].message_from, 0U);
  EXPECT_EQ(steps[1].arrived, microseconds(16));
  EXPECT_EQ(steps[2].began, microseconds(16));
  EXPECT_EQ(steps[2].message_from, 1U);
  EXPECT_EQ(simulation.time, microseconds(16));
  EXPECT_EQ(simulation.finished,
            (std::vector<Time>{microseconds(3), microseconds(11), microseconds(16)}));
}

TEST(Timeline, UsageOfRanksAndLinks) {
  const Topology topology = make_chain(3, link_of(ten, microseconds(2), microseconds(5)));
  const Simulation simulation =
      recorded(topology, byte_schedule(Operation::broadcast, 3, one_message, "chain"));
  EXPECT_EQ(simulation.ranks[0].waiting_for_messages, Time{});
  EXPECT_EQ(simulation.ranks[1].waiting_for_messages, microseconds(8));
  EXPECT_EQ(simulation.ranks[2].waiting_for_messages, microseconds(16));
  Time busy{};
  Bytes bytes = 0;
  for (const LinkUsage& usage : simulation.links) {
    busy += usage.busy;
    bytes += usage.bytes;
  }
  EXPECT_EQ(busy, microseconds(6));
  EXPECT_EQ(bytes, 2 * one_message);
}

TEST(Timeline, SummaryKeepsTheSameUsageWithoutSteps) {
  const Topology topology = make_switch(6, link_of(ten, microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::all_to_all, 6, 60'000, "direct");
  const Simulation full = recorded(topology, schedule);
  const Simulation summary = simulate(topology, schedule, {}, {.recording = Recording::summary});
  EXPECT_FALSE(summary.timeline);
  EXPECT_EQ(summary.fingerprint, full.fingerprint);
  for (std::size_t rank = 0; rank < 6; ++rank)
    EXPECT_EQ(summary.ranks[rank].waiting_for_messages, full.ranks[rank].waiting_for_messages);
  for (std::size_t link = 0; link < full.links.size(); ++link)
    EXPECT_EQ(summary.links[link].busy, full.links[link].busy);
}

TEST(Timeline, RecordingChangesNothing) {
  for (const Algorithm& algorithm : algorithms()) {
    const Topology topology = make_switch(8, link_of(ten, microseconds(1), microseconds(1)));
    const Schedule schedule =
        byte_schedule(algorithm.operation, 8, 80'000, std::string(algorithm.name), 2);
    const Simulation plain = simulate(topology, schedule);
    const Simulation full = recorded(topology, schedule);
    EXPECT_EQ(full.fingerprint, plain.fingerprint) << algorithm.name;
    EXPECT_EQ(full.timeline->steps.size(), plain.instructions) << algorithm.name;
  }
}

TEST(CriticalPath, NamesEveryPartOfAPipelinedReduce) {
  const Topology topology = make_chain(3, link_of(ten, microseconds(2), microseconds(5)));
  CostModel costs;
  costs.reduce_bandwidth = Bandwidth(5'000'000'000);  // 2 us per message
  costs.launch = microseconds(4);
  const Schedule schedule = byte_schedule(Operation::reduce, 3, one_message, "chain");
  const Simulation simulation = recorded(topology, schedule, costs);
  const CriticalPath path = critical_path(topology, schedule, simulation);
  expect_seamless(path, simulation.time);
  EXPECT_EQ(path.total(Kind::start), microseconds(4));
  EXPECT_EQ(path.total(Kind::startup), microseconds(4));
  EXPECT_EQ(path.total(Kind::wire), microseconds(1));
  EXPECT_EQ(path.total(Kind::hop), microseconds(1));
  EXPECT_EQ(path.total(Kind::flight), microseconds(10));
  EXPECT_EQ(path.total(Kind::work), microseconds(4));
  EXPECT_EQ(simulation.time, microseconds(24));
}

TEST(CriticalPath, FollowsTheQueueBackToWhoHeldTheLink) {
  const Topology topology = make_switch(9, link_of(ten, microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::gather, 9, 9 * one_message, "flat");
  const Simulation simulation = recorded(topology, schedule);
  const CriticalPath path = critical_path(topology, schedule, simulation);
  expect_seamless(path, simulation.time);
  EXPECT_EQ(simulation.time, microseconds(16));
  EXPECT_EQ(path.total(Kind::queue), Time{});
  EXPECT_EQ(path.total(Kind::wire), microseconds(8));
  EXPECT_EQ(path.total(Kind::startup), microseconds(8));
}

TEST(CriticalPath, SaysWhatSharingCosts) {
  const Topology topology = make_switch(5, link_of(ten, {}, {}, Sharing::fair));
  const Schedule schedule = byte_schedule(Operation::gather, 5, 5 * one_message, "flat");
  const Simulation simulation = recorded(topology, schedule);
  const CriticalPath path = critical_path(topology, schedule, simulation);
  expect_seamless(path, simulation.time);
  EXPECT_EQ(path.total(Kind::wire), microseconds(1));
  EXPECT_EQ(path.total(Kind::sharing), microseconds(3));
}

TEST(CriticalPath, ALateRankIsTheReason) {
  const Topology topology = make_ring(8, link_of(ten, microseconds(1)));
  const Schedule schedule = byte_schedule(Operation::all_reduce, 8, 8 * one_message, "ring");
  SimulationOptions options;
  options.late = {{Rank(3), milliseconds(5)}};
  const Simulation simulation = recorded(topology, schedule, {}, options);
  const CriticalPath path = critical_path(topology, schedule, simulation);
  expect_seamless(path, simulation.time);
  EXPECT_EQ(path.total(Kind::start), milliseconds(5));
  EXPECT_EQ(simulation.timeline->steps[path.segments.front().step].rank, Rank(3));
}

TEST(CriticalPath, IsSeamlessForEveryAlgorithmOnEveryKindOfLink) {
  int paths = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const Sharing sharing : {Sharing::exclusive, Sharing::fair}) {
      for (const Topology& topology :
           {make_ring(8, link_of(ten, microseconds(1), microseconds(1), sharing)),
            make_switch(8, link_of(ten, microseconds(1), microseconds(1), sharing))}) {
        AlgorithmChoice choice;
        choice.name = algorithm.name;
        choice.chunks = 3;
        choice.slots = 4;
        const Schedule schedule =
            make_schedule(byte_collective(algorithm.operation, 8, 100'003), choice);
        CostModel costs;
        costs.copy_bandwidth = gigabytes_per_second(100);
        costs.instruction_overhead = nanoseconds(100);
        const Simulation simulation = recorded(topology, schedule, costs);
        SCOPED_TRACE(std::string(algorithm.name) + " on a " + topology.shape());
        expect_seamless(critical_path(topology, schedule, simulation), simulation.time);
        ++paths;
      }
    }
  }
  EXPECT_GT(paths, 150);
}

TEST(CriticalPath, ALateRankWithoutInstructionsIsAllThereIs) {
  Collective collective = byte_collective(Operation::send_recv, 3, one_message);
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = {{0, 1}};
  const Schedule schedule = make_schedule(collective);
  const Topology topology = make_ring(3, link_of(ten));
  SimulationOptions options;
  options.late = {{Rank(2), seconds(1)}};
  const Simulation simulation = recorded(topology, schedule, {}, options);
  const CriticalPath path = critical_path(topology, schedule, simulation);
  expect_seamless(path, seconds(1));
  EXPECT_EQ(path.segments.front().step, Step::none);
}

TEST(Timeline, AnExclusiveLinkIsFreeWhileItsMessageFlowsOn) {
  // 0 and 1 send to 2: each has an exclusive port, the port of 2 is fair and shared.
  TopologyBuilder builder;
  for (int rank = 0; rank < 3; ++rank) builder.add_node(NodeKind::gpu);
  const NodeId hub = builder.add_node(NodeKind::network_switch);
  const LinkId port = builder.connect(NodeId(0), hub, link_of(ten));
  builder.connect(NodeId(1), hub, link_of(ten));
  const LinkId shared = builder.connect(hub, NodeId(2), link_of(ten, {}, {}, Sharing::fair));
  Collective collective = byte_collective(Operation::gather, 3, 3 * one_message);
  collective.root = 2;
  const Simulation simulation =
      recorded(builder.build(), make_schedule(collective, {.name = "flat"}));
  EXPECT_EQ(simulation.time, microseconds(2));
  EXPECT_EQ(simulation.links[port.index()].busy, microseconds(1));
  EXPECT_EQ(simulation.links[shared.index()].busy, microseconds(2));
}

TEST(Timeline, OnFairLinksOnlyTheConnectionItselfHoldsUp) {
  // Rank 1 comes 1 us late; its startup ends just when rank 0's message has left the port.
  const Topology topology = make_switch(3, link_of(ten, microseconds(1), {}, Sharing::fair));
  Collective collective = byte_collective(Operation::gather, 3, 3 * one_message);
  collective.root = 2;
  SimulationOptions options;
  options.late = {{Rank(1), microseconds(1)}};
  const Simulation simulation =
      recorded(topology, make_schedule(collective, {.name = "flat"}), {}, options);
  for (const Step& step : simulation.timeline->steps) EXPECT_EQ(step.queued_behind, Step::none);
  EXPECT_EQ(simulation.time, microseconds(3));
}

// With one rank that hands out everything, the next step of the script waits until all has left.
TEST(CriticalPath, LeadsThroughTheLastMessageThatAStreamWaitedFor) {
  Model model;
  model.layers = {{"", nanoseconds(100), nanoseconds(200), 4000, 0}};
  const Workload workload = make_workload(DataParallel{.inputs = 1200, .outputs = 1200}, model, 3);
  const Topology topology = make_switch(3, {gigabytes_per_second(1), Time{}, nanoseconds(100)});
  SimulationOptions options;
  options.recording = Recording::full;
  const Simulation simulation = simulate(topology, workload, {}, options);
  const CriticalPath path = critical_path(topology, workload, simulation);
  expect_seamless(path, simulation.time);
  EXPECT_EQ(path.total(CriticalPath::Kind::work), nanoseconds(300));
}

}  // namespace
}  // namespace collsim::testing
