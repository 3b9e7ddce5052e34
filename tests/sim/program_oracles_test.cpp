// SPDX-License-Identifier: Apache-2.0
//
// The oracles of training steps: exact to the picosecond, on every engine that applies.
#include <map>

#include "sim/critical_path.hpp"
#include "tests/sim/program_oracle.hpp"

namespace collsim::testing {
namespace {

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

// Gradients add up over several passes, and leave after the last.
TEST(ProgramOracles, DdpThatAccumulatesGradients) {
  for (const char* name : {"ddp_no_sync_1", "ddp_no_sync_8"}) {
    const ProgramOracle& oracle = program_oracle(name);
    Ddp ddp;
    ddp.microbatches = static_cast<int>(oracle.number("every"));
    Model model;
    model.layers.push_back(
        {"", oracle.time("forward_ps"), oracle.time("backward_ps"), oracle.number("bytes"), 0});
    expect_takes(oracle, oracle.on_switch(oracle.ranks()),
                 make_workload(ddp, model, oracle.ranks()), oracle.expected());
  }
}

// What the first ranks of all nodes send to other nodes, in the mean: pieces of a vector may differ
// by one element.
double bytes_to_other_nodes(const Workload& workload, int ranks_of_node) {
  const auto node = [&](Rank rank) { return static_cast<int>(rank.index()) / ranks_of_node; };
  double bytes = 0;
  for (int first = 0; first < workload.size(); first += ranks_of_node)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(workload.lanes()); ++lane) {
      LaneProgram program = workload.program(first, Lane(lane));
      while (const Instruction* const instruction = program.next())
        if (sends(instruction->op) &&
            node(instruction->to.rank) != node(Rank(static_cast<std::size_t>(first))))
          bytes += static_cast<double>(instruction->count);
    }
  return bytes * ranks_of_node / workload.size();
}

// The paper's W are the replicas here, on as many nodes, of G ranks each.  Where all ranks have or
// shard the whole model, it counts what each of W ranks sends.
TEST(ProgramOracles, VolumesOfHybridShards) {
  const ProgramOracle& oracle = program_oracle("volume_hybrid_shard");
  const json& others = oracle.entry["expected_other"];
  const auto replicas = static_cast<int>(oracle.number("W"));
  const auto of_node = static_cast<int>(oracle.number("G"));
  Model model;  // the last layer is not gathered again: give it nothing
  model.layers.push_back({"", Time{}, Time{}, oracle.number("model_bytes"), 0});
  model.layers.push_back({"", Time{}, Time{}, 0, 0});
  Fsdp hybrid;
  hybrid.shards = of_node;
  EXPECT_EQ(bytes_to_other_nodes(make_workload(hybrid, model, replicas * of_node), of_node),
            others["hybrid"]);
  EXPECT_EQ(bytes_to_other_nodes(make_workload(Fsdp{}, model, replicas), 1),
            others["full_sharding"]);
  EXPECT_EQ(bytes_to_other_nodes(make_workload(Ddp{}, model, replicas), 1),
            others["full_replication"]);
}

// 2 replicas of 2 devices; a message of 1 ms between devices, all-reduces of 2 (1 ms) among both
// replicas.  Device 0: 10 + 1 + 10 (device 1) + 20 (its backward pass) + 1 + 20, then its bucket.
// The bucket of device 1 leaves behind its message.
TEST(ProgramOracles, ReplicasOfTwoDevices) {
  Model model;
  for (int i = 0; i < 2; ++i)
    model.layers.push_back(
        {"", milliseconds(10), milliseconds(20), Bytes{2'000'000}, Bytes{1'000'000}});
  model.optimizer = milliseconds(8);
  const Ddp ddp{.devices_per_replica = 2};
  const Workload workload = make_workload(ddp, model, 4);
  const Topology topology = make_switch(4, {Bandwidth(1'000'000'000)});
  const Simulation simulation = simulate(topology, workload);
  EXPECT_EQ(simulation.time, milliseconds(10 + 1 + 10 + 20 + 1 + 20 + 2 + 4));
  EXPECT_EQ(simulation.finished[1], milliseconds(10 + 1 + 10 + 20 + 1 + 2 + 4));
  EXPECT_EQ(layers_of_buckets(ddp, model), (std::vector<int>{1, 1}));
}

// Parameters, then buffers, then the step, on a chain: 2 ms, 1 ms, 30 ms and an all-reduce of 2 ms.
TEST(ProgramOracles, TheConstructorAndEachStepHandOut) {
  Model model;
  model.layers.push_back({"", milliseconds(10), milliseconds(20), Bytes{2'000'000}, 0});
  Ddp ddp;
  ddp.broadcast = {.name = "chain"};
  ddp.buffers = 1'000'000;
  ddp.broadcast_parameters = true;
  const Topology topology = make_switch(2, {Bandwidth(1'000'000'000)});
  EXPECT_EQ(simulate(topology, make_workload(ddp, model, 2)).time, milliseconds(2 + 1 + 30 + 2));
}

// Layers of 4 MB on 2 nodes of 4: in a node, gathering or scattering one is 3 messages of 1 MB,
// and there are 5 of these.  Averaging 1 MB with the other node takes 1 ms beside them; the last is
// left.
TEST(ProgramOracles, HybridShardsAverageBesideTheOthers) {
  Model model;
  for (int i = 0; i < 2; ++i) model.layers.push_back({"", Time{}, Time{}, Bytes{4'000'000}, 0});
  Fsdp fsdp;
  fsdp.shards = 4;
  const LinkParameters link{Bandwidth(1'000'000'000)};
  const Topology topology = make_nodes(
      {.nodes = 2, .gpus_per_node = 4, .nics_per_node = 4, .intra_link = link, .inter_link = link});
  const Workload workload = make_workload(fsdp, model, 8);
  EXPECT_EQ(workload.communicators()[0].groups[1].front(), Rank(4));
  EXPECT_EQ(workload.communicators()[1].groups[1].back(), Rank(5));
  SimulationOptions options;
  options.recording = Recording::activities;
  const Simulation simulation = simulate(topology, workload, {}, options);
  ASSERT_EQ(simulation.activities[3].communicators.size(), 2U);
  EXPECT_EQ(simulation.activities[3].communicators[0].communicating, milliseconds(15));
  EXPECT_EQ(simulation.activities[3].communicators[1].communicating, milliseconds(2));
  EXPECT_EQ(simulation.time, milliseconds(16));
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

// The path of causes crosses computing and collectives: its parts add up to the step.
TEST(ProgramOracles, TheCriticalPathOfAStepIsWhole) {
  Model model;
  for (int i = 0; i < 4; ++i)
    model.layers.push_back({"", microseconds(50), microseconds(90), 1 << 20, 1 << 18});
  for (const Workload& workload :
       {make_workload(Ddp{}, model, 4), make_workload(Fsdp{}, model, 4),
        make_workload(DataParallel{1 << 20, 1 << 20}, model, 4),
        make_workload(ParameterServer{}, model, 4),
        make_workload(Train{.tp = 2, .pp = 2, .dp = 1, .microbatches = 4}, model)}) {
    const LinkParameters port{Bandwidth(1'000'000'000), microseconds(3), microseconds(2)};
    const Topology topology = make_switch(4, port);
    SimulationOptions options;
    options.recording = Recording::full;
    const Simulation simulation = simulate(topology, workload, {}, options);
    const CriticalPath path = critical_path(topology, workload, simulation);
    Time sum;
    for (const auto& segment : path.segments) sum += segment.to - segment.from;
    EXPECT_EQ(sum, simulation.time);
  }
}

// A server that does not wait for all answers each worker when it has pushed.
TEST(ProgramOracles, AnAsynchronousServerWaitsForNobody) {
  Model model;
  model.layers.push_back({"", microseconds(50), Time{}, 1000, 0});
  const Workload workload = slowed(make_workload(ParameterServer{.asynchronous = true}, model, 4),
                                   {{.rank = Rank(0), .factor = 1, .delay = microseconds(500)}});
  const LinkParameters port{Bandwidth(1'000'000'000)};
  const Simulation simulation = simulate(make_switch(4, port), workload);
  EXPECT_LT(simulation.finished[2], microseconds(60));
  EXPECT_GT(simulation.finished[0], microseconds(550));
}

// Kernels of a collective take a part of what computes: its bucket is ready at r, and takes A.
TEST(ProgramOracles, CollectivesSlowComputingDown) {
  const ProgramOracle& oracle = program_oracle("sm_contention_half_hidden");
  const Time ready = oracle.time("ready_ps");
  const Bytes bytes = oracle.time("collective_ps").ps() / 1000;  // at 1 GB/s, on two ranks
  CostModel costs;
  costs.slowdown = CostModel::millionths / 4;
  EXPECT_EQ(oracle.entry["params"]["slowdown"], 0.25);
  const auto computing = [&](Time backward, Engine engine) {
    Model model;
    model.layers.push_back({"", Time{}, backward - ready, 0, 0});
    model.layers.push_back({"", Time{}, ready, bytes, 0});
    SimulationOptions options;
    options.recording = Recording::activities;
    options.engine = engine;
    const Simulation simulation = simulate(make_switch(2, {Bandwidth(1'000'000'000)}),
                                           make_workload(Ddp{}, model, 2), costs, options);
    EXPECT_EQ(simulation.time,
              std::max(simulation.activities[0].computing, ready + oracle.time("collective_ps")));
    return simulation.activities[0].computing;
  };
  for (const Engine engine : {Engine::event, Engine::automatic}) {
    EXPECT_EQ(computing(oracle.time("backward_ps"), engine), oracle.expected());
    // r + (W-r)/(1-rho), where the collective ends last.
    EXPECT_EQ(computing(milliseconds(30), engine), Time(33'333'333'334));
  }
  SimulationOptions dataflow;
  dataflow.engine = Engine::dataflow;
  EXPECT_THROW((void)simulate(make_switch(2, {Bandwidth(1'000'000'000)}),
                              make_workload(Ddp{}, Model{{Layer{}}}, 2), costs, dataflow),
               Error);
}

// A rank that is late by a delay begins all its streams then, as one whose start is late.
TEST(ProgramOracles, ADelayHoldsAllStreams) {
  Model model;
  for (int i = 0; i < 6; ++i)
    model.layers.push_back({"", microseconds(50), microseconds(90), 1 << 20, 0});
  const Workload workload = make_workload(Fsdp{}, model, 4);
  const Topology topology = make_switch(4, {Bandwidth(10'000'000'000), Time{}, microseconds(2)});
  SimulationOptions late;
  late.late = {{Rank(1), microseconds(400)}};
  EXPECT_EQ(simulate(topology,
                     slowed(workload, {{.rank = Rank(1), .factor = 1, .delay = microseconds(400)}}))
                .time,
            simulate(topology, workload, {}, late).time);
}

// Each microbatch of FSDP does all of a step but the optimizer; DDP averages after the last.
TEST(ProgramOracles, MicrobatchesComeOneAfterTheOther) {
  Model model;
  Time computing;
  for (int i = 0; i < 5; ++i) {
    model.layers.push_back({"", microseconds(20 + i), microseconds(40), 1 << 20, 0});
    computing += model.layers.back().forward + model.layers.back().backward;
  }
  model.optimizer = microseconds(8);
  const Topology topology = make_switch(4, {Bandwidth(10'000'000'000), Time{}, microseconds(2)});
  const auto time_of = [&](const auto& scheme) {
    return simulate(topology, make_workload(scheme, model, 4)).time;
  };
  const Time updated(model.optimizer.ps() / 4);
  EXPECT_EQ(time_of(Fsdp{.microbatches = 3}).ps(),
            3 * (time_of(Fsdp{}) - updated).ps() + updated.ps());
  EXPECT_EQ(time_of(Ddp{.microbatches = 3}).ps(), time_of(Ddp{}).ps() + 2 * computing.ps());
}

void expect_same_by_symmetry(const Workload& workload, const Topology& topology,
                             std::int64_t slowdown = 0) {
  CostModel costs;
  costs.slowdown = slowdown;
  SimulationOptions options;
  options.recording = Recording::activities;
  options.engine = Engine::symmetry;
  const Simulation by_symmetry = simulate(topology, workload, costs, options);
  options.engine = Engine::event;
  const Simulation by_events = simulate(topology, workload, costs, options);
  EXPECT_EQ(by_symmetry.time, by_events.time);
  EXPECT_EQ(by_symmetry.finished, by_events.finished);
  EXPECT_EQ(by_symmetry.messages, by_events.messages);
  EXPECT_EQ(by_symmetry.fingerprint, by_events.fingerprint);
  for (std::size_t rank = 0; rank < by_events.activities.size(); ++rank) {
    EXPECT_EQ(by_symmetry.activities[rank].computing, by_events.activities[rank].computing);
    EXPECT_EQ(by_symmetry.activities[rank].exposed, by_events.activities[rank].exposed);
  }
}

Model layers_for_symmetry() {
  Model model;
  for (int i = 0; i < 8; ++i)
    model.layers.push_back({"", microseconds(5 + i), microseconds(9), 65536, 16384});
  return model;
}

// In nodes, where a channel of a ring enters each at another GPU; 65,536 bytes are padded for that.
TEST(ProgramOracles, BySymmetryOfNodesTheSame) {
  const Model model = layers_for_symmetry();
  NodesShape shape{
      .intra_link = {Bandwidth(100'000'000'000), Time{}, microseconds(1), Sharing::fair},
      .inter_link = {Bandwidth(10'000'000'000), Time{}, microseconds(2), Sharing::fair}};
  shape.nodes = 3;
  shape.gpus_per_node = shape.nics_per_node = 4;
  const Topology nodes = make_nodes(shape);
  const auto ring_of = [](int channels) {
    AlgorithmChoice ring{.name = "ring"};
    ring.channels = ring.per_node = channels;
    return ring;
  };
  const Fsdp fsdp{.all_gather = ring_of(4), .reduce_scatter = ring_of(4)};
  expect_same_by_symmetry(make_workload(fsdp, model, 12), nodes);
  const Train::OfReplicas by_four{
      .all_reduce = ring_of(4), .all_gather = ring_of(4), .reduce_scatter = ring_of(4)};
  for (const int zero : {0, 1, 2, 3})
    expect_same_by_symmetry(make_workload(Train{.dp = 12,
                                                .microbatches = 2,
                                                .zero = zero,
                                                .overlap = zero == 1,
                                                .replicas = by_four},
                                          model),
                            nodes);
  // Several kinds of ranks, each kind in several nodes.
  shape.nodes = 4;
  const Topology more = make_nodes(shape);
  for (const int tp : {1, 2}) {
    const Train pipeline{.tp = tp,
                         .pp = 2,
                         .dp = 8 / tp,
                         .microbatches = 4,
                         .replicas = {.all_reduce = ring_of(4 / tp)}};
    expect_same_by_symmetry(make_workload(pipeline, model), more);
  }
  const Ddp ddp{.bucket = 100'000, .devices_per_replica = 2, .all_reduce = ring_of(2)};
  expect_same_by_symmetry(make_workload(ddp, model, 16), more);
}

// One rank of every kind stands for the others, on links that share fairly.
TEST(ProgramOracles, BySymmetryTheSame) {
  const Model model = layers_for_symmetry();
  const auto expect_same = [](const Workload& workload, std::int64_t slowdown = 0) {
    const LinkParameters port{Bandwidth(10'000'000'000), Time{}, microseconds(2), Sharing::fair};
    expect_same_by_symmetry(workload, make_switch(static_cast<std::size_t>(workload.size()), port),
                            slowdown);
  };
  expect_same(make_workload(Ddp{.bucket = 100'000}, model, 8));
  expect_same(make_workload(Fsdp{}, model, 8));
  expect_same(make_workload(Fsdp{.shards = 4}, model, 16), 123'456);
  expect_same(
      make_workload(Ddp{.microbatches = 2, .bucket = 100'000, .devices_per_replica = 2}, model, 8));
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

}  // namespace
}  // namespace collsim::testing
