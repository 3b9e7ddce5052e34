// SPDX-License-Identifier: Apache-2.0
//
// What must hold whatever is simulated is checked while it is simulated; and no engine overlooks a
// way in which links are shared.
#include <gtest/gtest.h>

#include <array>

#include "sim/lane_machine.hpp"
#include "tests/sim/testing.hpp"

namespace collsim {
namespace {

using testing::handmade;
using testing::link_of;
using testing::ten;

// Two lanes and one connection of this latency, which should not be negative.
struct OneConnection {
  static constexpr bool arrivals_are_known = true;

  Connection* connect(LaneNumber lane, Endpoint, Direction direction) {
    if (connection == nullptr) {
      const LaneNumber other = 1 - lane;
      connection = direction == Direction::out ? &lanes.connections.open(lane, other)
                                               : &lanes.connections.open(other, lane);
      connection->path.kinds = Path::exclusive;
      connection->path.latency = latency;
    }
    return connection;
  }
  static void set_duration(Connection& of, Bytes bytes) {
    of.path.set_duration(bytes, Path::unlimited);
  }
  static void release(Connection&, Direction) {}
  static bool may_post(LaneNumber, const Connection&, const InstructionTimes&) { return true; }
  void post(Connection&, Slot& slot, Time ready) const { slot.time = ready + latency; }
  void wake(LaneNumber lane) { lanes.runnable.push_back(lane); }
  void wake_receiver(const Connection& connection) { wake(connection.target); }
  static Time all_left(LaneNumber) { return {}; }
  static Time end_of_work(LaneNumber, Time began, Time duration) { return began + duration; }
  static void note_call(LaneNumber, bool, Time) {}

  Lanes& lanes;
  Time latency{};
  Connection* connection = nullptr;
};

const Endpoint first{Rank(0), Lane(0)};
const Endpoint second{Rank(1), Lane(0)};

Program one_message(int position) {
  const Span nothing{Buffer::input, 0, 0};
  if (position == 0)
    co_yield send(second, nothing);
  else
    co_yield receive(first, nothing);
}

Schedule one_message_schedule() {
  return handmade(2, [](int position, Lane) { return one_message(position); });
}

Time run(const CostModel& costs, Time latency) {
  const Schedule schedule = one_message_schedule();
  Lanes lanes(schedule, costs, 2);
  OneConnection network{lanes, latency};
  NoRecorder recorder;
  LaneMachine<OneConnection, NoRecorder> machine(lanes, network, recorder);
  lanes.wake_all();
  while (!lanes.runnable.empty()) machine.run(lanes.next_runnable());
  EXPECT_TRUE(lanes.all_finished());
  return lanes.result(Engine::dataflow, 1).time;
}

TEST(Invariants, HoldInAnHonestNetwork) {
  EXPECT_EQ(run({.instruction_overhead = Time(2)}, Time(5)), Time(2 + 5 + 2));
}

TEST(InvariantsDeathTest, NoMessageArrivesBeforeItIsSent) {
  EXPECT_DEATH(run({}, Time(-1)), "a message would arrive before it is sent");
}

TEST(InvariantsDeathTest, NoClockGoesBack) {
  EXPECT_DEATH(run({.instruction_overhead = Time(-1)}, Time{}), "would end before it begins");
}

TEST(InvariantsDeathTest, NoMessageIsForgotten) {
  ConnectionTable table(std::nullopt);
  Connection& connection = table.open(0, 1);
  ++connection.queue.sent;
  EXPECT_DEATH(table.close(connection), "a connection with messages cannot be closed");
}

// A new way of sharing does not compile here until it is listed.
constexpr std::array all_sharing{Sharing::exclusive, Sharing::fair};
constexpr bool is_listed(Sharing sharing) {
  switch (sharing) {
    case Sharing::exclusive:
    case Sharing::fair: return true;
  }
  return false;
}

TEST(Sharing, IsKnownToEveryEngine) {
  constexpr std::size_t ranks = 6;
  const Schedule schedule = testing::byte_schedule(Operation::all_reduce, ranks, 60'000, "ring", 2);
  for (const Sharing sharing : all_sharing) {
    ASSERT_TRUE(is_listed(sharing));
    const Topology ring =
        make_ring(ranks, link_of(ten, nanoseconds(300), nanoseconds(700), sharing));
    const auto by = [&](Engine engine) {
      return simulate(ring, schedule, {}, {.engine = engine}).fingerprint;
    };
    EXPECT_EQ(by(Engine::dataflow), by(Engine::event));
    EXPECT_EQ(by(Engine::symmetry), by(Engine::event));
  }
}

}  // namespace
}  // namespace collsim
