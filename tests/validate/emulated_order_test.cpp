// SPDX-License-Identifier: Apache-2.0
// On the emulated machine every step of a paced run begins and ends, and every message arrives,
// when the simulator says, to the nanosecond: in whatever order real threads come, however late.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/execute.hpp"
#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "tests/collectives/collective_of.hpp"
#include "topo/shapes.hpp"
#include "validate/host/host_machine.hpp"
#include "validate/pacing.hpp"
#include "validate/plan.hpp"

namespace collsim {
namespace {

// A thread that now and then dozes off before a step, for longer than messages take.
class SleepyPolicy : public HostPolicy {
 public:
  using HostPolicy::HostPolicy;
  void begins(std::uint32_t step) {
    state_ = state_ * 6364136223846793005U + reinterpret_cast<std::uintptr_t>(this) + step;
    if ((state_ >> 60U) < 3)
      std::this_thread::sleep_for(std::chrono::microseconds((state_ >> 40U) % 400));
  }

 private:
  std::uint64_t state_ = 1;
};

std::string text_of(const Step& step) {
  std::string text = "rank " + std::to_string(step.rank.index()) + " lane " +
                     std::to_string(step.lane.index()) + " step " + std::to_string(step.index);
  for (const Time time :
       {step.reached, step.began, step.ended, step.departed, step.left, step.arrived})
    text += " " + std::to_string(time.ps() / 1000);
  return text;
}

// The first step whose times differ; empty: none does.
std::string difference_of(const Timeline& simulated, const Timeline& measured) {
  if (simulated.steps.size() != measured.steps.size()) return "the number of steps";
  for (std::size_t i = 0; i < simulated.steps.size(); ++i) {
    const std::string one = text_of(simulated.steps[i]), other = text_of(measured.steps[i]);
    if (one != other) return one + " simulated, " + other + " measured";
  }
  return "";
}

template <class Programs>
std::string difference_of(const EmulatedMachine& machine, const Programs& programs,
                          const Plan& plan, bool has_inputs) {
  SimulationOptions how;
  how.late = machine.late;
  how.recording = Recording::full;
  const Simulation simulation = simulate(machine.topology, programs, machine.costs, how);
  const Pacing pacing = make_pacing(plan, machine);
  HostOptions options;
  options.pacing = &pacing;
  options.waiting = Waiting::sleep;
  options.patience_s = 20;
  options.record = true;
  HostMachine real(plan, options);
  if (has_inputs) real.fill(make_test_inputs(plan.schedule->collective(), 1));
  for (int run = 0; run < 3; ++run) {
    if (!real.run<SleepyPolicy>(1)) return real.trouble();
    std::string difference = difference_of(*simulation.timeline, real.timeline());
    if (!difference.empty()) return difference;
  }
  return "";
}

struct OrderCase {
  const char* name;
  Topology topology;
  Operation operation;
  const char* algorithm;
  int ranks;
  AlgorithmChoice choice = {};
  CostModel costs = {};
  std::vector<std::pair<Rank, Time>> late = {};
  Protocol protocol = Protocol::simple;
};

std::string difference_of(const OrderCase& one) {
  AlgorithmChoice choice = one.choice;
  choice.name = one.algorithm;
  const Schedule schedule = make_schedule(collective_of(one.operation, one.ranks, 10'007), choice);
  const Plan plan = make_plan(schedule, one.protocol);
  return difference_of({one.topology, one.costs, one.late}, schedule, plan, true);
}

LinkParameters link_of(Time startup, Time latency) {
  LinkParameters link{Bandwidth(313'000'000)};
  link.startup = startup;
  link.latency = latency;
  return link;
}

const LinkParameters usual = link_of(microseconds(5), microseconds(2));
const LinkParameters ideal = link_of({}, {});

CostModel costly() {
  CostModel costs;
  costs.instruction_overhead = picoseconds(1'700'300);
  costs.reduce_bandwidth = Bandwidth(1'000'000'000);
  costs.copy_bandwidth = Bandwidth(3'000'000'000);
  costs.second_write_bandwidth = Bandwidth(7'000'000'000);
  costs.local_bandwidth = Bandwidth(2'000'000'000);
  costs.launch = microseconds(3);
  return costs;
}

std::vector<OrderCase> all_reduces() {
  LinkParameters half = usual, fair = usual;
  half.half_duplex = true;
  fair.sharing = Sharing::fair;
  constexpr Operation op = Operation::all_reduce;
  return {
      {"two trees on a ring", make_ring(4, usual), op, "double-tree", 4, {.chunks = 4}},
      {"two trees on an ideal ring", make_ring(5, ideal), op, "double-tree", 5, {.chunks = 3}},
      {"two trees at a switch",
       make_switch(6, usual),
       op,
       "double-tree",
       6,
       {.chunks = 4, .slots = 1}},
      {"two trees on a mesh",
       make_mesh({2, 3}, usual),
       op,
       "double-tree",
       6,
       {.chunks = 2},
       costly()},
      {"all at once on a chain", make_chain(5, usual), op, "one-shot", 5},
      {"all at once on an ideal chain", make_chain(5, ideal), op, "one-shot", 5},
      {"all at once over half-duplex cables", make_chain(4, half), op, "two-shot", 4},
      {"doubling in a fat tree",
       make_fat_tree(4, usual),
       op,
       "recursive-doubling",
       6,
       {.slots = 1},
       costly()},
      {"a ring of fair links", make_ring(4, fair), op, "ring", 4, {.chunks = 3, .slots = 4}},
  };
}

std::vector<OrderCase> all_to_alls() {
  const NodesShape nodes{.nodes = 2,
                         .gpus_per_node = 3,
                         .nics_per_node = 1,
                         .intra = NodesShape::Intra::network_switch,
                         .intra_dims = {},
                         .intra_link = usual,
                         .inter_link = link_of(microseconds(9), microseconds(1))};
  constexpr Operation op = Operation::all_to_all;
  return {
      {"direct at a switch", make_switch(5, usual), op, "direct", 5},
      {"direct at an ideal switch", make_switch(5, ideal), op, "direct", 5, {.channels = 2}},
      {"pairwise on a torus, one late",
       make_torus({3, 2}, usual),
       op,
       "pairwise",
       6,
       {},
       {},
       {{Rank(1), microseconds(40)}}},
      {"Bruck on a ring, ll", make_ring(6, usual), op, "bruck", 6, {}, {}, {}, Protocol::ll},
      {"direct all-gather between nodes",
       make_nodes(nodes),
       Operation::all_gather,
       "direct",
       6,
       {.channels = 2}},
  };
}

TEST(EmulatedOrder, StepsTakePlaceWhenTheSimulationSays) {
  for (const auto& cases : {all_reduces(), all_to_alls()})
    for (const OrderCase& one : cases) EXPECT_EQ(difference_of(one), "") << one.name;
}

class CountingPolicy : public HostPolicy {
 public:
  using HostPolicy::HostPolicy;
  void sleep_until(std::uint64_t time) const {
    ++sleeps;
    HostPolicy::sleep_until(time);
  }
  static inline std::atomic<std::size_t> sleeps{0};
};

// What no other lane sees is done ahead: on two cores, the work of all ranks at one moment of the
// emulated machine would come late.
TEST(EmulatedOrder, LanesSleepOnlyBeforeTheySend) {
  const Schedule schedule = make_schedule(collective_of(Operation::all_to_all, 4, 64), {"bruck"});
  const Plan plan = make_plan(schedule, Protocol::simple);
  const Pacing pacing = make_pacing(plan, {make_ring(4, usual), {}, {}});
  HostOptions options;
  options.pacing = &pacing;
  options.waiting = Waiting::sleep;
  HostMachine machine(plan, options);
  machine.fill(make_test_inputs(schedule.collective(), 1));
  CountingPolicy::sleeps = 0;
  ASSERT_TRUE(machine.run<CountingPolicy>(1)) << machine.trouble();
  const auto sends = static_cast<std::size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(),
                    [](const LaneStep& step) { return step.to != no_wire; }));
  EXPECT_LT(sends, plan.steps.size());
  EXPECT_EQ(CountingPolicy::sleeps, 2 * plan.lanes.size() + sends);  // also at start and end
}

TEST(EmulatedOrder, RanksOutOfOrderAreServedByRank) {
  Collective collective = collective_of(Operation::all_reduce, 4, 4099);
  collective.group = {Rank(2), Rank(0), Rank(3), Rank(1)};
  for (const char* const algorithm : {"one-shot", "double-tree"}) {
    const Schedule schedule = make_schedule(collective, {.name = algorithm, .chunks = 2});
    const EmulatedMachine machine{make_chain(4, link_of({}, microseconds(1))), {}, {}};
    EXPECT_EQ(difference_of(machine, schedule, make_plan(schedule, Protocol::simple), true), "")
        << algorithm;
  }
}

TEST(EmulatedOrder, StepsOfTrainingToo) {
  Model model;
  model.optimizer = microseconds(20);
  for (int i = 0; i < 3; ++i)
    model.layers.push_back({"", picoseconds(50'000'400), microseconds(100), 65'536, 8192});
  const LinkParameters link = link_of(microseconds(5), microseconds(1));
  const Workload ddp = make_workload(Ddp{.bucket = 65'536, .first_bucket = 65'536}, model, 4);
  EXPECT_EQ(
      difference_of({make_ring(4, link), {}, {}}, ddp, make_plan(ddp, Protocol::simple), false),
      "");
  const Workload pipeline = make_workload(
      Train{
          .tp = 1, .pp = 3, .dp = 1, .microbatches = 4, .schedule = PipelineSchedule::one_f_one_b},
      model);
  EXPECT_EQ(difference_of({make_switch(3, link), {}, {}}, pipeline,
                          make_plan(pipeline, Protocol::simple), false),
            "");
}

}  // namespace
}  // namespace collsim
