// SPDX-License-Identifier: Apache-2.0
//
// The oracles of programs that are written by hand: messages, several collectives, time-outs.
#include <functional>

#include "tests/sim/program_oracle.hpp"

namespace collsim::testing {
namespace {

Workload workload_of(int ranks, std::vector<std::string> streams,
                     std::vector<Communicator> communicators, std::function<Script(Rank)> script) {
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = std::move(streams);
  parts.communicators = std::move(communicators);
  parts.script = std::move(script);
  return Workload(std::move(parts));
}

Call call_of(Operation operation, Bytes bytes, const AlgorithmChoice& choice) {
  Call call;
  call.operation = operation;
  call.count = bytes / 4;
  call.choice = &choice;
  return call;
}

// 0 -> 1 -> 2; a send blocks until its message has left.
Script blocking_relay(Rank rank, Bytes bytes, Time work_of_rank) {
  co_yield work(0, work_of_rank);
  if (rank.index() == 1 || rank.index() == 2) co_yield receive(0, Rank(rank.index() - 1), bytes, 0);
  if (rank.index() <= 1) co_yield send(0, Rank(rank.index() + 1), bytes, 0);
  co_yield drain(0);
}

TEST(HandPrograms, ARelay) {
  const ProgramOracle& oracle = program_oracle("relay_blocking");
  const Workload relay = workload_of(
      4, {"main"}, {}, [&](Rank rank) { return blocking_relay(rank, oracle.number("n"), Time{}); });
  expect_takes(oracle, oracle.on_switch(4), relay, oracle.expected());
}

// Messages go on streams of their own while the ranks do something else; rank 1 once more behind
// its own message.
Script posted_relay(Rank rank, Bytes bytes, std::vector<std::int64_t> works) {
  enum : std::uint8_t { main, network };
  const std::size_t me = rank.index();
  const std::vector<std::int64_t> work_of_rank{works[0], works[1], works[3], 0};
  if (me == 1 || me == 2) {
    co_yield receive(network, Rank(me - 1), bytes, network);
    co_yield record(network, main);
  }
  if (me == 0) co_yield send(network, Rank(1), bytes, network);
  co_yield work(main, Time(work_of_rank[me]));
  if (me == 1 || me == 2) co_yield wait(main, network);
  if (me != 1) co_return;
  co_yield record(main, network);
  co_yield wait(network, main);
  co_yield send(network, Rank(2), bytes, network);
  co_yield work(main, Time(works[2]));
}

TEST(HandPrograms, ARelayBehindOtherWork) {
  const ProgramOracle& oracle = program_oracle("relay_nonblocking_with_other_work");
  const Workload relay = workload_of(4, {"main", "network"}, {}, [&](Rank rank) {
    return posted_relay(rank, oracle.number("n"), oracle.list("works_ps"));
  });
  expect_takes(oracle, oracle.on_switch(4), relay, oracle.expected());
}

Script relay_of_many(Rank rank, std::int64_t hops, std::int64_t messages, Bytes bytes) {
  const auto me = static_cast<std::int64_t>(rank.index());
  for (std::int64_t i = 0; i < messages; ++i) {
    if (me > 0) co_yield receive(0, Rank(rank.index() - 1), bytes, 0);
    if (me < hops) co_yield send(0, Rank(rank.index() + 1), bytes, 0);
  }
}

TEST(HandPrograms, ARelayOfManyMessages) {
  const ProgramOracle& oracle = program_oracle("relay_chain_of_messages");
  const auto hops = oracle.number("hops");
  const Workload relay = workload_of(static_cast<int>(hops) + 1, {"main"}, {}, [&](Rank rank) {
    return relay_of_many(rank, hops, oracle.number("messages"), oracle.number("n"));
  });
  expect_takes(oracle, make_chain(static_cast<std::size_t>(hops) + 1, oracle.link()), relay,
               oracle.expected());
}

Script exchange_of_two(Rank rank, Bytes bytes) {
  const Rank other(1 - rank.index());
  co_yield send(0, other, bytes, 0);
  co_yield receive(0, other, bytes, 0);
}

TEST(HandPrograms, AnExchange) {
  const ProgramOracle& oracle = program_oracle("exchange_full_duplex");
  const Workload exchange = workload_of(
      2, {"main"}, {}, [&](Rank rank) { return exchange_of_two(rank, oracle.number("n")); });
  expect_takes(oracle, make_chain(2, oracle.link()), exchange, oracle.expected());
}

Script sleep_and_meet(Rank rank, const AlgorithmChoice* choice) {
  co_yield work(0, Time(static_cast<std::int64_t>(rank.index()) * 1'000'000'000'000));
  co_yield collective(0, 0, call_of(Operation::barrier, 0, *choice));
}

TEST(HandPrograms, ABarrierAfterSleeping) {
  const ProgramOracle& oracle = program_oracle("barrier_sleep_K3");
  const AlgorithmChoice dissemination{.name = "dissemination"};
  const Workload barrier =
      workload_of(3, {"main"}, {{"world", {first_ranks(3)}, 1}},
                  [&](Rank rank) { return sleep_and_meet(rank, &dissemination); });
  expect_takes(oracle, oracle.on_switch(3), barrier, oracle.expected());
}

Simulation all_reduce_on_switch(const ProgramOracle& oracle, Bytes bytes, const char* algorithm) {
  Collective collective;
  collective.group = first_ranks(static_cast<std::size_t>(oracle.ranks()));
  collective.count = bytes / 4;
  AlgorithmChoice choice;
  choice.name = algorithm;
  return simulate(oracle.on_switch(oracle.ranks()), make_schedule(collective, choice));
}

TEST(HandPrograms, ThreeWaysToAllReduce) {
  const ProgramOracle& oracle = program_oracle("naive_master_ring_K8");
  const json& others = oracle.entry["expected_other"];
  const Bytes bytes = oracle.number("n");
  EXPECT_EQ(all_reduce_on_switch(oracle, bytes, "ring").time, oracle.expected());
  const Simulation naive = all_reduce_on_switch(oracle, bytes, "naive");
  EXPECT_EQ(naive.time.ps(), others["naive_ps"]);
  EXPECT_EQ(naive.messages, others["naive_messages"]);
  EXPECT_EQ(naive.wire_bytes, others["naive_wire_bytes"]);
  EXPECT_EQ(all_reduce_on_switch(oracle, bytes, "master").time.ps(), others["master_ps"]);
}

TEST(HandPrograms, WhereTheRingOvertakesRecursiveDoubling) {
  const ProgramOracle& oracle = program_oracle("crossover_ring_recursive_doubling_K8");
  const auto bytes =
      static_cast<Bytes>(oracle.entry["expected_other"]["crossover_bytes"].get<double>());
  const auto time = [&](Bytes size, const char* algorithm) {
    return all_reduce_on_switch(oracle, size, algorithm).time;
  };
  EXPECT_EQ(time(bytes, "ring"), time(bytes, "recursive-doubling"));
  EXPECT_GT(time(bytes - 3200, "ring"), time(bytes - 3200, "recursive-doubling"));
  EXPECT_LT(time(bytes + 3200, "ring"), time(bytes + 3200, "recursive-doubling"));
}

TEST(HandPrograms, VolumeOfDdpAndOfAShardedOptimizer) {
  const ProgramOracle& oracle = program_oracle("volume_ddp_or_zero1_or_zero2");
  Model model;
  model.layers.push_back({"", Time{}, Time{}, oracle.number("model_bytes"), 0});
  for (const bool sharded : {false, true}) {
    Ddp ddp;
    ddp.sharded_optimizer = sharded;
    const Workload workload = make_workload(ddp, model, oracle.ranks());
    const Simulation simulation = simulate(oracle.on_switch(oracle.ranks()), workload);
    const json& others = oracle.entry["expected_other"];
    EXPECT_EQ(simulation.wire_bytes, others["wire_bytes"]);
    EXPECT_EQ(simulation.wire_bytes / oracle.ranks(), others["bytes_sent_per_rank"]);
  }
}

// A rank that has waited longer than the time-out gives up.
TEST(HandPrograms, WhoTimesOutAndWhen) {
  const AlgorithmChoice dissemination{.name = "dissemination"};
  const Workload barrier =
      workload_of(3, {"main"}, {{"world", {first_ranks(3)}, 1}},
                  [&](Rank rank) { return sleep_and_meet(rank, &dissemination); });
  SimulationOptions options;
  options.recording = Recording::summary;
  options.timeout = from_seconds(1.5);
  const ProgramOracle& oracle = program_oracle("barrier_sleep_K3");
  const Simulation simulation = simulate(oracle.on_switch(3), barrier, {}, options);
  EXPECT_EQ(simulation.activities[0].gives_up, from_seconds(1.5));
  EXPECT_EQ(simulation.activities[1].gives_up, Time::never());
  EXPECT_EQ(simulation.activities[0].longest_call, oracle.expected());
}

Script all_meet(const AlgorithmChoice* choice) {
  co_yield collective(0, 0, call_of(Operation::all_reduce, 4096, *choice));
}

TEST(HandPrograms, ALateRankAndTheDefaultTimeOut) {
  const ProgramOracle& oracle = program_oracle("timeout_nccl_default");
  const AlgorithmChoice ring{.name = "ring"};
  const Workload workload = workload_of(8, {"main"}, {{"world", {first_ranks(8)}, 1}},
                                        [&](Rank) { return all_meet(&ring); });
  SimulationOptions options;
  options.recording = Recording::summary;
  options.late = {{Rank(3), from_seconds(static_cast<double>(oracle.number("late_s")))}};
  options.timeout = from_seconds(static_cast<double>(oracle.number("timeout_s")));
  const LinkParameters fast{Bandwidth(100'000'000'000)};
  const Simulation simulation = simulate(make_switch(8, fast), workload, {}, options);
  EXPECT_EQ(simulation.activities[0].gives_up, oracle.expected());
  EXPECT_EQ(simulation.activities[3].gives_up, Time::never());
  const Time least = simulation.activities[0].longest_call;
  EXPECT_NEAR(least.seconds(), 700, 1e-6);
}

// An exception takes rank 2 away before its third all-reduce, so the others wait for ever.
Script three_meetings(Rank rank, const AlgorithmChoice* choice) {
  for (int meeting = 1; meeting <= 3; ++meeting) {
    if (rank == Rank(2) && meeting == 3) co_return;
    co_yield work(0, from_seconds(static_cast<double>(rank.index() + 1)));
    co_yield collective(0, 0, call_of(Operation::all_reduce, 4096, *choice));
  }
}

TEST(HandPrograms, WhoGivesUpOnARankThatIsGone) {
  const ProgramOracle& oracle = program_oracle("missing_rank");
  const AlgorithmChoice ring{.name = "ring"};
  const Workload workload = workload_of(4, {"main"}, {{"world", {first_ranks(4)}, 1}},
                                        [&](Rank rank) { return three_meetings(rank, &ring); });
  const Topology network = make_switch(4, {Bandwidth(25'000'000'000)});
  EXPECT_THROW(static_cast<void>(simulate(network, workload)), Error);
  SimulationOptions options;
  options.recording = Recording::activities;
  options.timeout = from_seconds(600);
  options.may_hang = true;
  EXPECT_NE(oracle.entry["expected_text"].get<std::string>().find("ranks 0, 1, 3 abort at"),
            std::string::npos);
  for (const Engine engine : {Engine::dataflow, Engine::event}) {
    options.engine = engine;
    const Simulation run = simulate(network, workload, {}, options);
    EXPECT_TRUE(run.hangs);
    EXPECT_EQ(run.activities[2].gives_up, Time::never());
    for (const std::size_t rank : {0U, 1U, 3U}) {
      // All leave the second all-reduce after twice the slowest rank's work, but for its messages.
      const double arrival = 2 * 4 + static_cast<double>(rank + 1);
      EXPECT_NEAR(run.activities[rank].gives_up.seconds(), arrival + 600, 1e-3) << rank;
    }
  }
}

Script two_all_reduces(Bytes bytes, const AlgorithmChoice* choice) {
  co_yield collective(0, 0, call_of(Operation::all_reduce, bytes, *choice));
  co_yield collective(0, 0, call_of(Operation::all_reduce, bytes, *choice));
}

TEST(HandPrograms, Softmax) {
  const AlgorithmChoice doubling{.name = "recursive-doubling"};
  const AlgorithmChoice ring{.name = "ring"};
  for (const std::string& name : names_of("softmax")) {
    const ProgramOracle& oracle = program_oracle(name);
    const AlgorithmChoice& choice = oracle.has("algorithm") ? doubling : ring;
    const Bytes bytes = oracle.number(oracle.has("n") ? "n" : "bytes_each");
    const std::vector<Communicator> world{
        {"world", {first_ranks(static_cast<std::size_t>(oracle.ranks()))}, 1}};
    const Workload softmax = workload_of(oracle.ranks(), {"main"}, world,
                                         [&](Rank) { return two_all_reduces(bytes, &choice); });
    expect_takes(oracle, oracle.on_switch(oracle.ranks()), softmax, oracle.expected());
  }
}

// Both halves sum a vector of their own, then all take the maximum of both.
Script halves_then_all(Rank rank, std::vector<std::int64_t> bytes, const AlgorithmChoice* ring) {
  const int half = rank.index() < 2 ? 0 : 1;
  co_yield collective(0, 0, call_of(Operation::all_reduce, bytes[half == 0 ? 0 : 1], *ring));
  co_yield collective(0, 1, call_of(Operation::all_reduce, bytes[0], *ring));
  co_yield collective(0, 1, call_of(Operation::all_reduce, bytes[1], *ring));
}

TEST(HandPrograms, TwoHalvesThenAll) {
  const ProgramOracle& oracle = program_oracle("two_halves_then_all");
  const AlgorithmChoice ring{.name = "ring"};
  const Workload workload = workload_of(
      4, {"main"},
      {{"half", {{Rank(0), Rank(1)}, {Rank(2), Rank(3)}}, 1}, {"world", {first_ranks(4)}, 1}},
      [&](Rank rank) { return halves_then_all(rank, oracle.list("bytes"), &ring); });
  expect_takes(oracle, oracle.on_switch(4), workload, oracle.expected());
}

Script steps_with_a_straggler(Rank rank, const ProgramOracle* oracle, const AlgorithmChoice* ring) {
  const bool slow = static_cast<std::int64_t>(rank.index()) == oracle->number("slow_rank");
  for (std::int64_t step = 0; step < oracle->number("steps"); ++step) {
    co_yield work(0, oracle->time(slow ? "slow_work_ps" : "work_ps"));
    co_yield collective(0, 0, call_of(Operation::all_reduce, oracle->number("bytes"), *ring));
  }
}

TEST(HandPrograms, ThreeStepsWithAStraggler) {
  const ProgramOracle& oracle = program_oracle("straggler_three_steps");
  const AlgorithmChoice ring{.name = "ring"};
  const Workload workload =
      workload_of(8, {"main"}, {{"world", {first_ranks(8)}, 1}},
                  [&](Rank rank) { return steps_with_a_straggler(rank, &oracle, &ring); });
  expect_takes(oracle, oracle.on_switch(8), workload, oracle.expected());
}

// Two messages over one fair link, on connections of their own.
Script two_flows(Rank rank, std::vector<std::int64_t> bytes) {
  for (int stream = 0; stream < 2; ++stream) {
    const Bytes size = bytes[static_cast<std::size_t>(stream)];
    if (rank == Rank(0)) co_yield send(stream, Rank(1), size, stream);
    if (rank == Rank(1)) co_yield receive(stream, Rank(0), size, stream);
  }
}

TEST(HandPrograms, TwoFlowsOnOneLink) {
  const ProgramOracle& oracle = program_oracle("two_flows_one_link_fair");
  LinkParameters link = oracle.link();
  link.sharing = Sharing::fair;
  const Workload workload = workload_of(
      2, {"long", "short"}, {}, [&](Rank rank) { return two_flows(rank, oracle.list("bytes")); });
  expect_takes(oracle, make_chain(2, link), workload, oracle.expected());
}

}  // namespace
}  // namespace collsim::testing
