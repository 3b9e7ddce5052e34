// SPDX-License-Identifier: Apache-2.0
//
// tests/data/programs.json holds what training steps and other programs must take, computed
// elsewhere by closed forms and recursions, most of them also message by message.  Here are those
// whose time is a simulation: exact to the picosecond, on every engine that applies.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "collectives/workloads/workloads.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

using nlohmann::json;

struct ProgramOracle {
  json entry;

  [[nodiscard]] std::string name() const { return entry["name"]; }
  [[nodiscard]] std::string group() const { return entry["group"]; }
  [[nodiscard]] bool has(const char* key) const {
    return entry["params"].contains(key) && !entry["params"][key].is_null();
  }
  [[nodiscard]] std::int64_t number(const char* key, std::int64_t otherwise = 0) const {
    return has(key) ? entry["params"][key].get<std::int64_t>() : otherwise;
  }
  [[nodiscard]] int ranks() const { return static_cast<int>(number("K")); }
  [[nodiscard]] Time time(const char* key) const { return Time(number(key)); }
  [[nodiscard]] Time expected() const { return Time(entry["expected_ps"].get<std::int64_t>()); }
  [[nodiscard]] LinkParameters link() const {
    return {Bandwidth(number("B", 1'000'000'000)), Time{}, time("alpha_ps")};
  }
  [[nodiscard]] Topology on_switch(int ranks) const {
    return make_switch(static_cast<std::size_t>(ranks), link());
  }
  // A list, or {"each": x, "times": n}.
  [[nodiscard]] std::vector<std::int64_t> list(const char* key) const {
    const json& value = entry["params"][key];
    if (value.is_array()) return value.get<std::vector<std::int64_t>>();
    const json& each = value.is_object() ? value["each"] : value;
    const auto times = value.is_object() ? value["times"].get<std::size_t>()
                                         : static_cast<std::size_t>(number("layers", 1));
    return std::vector<std::int64_t>(times, each.get<std::int64_t>());
  }
  // Whose backward pass and gradients are listed in the order in which they are ready.
  [[nodiscard]] Model bucketed_model() const {
    Model model;
    model.forward = time("forward_ps");
    model.optimizer = time("optimizer_ps");
    const std::vector<std::int64_t> backward = list("backward_ps");
    const std::vector<std::int64_t> bytes = list("gradient_bytes");
    for (std::size_t i = backward.size(); i-- > 0;)
      model.layers.push_back({"", Time{}, Time(backward[i]), bytes[i], 0});
    return model;
  }
};

const std::vector<ProgramOracle>& program_oracles() {
  static const std::vector<ProgramOracle> all = [] {
    std::ifstream file(COLLSIM_TEST_DATA "/programs.json");
    std::vector<ProgramOracle> list;
    for (const json& entry : json::parse(file)) list.push_back({entry});
    return list;
  }();
  return all;
}

const ProgramOracle& program_oracle(const std::string& name) {
  for (const ProgramOracle& oracle : program_oracles())
    if (oracle.name() == name) return oracle;
  throw std::runtime_error("no oracle " + name);
}

void expect_takes(const ProgramOracle& oracle, const Topology& topology, const Workload& workload,
                  Time expected) {
  SimulationOptions options;
  options.engine = Engine::event;
  EXPECT_EQ(simulate(topology, workload, {}, options).time, expected) << oracle.name();
  options.engine = Engine::dataflow;
  try {
    EXPECT_EQ(simulate(topology, workload, {}, options).time, expected) << oracle.name();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::engine_not_applicable);
  }
}

std::vector<std::string> names_of(const char* group) {
  std::vector<std::string> names;
  for (const ProgramOracle& oracle : program_oracles())
    if (oracle.group() == group) names.push_back(oracle.name());
  return names;
}

// --- generators ----------------------------------------------------------------------------------

TEST(ProgramOracles, Ddp) {
  int tested = 0;
  for (const ProgramOracle& oracle : program_oracles()) {
    if (oracle.group() != "ddp" || !oracle.has("gradient_bytes")) continue;
    Ddp ddp;
    ddp.bucket = oracle.number("bucket_cap_bytes");
    ddp.first_bucket = oracle.number("first_bucket_bytes");
    const Model model = oracle.bucketed_model();
    const auto buckets = oracle.entry["expected_other"]["buckets"].get<std::size_t>();
    EXPECT_EQ(layers_of_buckets(ddp, model).size(), buckets) << oracle.name();
    expect_takes(oracle, oracle.on_switch(oracle.ranks()),
                 make_workload(ddp, model, oracle.ranks()), oracle.expected());
    ++tested;
  }
  EXPECT_EQ(tested, 7);
}

// The best number of layers a bucket among the divisors of 48.
TEST(ProgramOracles, BestBucketOfDdp) {
  const ProgramOracle& oracle = program_oracle("ddp_best_bucket_a");
  const Bytes layer = oracle.number("layer_bytes");
  Model model;
  for (std::int64_t i = 0; i < oracle.number("layers"); ++i)
    model.layers.push_back({"", Time{}, oracle.time("backward_ps"), layer, 0});
  std::map<Time, Bytes> buckets;
  for (Bytes layers = 1; layers <= 48; ++layers) {
    if (48 % layers != 0) continue;
    Ddp ddp;
    ddp.bucket = ddp.first_bucket = layers * layer;
    const Workload workload = make_workload(ddp, model, oracle.ranks());
    buckets.emplace(simulate(oracle.on_switch(oracle.ranks()), workload).time, ddp.bucket);
  }
  EXPECT_EQ(buckets.begin()->first, oracle.expected());
  EXPECT_EQ(buckets.begin()->second, oracle.entry["expected_other"]["best_bucket_bytes"]);
}

TEST(ProgramOracles, ALateRankDelaysAStepOfDdpByItsLateness) {
  const ProgramOracle& oracle = program_oracle("ddp_straggler_forward_K8");
  Ddp ddp;
  ddp.bucket = ddp.first_bucket = oracle.number("bucket_cap_bytes");
  const Workload workload = make_workload(ddp, oracle.bucketed_model(), oracle.ranks());
  const Topology topology = oracle.on_switch(oracle.ranks());
  EXPECT_EQ(simulate(topology, workload).time.ps(),
            oracle.entry["expected_other"]["step_without_ps"]);
  SimulationOptions options;
  options.late = {{Rank(5), oracle.time("late_ps")}};
  EXPECT_EQ(simulate(topology, workload, {}, options).time, oracle.expected());
}

TEST(ProgramOracles, Fsdp) {
  int tested = 0;
  for (const std::string& name : names_of("fsdp")) {
    const ProgramOracle& oracle = program_oracle(name);
    if (!oracle.has("unsharded_layers_at_most")) continue;
    Fsdp fsdp;
    fsdp.unsharded = static_cast<int>(oracle.number("unsharded_layers_at_most"));
    if (oracle.entry["params"]["backward_prefetch"] == "post") fsdp.prefetch = Fsdp::Prefetch::post;
    const std::vector<std::int64_t> forward = oracle.list("forward_ps");
    const std::vector<std::int64_t> backward = oracle.list("backward_ps");
    const std::vector<std::int64_t> bytes = oracle.list("layer_bytes");
    Model model;
    for (std::size_t i = 0; i < std::max(forward.size(), bytes.size()); ++i)
      model.layers.push_back({"", Time(forward[i]), Time(backward[i]), bytes[i], 0});
    const Workload workload = make_workload(fsdp, model, oracle.ranks());
    const Topology topology = oracle.on_switch(oracle.ranks());
    expect_takes(oracle, topology, workload, oracle.expected());
    const json& others = oracle.entry["expected_other"];
    if (others.contains("bytes_sent_per_rank")) {
      EXPECT_EQ(simulate(topology, workload).wire_bytes / oracle.ranks(),
                others["bytes_sent_per_rank"]);
    }
    if (others.contains("exposed_ps")) {
      SimulationOptions options;
      options.recording = Recording::summary;
      EXPECT_EQ(simulate(topology, workload, {}, options).activities[0].exposed.ps(),
                others["exposed_ps"]);
    }
    ++tested;
  }
  EXPECT_EQ(tested, 4);
}

TEST(ProgramOracles, ZerosFirstStage) {
  const ProgramOracle& oracle = program_oracle("zero1_K32");
  Ddp ddp;
  ddp.bucket = ddp.first_bucket = oracle.number("bucket_cap_bytes");
  ddp.sharded_optimizer = true;
  Model model;
  model.forward = oracle.time("forward_ps");
  model.optimizer = oracle.time("optimizer_ps_unsharded");
  for (const std::int64_t backward : oracle.list("backward_ps"))
    model.layers.push_back({"", Time{}, Time(backward), oracle.number("layer_bytes"), 0});
  expect_takes(oracle, oracle.on_switch(oracle.ranks()), make_workload(ddp, model, oracle.ranks()),
               oracle.expected());
}

Train pipeline_of(const ProgramOracle& oracle) {
  static const std::map<std::string, PipelineSchedule> schedules{
      {"gpipe", PipelineSchedule::gpipe},
      {"1f1b", PipelineSchedule::one_f_one_b},
      {"interleaved-1f1b", PipelineSchedule::interleaved},
      {"zb-h1", PipelineSchedule::zb_h1}};
  Train train;
  train.pp = static_cast<int>(oracle.number("stages"));
  train.dp = static_cast<int>(oracle.number("replicas", 1));
  train.microbatches = static_cast<int>(oracle.number("microbatches"));
  train.schedule = schedules.at(oracle.entry["params"]["schedule"].get<std::string>());
  train.chunks = static_cast<int>(oracle.number("chunks_per_stage", 1));
  return train;
}

Model stages_of(const ProgramOracle& oracle) {
  const auto stage = [&](const char* key, std::size_t s) {
    const json& value = oracle.entry["params"][key];
    return value.is_array() ? value[s].get<std::int64_t>() : value.get<std::int64_t>();
  };
  Model model;
  for (std::size_t s = 0; s < static_cast<std::size_t>(oracle.number("stages")); ++s) {
    Layer layer;
    layer.forward = Time(stage(oracle.has("F_ps") ? "F_ps" : "forward_ps", s));
    layer.backward = oracle.has("B_ps") ? oracle.time("B_ps") + oracle.time("W_ps")
                                        : Time(stage("backward_ps", s));
    layer.activations = oracle.number("n");
    layer.gradients = oracle.number("stage_bytes");
    model.layers.push_back(layer);
  }
  return model;
}

TEST(ProgramOracles, Pipelines) {
  int tested = 0;
  for (const std::string& name : names_of("pipeline")) {
    const ProgramOracle& oracle = program_oracle(name);
    const Train train = pipeline_of(oracle);
    const auto stages = static_cast<std::size_t>(train.pp);
    const bool around = train.chunks > 1;
    const Topology topology =
        around ? make_ring(stages, oracle.link()) : make_chain(stages, oracle.link());
    expect_takes(oracle, topology, make_workload(train, stages_of(oracle)), oracle.expected());
    ++tested;
    const json& others = oracle.entry["expected_other"];
    for (const char* key : {"peak_activations_by_stage", "peak_live_chunks_by_stage"}) {
      if (!others.contains(key)) continue;
      for (int s = 0; s < train.pp; ++s)
        EXPECT_EQ(most_activations(pipeline_order(train.schedule, s, train.pp, train.microbatches,
                                                  train.chunks)),
                  others[key][static_cast<std::size_t>(s)])
            << name;
    }
  }
  EXPECT_EQ(tested, 10);
}

// Replicas of a stage have links of their own; messages between stages cost nothing.
TEST(ProgramOracles, APipelineThenAnAllReduce) {
  const ProgramOracle& oracle = program_oracle("pipeline_then_all_reduce");
  const Train train = pipeline_of(oracle);
  TopologyBuilder builder;
  std::vector<NodeId> nodes;
  for (int i = 0; i < train.pp * train.dp; ++i) nodes.push_back(builder.add_node(NodeKind::gpu));
  const LinkParameters free_link{Bandwidth(1'000'000'000'000), Time{}, Time{}};
  for (std::size_t s = 0; s < static_cast<std::size_t>(train.pp); ++s) {
    builder.connect(nodes[2 * s], nodes[2 * s + 1], oracle.link());
    for (std::size_t d = 0; d < 2 && s > 0; ++d)
      builder.connect(nodes[2 * s + d], nodes[2 * s - 2 + d], free_link);
  }
  const Workload workload = make_workload(train, stages_of(oracle));
  const Topology topology = builder.build();
  expect_takes(oracle, topology, workload, oracle.expected());
}

TEST(ProgramOracles, TensorParallel) {
  const ProgramOracle& oracle = program_oracle("tensor_parallel_h100_like");
  Train train;
  train.tp = oracle.ranks();
  Model model;
  for (std::int64_t i = 0; i < oracle.number("layers"); ++i)
    model.layers.push_back({"", oracle.time("forward_ps"), oracle.time("backward_ps"), 0,
                            oracle.number("activation_bytes")});
  for (const bool sequence_parallel : {false, true}) {
    train.sequence_parallel = sequence_parallel;
    expect_takes(oracle, oracle.on_switch(train.tp), make_workload(train, model),
                 oracle.expected());
  }
}

TEST(ProgramOracles, MixtureOfExperts) {
  const ProgramOracle& oracle = program_oracle("moe_dispatch_combine");
  Model model;
  for (std::int64_t i = 0; i < oracle.number("layers"); ++i)
    model.layers.push_back({"", oracle.time("expert_ps"), Time{}, 0, oracle.number("bytes")});
  expect_takes(oracle, oracle.on_switch(oracle.ranks()),
               make_workload(Experts{.forward_only = true}, model, oracle.ranks()),
               oracle.expected());
}

TEST(ProgramOracles, ParameterServers) {
  for (const std::string& name : names_of("parameter-server")) {
    const ProgramOracle& oracle = program_oracle(name);
    ParameterServer scheme;
    scheme.servers = static_cast<int>(oracle.number("servers"));
    const int ranks = static_cast<int>(oracle.number("workers")) + scheme.servers;
    Model model;
    model.layers.push_back({"", oracle.time("compute_ps"), Time{}, oracle.number("bytes"), 0});
    expect_takes(oracle, oracle.on_switch(ranks), make_workload(scheme, model, ranks),
                 oracle.expected());
  }
}

TEST(ProgramOracles, PyTorchsDataParallel) {
  const ProgramOracle& oracle = program_oracle("data_parallel_K4");
  Model model;
  model.optimizer = oracle.time("optimizer_ps");
  model.layers.push_back(
      {"", oracle.time("forward_ps"), oracle.time("backward_ps"), oracle.number("model_bytes"), 0});
  const DataParallel scheme{oracle.number("input_bytes"), oracle.number("output_bytes")};
  expect_takes(oracle, oracle.on_switch(oracle.ranks()),
               make_workload(scheme, model, oracle.ranks()), oracle.expected());
}

// One rank of every kind stands for the others, on links that share fairly.
TEST(ProgramOracles, BySymmetryTheSame) {
  Model model;
  for (int i = 0; i < 8; ++i)
    model.layers.push_back({"", microseconds(5 + i), microseconds(9), 65536, 16384});
  const auto expect_same = [](const Workload& workload) {
    const LinkParameters port{Bandwidth(10'000'000'000), Time{}, microseconds(2), Sharing::fair};
    const Topology topology = make_switch(static_cast<std::size_t>(workload.size()), port);
    SimulationOptions options;
    options.recording = Recording::activities;
    options.engine = Engine::symmetry;
    const Simulation by_symmetry = simulate(topology, workload, {}, options);
    options.engine = Engine::event;
    const Simulation by_events = simulate(topology, workload, {}, options);
    EXPECT_EQ(by_symmetry.time, by_events.time);
    EXPECT_EQ(by_symmetry.finished, by_events.finished);
    EXPECT_EQ(by_symmetry.messages, by_events.messages);
    EXPECT_EQ(by_symmetry.fingerprint, by_events.fingerprint);
    for (std::size_t rank = 0; rank < by_events.activities.size(); ++rank) {
      EXPECT_EQ(by_symmetry.activities[rank].computing, by_events.activities[rank].computing);
      EXPECT_EQ(by_symmetry.activities[rank].exposed, by_events.activities[rank].exposed);
    }
  };
  expect_same(make_workload(Ddp{.bucket = 100'000}, model, 8));
  expect_same(make_workload(Fsdp{}, model, 8));
  expect_same(make_workload(Train{.tp = 2, .pp = 4, .dp = 4, .microbatches = 8}, model));
  expect_same(make_workload(Train{.tp = 4,
                                  .pp = 2,
                                  .dp = 2,
                                  .microbatches = 4,
                                  .schedule = PipelineSchedule::interleaved,
                                  .chunks = 2,
                                  .sequence_parallel = true},
                            model));
}

// --- programs written by hand --------------------------------------------------------------------

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

TEST(ProgramOracles, ARelay) {
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

TEST(ProgramOracles, ARelayBehindOtherWork) {
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

TEST(ProgramOracles, ARelayOfManyMessages) {
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

TEST(ProgramOracles, AnExchange) {
  const ProgramOracle& oracle = program_oracle("exchange_full_duplex");
  const Workload exchange = workload_of(
      2, {"main"}, {}, [&](Rank rank) { return exchange_of_two(rank, oracle.number("n")); });
  expect_takes(oracle, make_chain(2, oracle.link()), exchange, oracle.expected());
}

Script sleep_and_meet(Rank rank, const AlgorithmChoice* choice) {
  co_yield work(0, Time(static_cast<std::int64_t>(rank.index()) * 1'000'000'000'000));
  co_yield collective(0, 0, call_of(Operation::barrier, 0, *choice));
}

TEST(ProgramOracles, ABarrierAfterSleeping) {
  const ProgramOracle& oracle = program_oracle("barrier_sleep_K3");
  const AlgorithmChoice dissemination{.name = "dissemination"};
  const Workload barrier =
      workload_of(3, {"main"}, {{"world", {first_ranks(3)}, 1}},
                  [&](Rank rank) { return sleep_and_meet(rank, &dissemination); });
  expect_takes(oracle, oracle.on_switch(3), barrier, oracle.expected());
}

// A rank that has waited longer than the time-out gives up.
TEST(ProgramOracles, WhoTimesOutAndWhen) {
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

Script two_all_reduces(Bytes bytes, const AlgorithmChoice* choice) {
  co_yield collective(0, 0, call_of(Operation::all_reduce, bytes, *choice));
  co_yield collective(0, 0, call_of(Operation::all_reduce, bytes, *choice));
}

TEST(ProgramOracles, Softmax) {
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

TEST(ProgramOracles, TwoHalvesThenAll) {
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

TEST(ProgramOracles, ThreeStepsWithAStraggler) {
  const ProgramOracle& oracle = program_oracle("straggler_three_steps");
  const AlgorithmChoice ring{.name = "ring"};
  const Workload workload =
      workload_of(8, {"main"}, {{"world", {first_ranks(8)}, 1}},
                  [&](Rank rank) { return steps_with_a_straggler(rank, &oracle, &ring); });
  expect_takes(oracle, oracle.on_switch(8), workload, oracle.expected());
}

// Several passes, and one all-reduce after the last.
Script passes_then_sum(const ProgramOracle* oracle, const AlgorithmChoice* ring) {
  for (std::int64_t pass = 0; pass < oracle->number("every"); ++pass) {
    co_yield work(0, oracle->time("forward_ps"));
    co_yield work(0, oracle->time("backward_ps"));
  }
  co_yield collective(0, 0, call_of(Operation::all_reduce, oracle->number("bytes"), *ring));
}

TEST(ProgramOracles, PassesWithoutSynchronisation) {
  const AlgorithmChoice ring{.name = "ring"};
  for (const char* name : {"ddp_no_sync_1", "ddp_no_sync_8"}) {
    const ProgramOracle& oracle = program_oracle(name);
    const Workload workload = workload_of(8, {"main"}, {{"world", {first_ranks(8)}, 1}},
                                          [&](Rank) { return passes_then_sum(&oracle, &ring); });
    expect_takes(oracle, oracle.on_switch(8), workload, oracle.expected());
  }
}

// Two messages over one fair link, on connections of their own.
Script two_flows(Rank rank, std::vector<std::int64_t> bytes) {
  for (int stream = 0; stream < 2; ++stream) {
    const Bytes size = bytes[static_cast<std::size_t>(stream)];
    if (rank == Rank(0)) co_yield send(stream, Rank(1), size, stream);
    if (rank == Rank(1)) co_yield receive(stream, Rank(0), size, stream);
  }
}

TEST(ProgramOracles, TwoFlowsOnOneLink) {
  const ProgramOracle& oracle = program_oracle("two_flows_one_link_fair");
  LinkParameters link = oracle.link();
  link.sharing = Sharing::fair;
  const Workload workload = workload_of(
      2, {"long", "short"}, {}, [&](Rank rank) { return two_flows(rank, oracle.list("bytes")); });
  expect_takes(oracle, make_chain(2, link), workload, oracle.expected());
}

}  // namespace
}  // namespace collsim::testing
