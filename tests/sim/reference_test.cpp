// SPDX-License-Identifier: Apache-2.0
//
// The event engine against the reference simulator, which is the model's text and nothing else:
// small cases whose times are reasoned out here, then thousands drawn by lot.
#include "tests/sanitized.hpp"
#include "tests/sim/reference_compare.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <random>
#include <tuple>

#include "tests/sim/random_case.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

// ----- by hand.  1 GB/s is 1 byte per nanosecond.

constexpr Bandwidth one = gigabytes_per_second(1);
constexpr Time ns(std::int64_t n) {
  return nanoseconds(n);
}
Endpoint at(std::size_t rank, std::size_t lane = 0) {
  return {Rank(rank), Lane(lane)};
}
Span data(std::int64_t bytes) {
  return {Buffer::output, 0, bytes};
}

// programs[rank][lane]: what that lane does.
using Instructions = std::vector<Instruction>;
using LaneLists = std::vector<std::vector<Instructions>>;

Program play(Instructions instructions) {
  for (const Instruction& instruction : instructions) co_yield instruction;
}

Schedule written(const LaneLists& programs, std::optional<int> slots = {}) {
  std::size_t lanes = 1;
  for (const auto& of_rank : programs) lanes = std::max(lanes, of_rank.size());
  return handmade(
      programs.size(),
      [programs](int position, Lane lane) {
        const auto& of_rank = programs[static_cast<std::size_t>(position)];
        return lane.index() < of_rank.size() ? play(of_rank[lane.index()]) : play({});
      },
      slots, static_cast<int>(lanes));
}

const Step& step(const Reference& reference, std::size_t rank, std::size_t index,
                 std::size_t lane = 0) {
  for (const Step& found : reference.timeline.steps)
    if (found.rank == Rank(rank) && found.lane == Lane(lane) && found.index == index) return found;
  ADD_FAILURE() << "no step " << index << " of rank " << rank;
  return reference.timeline.steps.front();
}

void expect_message(const Step& sender, Time departed, Time left, Time arrived) {
  EXPECT_EQ(sender.departed, departed);
  EXPECT_EQ(sender.left, left);
  EXPECT_EQ(sender.arrived, arrived);
}

TEST(ReferenceByHand, AWaitingMessageHoldsNothingUpstream) {
  // Rank 1's message to 2 waits in the switch for the port into 2; the one to 3 leaves meanwhile.
  const Reference times =
      compare({make_switch(4, link_of(one)),
               written({{{send(at(2), data(1000))}},
                        {{send(at(2), data(1000)), send(at(3), data(1000))}},
                        {{receive(at(0), data(1000)), receive(at(1), data(1000))}},
                        {{receive(at(1), data(1000))}}})});
  expect_message(step(times, 0, 0), ns(0), ns(1000), ns(1000));
  expect_message(step(times, 1, 0), ns(0), ns(1000), ns(2000));
  expect_message(step(times, 1, 1), ns(1000), ns(2000), ns(2000));
  EXPECT_EQ(step(times, 1, 1).ended, ns(0));
  EXPECT_EQ(times.finished, (std::vector{ns(1000), ns(2000), ns(2000), ns(2000)}));
}

TEST(ReferenceByHand, MessagesOfOneInstantGoInRounds) {
  // Two lanes of 0 and one of 1 have two messages each for 2.  At 0 all first ones ask for the
  // ports out of 0 and 1, then all second ones; and with the second ones those that began at once
  // ask for the port into 2: of lanes 0 and 2.  The others come to it at 1000 (lane 1's first
  // before lane 2's second), 2000 and 3000.
  const auto twice = [](std::size_t lane) {
    return Instructions{send(at(2, lane), data(1000)), send(at(2, lane), data(1000))};
  };
  const auto get_twice = [](std::size_t rank, std::size_t lane) {
    return Instructions{receive(at(rank, lane), data(1000)), receive(at(rank, lane), data(1000))};
  };
  LaneLists programs{{twice(0), twice(1)},
                     {{}, {}, twice(2)},
                     {get_twice(0, 0), get_twice(0, 1), get_twice(1, 2)}};
  const Reference times = compare({make_switch(3, link_of(one)), written(programs)});
  expect_message(step(times, 0, 0, 0), ns(0), ns(1000), ns(1000));
  expect_message(step(times, 1, 0, 2), ns(0), ns(1000), ns(2000));
  expect_message(step(times, 0, 0, 1), ns(1000), ns(2000), ns(3000));
  expect_message(step(times, 1, 1, 2), ns(1000), ns(2000), ns(4000));
  expect_message(step(times, 0, 1, 0), ns(2000), ns(3000), ns(5000));
  expect_message(step(times, 0, 1, 1), ns(3000), ns(4000), ns(6000));
}

TEST(ReferenceByHand, SignalsReceivesAndSlotsAreSettledBeforeARoundBegins) {
  // Rank 0's lane 0 waits for a signal that is given at the same time: its message is in the first
  // round like rank 1's, and before it.
  const Reference times =
      compare({make_switch(3, link_of(one)),
               written({{{wait(at(0, 1)), send(at(2), data(1000))}, {signal(at(0, 0))}},
                        {{send(at(2), data(1000))}},
                        {{receive(at(0), data(1000)), receive(at(1), data(1000))}}})});
  EXPECT_EQ(step(times, 0, 1).arrived, ns(1000));
  EXPECT_EQ(step(times, 1, 0).arrived, ns(2000));
}

TEST(ReferenceByHand, WhoIsWokenByAMessageOfARoundIsInTheNext) {
  // Empty messages take no time.  Rank 0 may send when rank 2's is there, which is sent in the
  // first round, as rank 1's is, and is there in the second: rank 0's is sent in the third, behind
  // it.
  const Reference times =
      compare({make_switch(4, link_of(one)),
               written({{{receive(at(2), data(0)), send(at(3), data(1000))}},
                        {{send(at(3), data(1000))}},
                        {{send(at(0), data(0))}},
                        {{receive(at(0), data(1000)), receive(at(1), data(1000))}}})});
  EXPECT_EQ(step(times, 0, 1).ended, ns(0));
  EXPECT_EQ(step(times, 1, 0).arrived, ns(1000));
  EXPECT_EQ(step(times, 0, 1).arrived, ns(2000));
}

TEST(ReferenceByHand, RoundsGoByRankWhateverTheOrderOfTheGroup) {
  LaneLists programs{{{receive(at(3), data(1000)), receive(at(2), data(1000))}},
                     {{send(at(1), data(1000))}},
                     {{send(at(1), data(1000))}}};
  Schedule::Parts parts;
  parts.collective = byte_collective(Operation::send_recv, 3, 0);
  parts.collective.group = {Rank(1), Rank(3), Rank(2)};
  parts.algorithm = "handmade";
  parts.program = [programs](int position, Lane) {
    return play(programs[static_cast<std::size_t>(position)].front());
  };
  const Reference times = compare({make_switch(4, link_of(one)), Schedule(std::move(parts))});
  EXPECT_EQ(step(times, 2, 0).arrived, ns(1000));
  EXPECT_EQ(step(times, 3, 0).arrived, ns(2000));
}

TEST(ReferenceByHand, FlowsEndBeforeRoundsBegin) {
  // A fair link 0-2 and exclusive ports into 3.  At 1000 rank 0 has rank 2's message, which flowed,
  // and rank 1 starts late: both have a message for 3, rank 0's goes first.
  TopologyBuilder builder;
  std::array<NodeId, 4> gpu{};
  for (NodeId& node : gpu) node = builder.add_node(NodeKind::gpu);
  const NodeId hub = builder.add_node(NodeKind::network_switch);
  builder.connect(gpu[0], gpu[2], link_of(one, {}, {}, Sharing::fair));
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}, std::size_t{3}})
    builder.connect(gpu[rank], hub, link_of(one));
  const Reference times =
      compare({builder.build(),
               written({{{receive(at(2), data(1000)), send(at(3), data(1000))}},
                        {{send(at(3), data(1000))}},
                        {{send(at(0), data(1000))}},
                        {{receive(at(0), data(1000)), receive(at(1), data(1000))}}}),
               {},
               {{Rank(1), ns(1000)}}});
  EXPECT_EQ(step(times, 0, 1).arrived, ns(2000));
  EXPECT_EQ(step(times, 1, 0).arrived, ns(3000));
}

Topology cables(std::size_t ranks, const std::vector<LinkParameters>& chain) {
  TopologyBuilder builder;
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < ranks; ++i) nodes.push_back(builder.add_node(NodeKind::gpu));
  for (std::size_t i = 0; i < chain.size(); ++i) builder.connect(nodes[i], nodes[i + 1], chain[i]);
  return builder.build();
}

TEST(ReferenceByHand, ThreeFlowsOnTwoFairLinks) {
  // 0-1 at 1, 1-2 at 3 bytes/ns.  A: 0 to 2, 1000 bytes.  B: 0 to 1, 500.  C: 1 to 2, 4000.
  //   from    0   A 0.5, B 0.5 (they share 0-1), C 2.5 (what A leaves of 1-2)
  //   from 1000   B has ended; A 1, C 2; left: A 500, C 1500
  //   from 1500   A has ended; C 3; left: C 500, for 166.667 ns
  const auto fair = [](std::int64_t rate) {
    return link_of(gigabytes_per_second(rate), {}, {}, Sharing::fair);
  };
  const Reference times =
      compare({cables(3, {fair(1), fair(3)}),
               written({{{send(at(2), data(1000))}, {send(at(1, 1), data(500))}},
                        {{send(at(2), data(4000))}, {receive(at(0, 1), data(500))}},
                        {{receive(at(0), data(1000)), receive(at(1), data(4000))}}})});
  expect_message(step(times, 0, 0, 1), ns(0), ns(1000), ns(1000));
  expect_message(step(times, 0, 0, 0), ns(0), ns(1500), ns(1500));
  expect_message(step(times, 1, 0, 0), ns(0), picoseconds(1'666'667), picoseconds(1'666'667));
}

TEST(ReferenceByHand, MessagesOfOneFairConnectionDoNotShareWithEachOther) {
  // Two messages on one connection and one on another, 1000 bytes each: half of the link for each
  // connection until 2100, then the whole for the second message.  Its startup of 100 was long
  // over.  (Were the link shared among the three, all would end at 3100.)
  const Reference times = compare(
      {make_chain(2, link_of(one, ns(100), ns(30), Sharing::fair)),
       written({{{send(at(1), data(1000)), send(at(1), data(1000))}, {send(at(1, 1), data(1000))}},
                {{receive(at(0), data(1000)), receive(at(0), data(1000))},
                 {receive(at(0, 1), data(1000))}}})});
  // It departs when it begins to flow: startup occupies nothing.
  expect_message(step(times, 0, 0, 0), ns(100), ns(2100), ns(2130));
  expect_message(step(times, 0, 0, 1), ns(100), ns(2100), ns(2130));
  expect_message(step(times, 0, 1, 0), ns(2100), ns(3100), ns(3130));
}

TEST(ReferenceByHand, AWholePicosecondStaysWholeThroughChangesOfRate) {
  // 3000 bytes into rank 2 and, from 2900 on, 1500 more: 100 and 100 by 3100, then 1400.
  const Reference times =
      compare({make_switch(3, link_of(one, {}, {}, Sharing::fair)),
               written({{{send(at(2), data(3000))}},
                        {{send(at(2), data(1500))}},
                        {{receive(at(0), data(3000)), receive(at(1), data(1500))}}}),
               {},
               {{Rank(1), ns(2900)}}});
  expect_message(step(times, 0, 0), ns(0), ns(3100), ns(3100));
  expect_message(step(times, 1, 0), ns(2900), ns(4500), ns(4500));
}

TEST(ReferenceByHand, MixedRoutesCrossFairLinksLast) {
  // Ports into the switch are exclusive: 2 bytes/ns from 0, 0.25 from 1; the port out to 2 is fair,
  // 1 byte/ns.  Startup 100, flight 20 + 30.
  //   0's first    port from 0 to 600, flows from 20 to 2020 at half the rate
  //   0's second   port from 600 to 1200, flows after the first, from 2020 to 3020
  //   1's          port from 0 to 4100, flows from 20 to 2020, and ends with its last byte at 4120
  TopologyBuilder builder;
  std::array<NodeId, 3> gpu{};
  for (NodeId& node : gpu) node = builder.add_node(NodeKind::gpu);
  const NodeId hub = builder.add_node(NodeKind::network_switch);
  builder.connect(gpu[0], hub, link_of(gigabytes_per_second(2), ns(100), ns(20)));
  builder.connect(gpu[1], hub, link_of(Bandwidth(250'000'000), ns(100), ns(20)));
  builder.connect(hub, gpu[2], link_of(one, {}, ns(30), Sharing::fair));
  const Reference times =
      compare({builder.build(), written({{{send(at(2), data(1000)), send(at(2), data(1000))}},
                                         {{send(at(2), data(1000))}},
                                         {{receive(at(0), data(1000)), receive(at(0), data(1000)),
                                           receive(at(1), data(1000))}}})});
  expect_message(step(times, 0, 0), ns(0), ns(600), ns(2050));
  expect_message(step(times, 0, 1), ns(600), ns(1200), ns(3050));
  expect_message(step(times, 1, 0), ns(0), ns(4100), ns(4150));
}

TEST(ReferenceByHand, LinksInSeriesOverlap) {
  // Three links of 1, 0.5 and 2 bytes/ns, flight 10 each: alone a message takes its largest
  // occupation, 2000, and the flights; the second waits at the slow link and then follows it.
  const Reference times =
      compare({cables(4, {link_of(one, {}, ns(10)), link_of(Bandwidth(500'000'000), {}, ns(10)),
                          link_of(gigabytes_per_second(2), {}, ns(10))}),
               written({{{send(at(3), data(1000)), send(at(3), data(1000))}},
                        {},
                        {},
                        {{receive(at(0), data(1000)), receive(at(0), data(1000))}}})});
  expect_message(step(times, 0, 0), ns(0), ns(1000), ns(2030));
  expect_message(step(times, 0, 1), ns(1000), ns(2000), ns(4030));
}

TEST(ReferenceByHand, HalfDuplexPingPong) {
  // One cable for both directions: they take turns, 50 + 1000 each; flight 300 keeps nobody.
  LinkParameters cable = link_of(one, ns(50), ns(300));
  cable.half_duplex = true;
  const auto both = [](std::size_t other) {
    return Instructions{send(at(other), data(1000)), send(at(other), data(1000)),
                        receive(at(other), data(1000)), receive(at(other), data(1000))};
  };
  const Reference times = compare({make_chain(2, cable), written({{both(1)}, {both(0)}})});
  expect_message(step(times, 0, 0), ns(0), ns(1050), ns(1350));
  expect_message(step(times, 1, 0), ns(1050), ns(2100), ns(2400));
  expect_message(step(times, 0, 1), ns(2100), ns(3150), ns(3450));
  expect_message(step(times, 1, 1), ns(3150), ns(4200), ns(4500));
  EXPECT_EQ(times.finished, (std::vector{ns(4500), ns(4200)}));
}

TEST(ReferenceByHand, ChainWithOneSlot) {
  // 0-1 at 1, 1-2 at 0.5 bytes/ns, flight 200, every instruction 100, one message in a connection.
  //   send   at 0   began    0, 1400 (its receiver has ended), 3800
  //   relay  at 1   began 1300, 3700 (arrived 2700; the slot behind is free at 3700), 6100
  //   end    at 2   began 3600, 6000, 8400; each 100
  const Topology topology =
      cables(3, {link_of(one, {}, ns(200)), link_of(Bandwidth(500'000'000), {}, ns(200))});
  CostModel costs;
  costs.instruction_overhead = ns(100);
  const Instructions sender(3, send(at(1), data(1000)));
  const Instructions relay(3, receive_send(at(0), data(1000), at(2)));
  const Instructions end(3, receive(at(1), data(1000)));
  const Reference times = compare({topology, written({{sender}, {relay}, {end}}, 1), costs});
  const std::array<std::array<std::int64_t, 3>, 3> began{
      {{0, 1400, 3800}, {1300, 3700, 6100}, {3600, 6000, 8400}}};
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t index = 0; index < 3; ++index) {
      EXPECT_EQ(step(times, rank, index).began, ns(began[rank][index])) << rank << " " << index;
      EXPECT_EQ(step(times, rank, index).ended, ns(began[rank][index] + 100));
    }
  expect_message(step(times, 0, 1), ns(1500), ns(2500), ns(2700));
  expect_message(step(times, 1, 1), ns(3800), ns(5800), ns(6000));
  EXPECT_EQ(times.time, ns(8500));
}

TEST(ReferenceByHand, ALateRankStartsAfterTheLaunchAndItsLateness) {
  const auto swap = [](std::size_t other) {
    return Instructions{send(at(other), data(1000)), receive(at(other), data(1000))};
  };
  CostModel costs;
  costs.launch = ns(1000);
  const Reference times = compare({make_chain(3, link_of(one)),
                                   written({{swap(1)}, {swap(0)}, {}}),
                                   costs,
                                   {{Rank(1), ns(5000)}}});
  expect_message(step(times, 0, 0), ns(1000), ns(2000), ns(2000));
  expect_message(step(times, 1, 0), ns(6000), ns(7000), ns(7000));
  EXPECT_EQ(step(times, 1, 1).reached, ns(6000));
  EXPECT_EQ(step(times, 0, 1).ended, ns(7000));
  EXPECT_EQ(times.finished, (std::vector{ns(7000), ns(7000), ns(1000)}));
}

// ----- by lot

struct Seen {
  int cases = 0, deadlocks = 0, shared = 0;
  std::uint64_t steps = 0, rate_changes = 0;

  void add(const Reference& reference) {
    ++cases;
    deadlocks += reference.deadlock ? 1 : 0;
    shared += reference.rate_changes > 0 ? 1 : 0;
    steps += reference.timeline.steps.size();
    rate_changes += reference.rate_changes;
  }
  void print() const {
    std::printf(
        "%d cases, %llu steps; %d with flows that share (%llu changes of rate), %d deadlocks\n",
        cases, static_cast<unsigned long long>(steps), shared,
        static_cast<unsigned long long>(rate_changes), deadlocks);
  }
};

Seen compare_collectives(const RandomCase::Odds& odds, std::uint64_t first_seed, int cases) {
  Seen seen;
  for (std::uint64_t seed = first_seed; seen.cases < random_cases(cases); ++seed) {
    RandomCase random(seed, odds);
    const Topology topology = random.topology();
    const Schedule schedule = random.schedule(topology.rank_count());
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " +
                 std::string(to_string(schedule.collective().operation)) + " " +
                 schedule.algorithm() + " on " + topology.shape());
    const CostModel costs = random.costs();
    seen.add(compare({topology, schedule, costs, random.options(topology.rank_count()).late}));
    if (::testing::Test::HasFailure()) break;
  }
  seen.print();
  return seen;
}

// Programs that no algorithm would write, of round numbers, so that much happens at the same time:
// every kind of instruction, several lanes, empty messages, links and instructions that cost
// nothing.  Messages are drawn in an order in which they could be sent one by one, so they match.
class RandomPrograms {
 public:
  explicit RandomPrograms(std::uint64_t seed, int fair) : fair_(fair), random_(seed) {}

  Case draw() {
    ranks_ = 2 + up_to(5);
    const std::size_t lanes = 1 + up_to(3);
    programs_.assign(ranks_, std::vector<Instructions>(lanes));
    const std::size_t count = 1 + up_to(60);
    for (std::size_t i = 0; i < count; ++i) add_something(lanes);
    std::optional<int> slots;
    if (chance(50)) slots = 1 + static_cast<int>(up_to(2));
    Case drawn{topology(), written(programs_, slots)};
    if (chance(30)) drawn.costs.instruction_overhead = ns(100);
    if (chance(30)) drawn.costs.reduce_bandwidth = one;
    if (chance(30)) drawn.costs.copy_bandwidth = gigabytes_per_second(10);
    if (chance(30)) drawn.late.emplace_back(Rank(up_to(ranks_)), ns(1000));
    return drawn;
  }

 private:
  std::size_t up_to(std::size_t limit) { return random_() % limit; }
  bool chance(std::size_t percent) { return up_to(100) < percent; }

  void add_something(std::size_t lanes) {
    const Endpoint a = at(up_to(ranks_), up_to(lanes));
    if (chance(10)) {
      do_(a, chance(50) ? copy(data(1000), data(1000)) : local_reduce(data(2000), data(2000)));
    } else if (chance(15) && lanes > 1) {
      const Endpoint b = a.on(Lane((a.lane.index() + 1 + up_to(lanes - 1)) % lanes));
      do_(a, signal(b));
      do_(b, wait(a));
    } else {
      const Rank other((a.rank.index() + 1 + up_to(ranks_ - 1)) % ranks_);
      add_message(a, {other, Lane(up_to(lanes))});
    }
  }

  void add_message(Endpoint from, Endpoint to) {
    static constexpr std::array<std::int64_t, 5> sizes{0, 1000, 1000, 2000, 1234};
    std::int64_t size = sizes[up_to(sizes.size())];
    Instructions& before = programs_[from.rank.index()][from.lane.index()];
    if (!before.empty() && !sends(before.back().op) && receives(before.back().op) && chance(60)) {
      Instruction& merged = before.back();
      size = merged.count;
      if (merged.op == Op::receive)
        merged = receive_send(merged.from, data(size), to);
      else if (chance(50))
        merged = receive_reduce_send(merged.from, data(size), to);
      else
        merged = receive_reduce_store_send(merged.from, data(size), data(size), to);
    } else {
      do_(from, chance(80) ? send(to, data(size)) : copy_send(data(size), data(size), to));
    }
    do_(to, chance(60) ? receive(from, data(size)) : receive_reduce(from, data(size), data(size)));
  }

  void do_(Endpoint who, const Instruction& instruction) {
    programs_[who.rank.index()][who.lane.index()].push_back(instruction);
  }

  LinkParameters link() {
    LinkParameters link = link_of(gigabytes_per_second(1 + static_cast<std::int64_t>(up_to(3))));
    if (chance(50)) link.bandwidth = one;
    if (chance(40)) link.startup = ns(chance(50) ? 100 : 1000);
    if (chance(30)) link.latency = ns(chance(50) ? 100 : 1000);
    if (chance(fair_)) link.sharing = Sharing::fair;
    if (chance(15)) link.half_duplex = true;
    return link;
  }

  Topology topology() {
    switch (up_to(5)) {
      case 0: return make_chain(ranks_, link());
      case 1: return make_ring(ranks_, link());
      case 2: return make_fully_connected(ranks_, link());
      case 3: return make_switch(ranks_, link());
      default: break;
    }
    // Ports that differ, into two switches joined by one cable.
    TopologyBuilder builder;
    std::vector<NodeId> gpus;
    for (std::size_t i = 0; i < ranks_; ++i) gpus.push_back(builder.add_node(NodeKind::gpu));
    const std::array<NodeId, 2> hubs{builder.add_node(NodeKind::network_switch),
                                     builder.add_node(NodeKind::network_switch)};
    for (const NodeId gpu : gpus) builder.connect(gpu, hubs[up_to(2)], link());
    builder.connect(hubs[0], hubs[1], link());
    return builder.build();
  }

  std::size_t fair_;
  std::mt19937_64 random_;
  std::size_t ranks_ = 2;
  LaneLists programs_;
};

Seen compare_programs(int fair, std::uint64_t first_seed, int cases) {
  Seen seen;
  for (std::uint64_t seed = first_seed; seen.cases < random_cases(cases); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    seen.add(compare(RandomPrograms(seed, fair).draw()));
    if (::testing::Test::HasFailure()) break;
  }
  seen.print();
  return seen;
}

TEST(ReferenceByLot, CollectivesOnExclusiveLinks) {
  const Seen seen = compare_collectives({.largest = 7, .fair = 0, .half_duplex = 15}, 0, 1200);
  EXPECT_EQ(seen.shared, 0);
}

TEST(ReferenceByLot, CollectivesOnFairLinks) {
  const Seen seen =
      compare_collectives({.largest = 7, .fair = 100, .half_duplex = 15}, 100'000, 600);
  EXPECT_GT(seen.shared, random_cases(200));
}

TEST(ReferenceByLot, CollectivesOnMixedLinks) {
  const Seen seen = compare_collectives(
      {.largest = 7, .fair = 50, .half_duplex = 5, .differing = 90}, 200'000, 600);
  EXPECT_GT(seen.shared, random_cases(100));
}

TEST(ReferenceByLot, CollectivesOnLinksWithSegments) {
  const Seen seen = compare_collectives(
      {.largest = 7, .fair = 20, .differing = 80, .segmented = 80}, 700'000, 600);
  EXPECT_GT(seen.steps, random_cases(10'000U));
}

TEST(ReferenceByLot, CollectivesOverSeveralWays) {
  for (const int fair : {0, 100, 50}) {
    RandomCase::Odds odds{.largest = 7, .fair = fair, .differing = fair == 50 ? 90 : 0};
    odds.routed = true;
    const Seen seen =
        compare_collectives(odds, 500'000 + 1000 * static_cast<std::uint64_t>(fair), 400);
    EXPECT_EQ(seen.shared == 0, fair == 0);
  }
}

TEST(ReferenceByLot, ProgramsOnExclusiveLinks) {
  const Seen seen = compare_programs(0, 0, 2000);
  EXPECT_EQ(seen.shared, 0);
}

TEST(ReferenceByLot, ProgramsOnFairLinks) {
  const Seen seen = compare_programs(100, 300'000, 1000);
  EXPECT_GT(seen.shared, random_cases(300));
}

TEST(ReferenceByLot, ProgramsOnMixedLinks) {
  const Seen seen = compare_programs(50, 400'000, 1000);
  EXPECT_GT(seen.shared, random_cases(200));
}

}  // namespace
}  // namespace collsim::testing
