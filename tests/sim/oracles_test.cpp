// SPDX-License-Identifier: Apache-2.0
//
// tests/data/oracles.json holds expected times that were computed elsewhere, by formula and by
// evaluating explicit schedules.  Every entry about shapes, algorithms and point-to-point messages
// is simulated here and must come out within 1e-9; entries that are lower bounds must not be
// beaten.  Entries about things this library does not simulate are named in `out_of_scope`, so that
// a new entry cannot be forgotten.  (Those of NCCL's tuner: tests/app/study/nccl_tuner_test.cpp.)
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

using nlohmann::json;

struct Oracle {
  json entry;
  // All times are linear in sizes and startup times together: everything is made this much larger,
  // so that pieces are whole bytes and rounding to picoseconds does not show.
  Bytes scale = 1;
  [[nodiscard]] std::string name() const { return entry["name"]; }
  [[nodiscard]] std::string kind() const { return entry["topology_kind"]; }
  [[nodiscard]] double expected() const {
    return static_cast<double>(scale) * entry["expected_seconds"].get<double>();
  }
  [[nodiscard]] bool has(const char* key) const { return entry["params"].contains(key); }
  [[nodiscard]] double number(const char* key, double otherwise = 0) const {
    return has(key) ? entry["params"][key].get<double>() : otherwise;
  }
  [[nodiscard]] int integer(const char* key, int otherwise = 0) const {
    return has(key) ? entry["params"][key].get<int>() : otherwise;
  }
  [[nodiscard]] Bytes size(const char* key) const {
    return scale * static_cast<Bytes>(number(key));
  }
  [[nodiscard]] Time time(const char* key) const {
    return from_seconds(static_cast<double>(scale) * number(key));
  }
  [[nodiscard]] Bytes bytes() const { return size(has("N") ? "N" : "M_total_bytes"); }
  [[nodiscard]] LinkParameters link(Sharing sharing = Sharing::exclusive) const {
    const bool each_its_own = has("B") && entry["params"]["B"].is_array();
    const double rate = each_its_own ? entry["params"]["B"][0].get<double>() : number("B", 1e9);
    return {Bandwidth(std::llround(rate)), time("L"), time("alpha"), sharing, false};
  }
};

const std::vector<Oracle>& oracles() {
  static const std::vector<Oracle> all = [] {
    std::ifstream file(COLLSIM_TEST_DATA "/oracles.json");
    std::vector<Oracle> list;
    for (const json& entry : json::parse(file)) list.push_back({entry});
    return list;
  }();
  return all;
}

// A switch hop crosses two links of the topology and is charged one startup.
Topology topology_of(const Oracle& oracle) {
  const auto ranks = static_cast<std::size_t>(oracle.integer("K"));
  const std::string kind = oracle.kind();
  if (kind == "ring_directed" || kind == "ring_bidirectional")
    return make_ring(ranks, oracle.link());
  if (kind == "line_full_duplex") return make_chain(ranks, oracle.link());
  if (kind == "switch_full_duplex") return make_switch(ranks, oracle.link());
  if (kind == "switch_full_duplex_fluid") return make_switch(ranks, oracle.link(Sharing::fair));
  if (kind == "full_mesh") return make_fully_connected(ranks, oracle.link());
  if (kind == "torus1d") return make_ring(ranks, oracle.link(Sharing::fair));
  throw std::runtime_error("no topology for " + kind);
}

// One link of a ring or chain at its own speed: link i -> i+1 gets the i-th bandwidth.
Topology with_bandwidths(const Topology& topology, const Oracle& oracle) {
  const json& bandwidths = oracle.entry["params"]["B"];
  std::vector<Topology::LinkChange> changes;
  for (std::size_t i = 0; i < bandwidths.size(); ++i) {
    LinkParameters link = oracle.link();
    link.bandwidth = Bandwidth(std::llround(bandwidths[i].get<double>()));
    const Rank next((i + 1) % topology.rank_count());
    changes.push_back(
        {topology.links_between(topology.node_of(Rank(i)), topology.node_of(next)).front(), link});
  }
  return topology.with_changed_links(changes);
}

Operation operation_of(const Oracle& oracle) {
  return parse_operation(oracle.entry["collective"].get<std::string>());
}

std::string our_name(const std::string& theirs) {
  static const std::map<std::string, std::string> names{
      {"chain_pipelined", "chain"},
      {"chain_pipelined_two_directions", "bidirectional-chain"},
      {"knomial", "k-nomial"},
      {"binary_tree_pipelined", "binary-tree"},
      {"scatter_allgather_vandegeijn", "scatter-allgather"},
      {"ring_subchunked", "ring"},
      {"ring_bidirectional", "bidirectional-ring"},
      {"naive_exchange", "naive"},
      {"parameter_server_master", "master"},
      {"recursive_doubling", "recursive-doubling"},
      {"recursive_halving_doubling", "halving-doubling"},
      {"binomial_reduce_then_broadcast", "binomial"},
      {"chain_up_down", "chain"},
      {"direct_one_shot", "one-shot"},
      {"direct_two_shot", "two-shot"},
      {"double_binary_tree", "double-tree"},
      {"pairwise_exchange", "direct"},  // of reduce-scatter
      {"pat_reversed_bruck", "pat"},
      {"recursive_halving", "recursive-halving"},
      {"linear", "flat"},
      {"linear_gather_release", "flat"}};
  const auto found = names.find(theirs);
  return found == names.end() ? theirs : found->second;
}

double simulated(const Oracle& oracle, const Topology& topology, const std::string& algorithm,
                 AlgorithmChoice choice = {}) {
  choice.name = algorithm;
  choice.chunks = oracle.integer("S", choice.chunks);
  choice.radix = oracle.integer("k", choice.radix);
  const Schedule schedule = make_schedule(
      byte_collective(operation_of(oracle), topology.rank_count(), oracle.bytes()), choice);
  CostModel costs;
  if (oracle.has("gamma"))
    costs.reduce_bandwidth = Bandwidth(std::llround(1 / oracle.number("gamma")));
  SimulationOptions options;
  if (oracle.has("late_rank"))
    options.late = {
        {Rank(static_cast<std::size_t>(oracle.integer("late_rank"))), oracle.time("skew_seconds")}};
  return simulate(topology, schedule, costs, options).time.seconds();
}

double plain(const Oracle& oracle) {
  std::string algorithm = our_name(oracle.entry["algorithm"]);
  if (operation_of(oracle) == Operation::all_to_all && algorithm == "direct")
    algorithm = "pairwise";
  Topology topology = topology_of(oracle);
  if (oracle.entry["params"].contains("B") && oracle.entry["params"]["B"].is_array())
    topology = with_bandwidths(topology, oracle);
  return simulated(oracle, topology, algorithm);
}

double two_level(const Oracle& oracle) {
  NodesShape shape{.intra_link = {Bandwidth(1)}, .inter_link = {Bandwidth(1)}};
  shape.nodes = oracle.integer("G");
  shape.gpus_per_node = shape.nics_per_node = oracle.integer("L_local");
  shape.intra = NodesShape::Intra::ring;
  shape.intra_link = {Bandwidth(std::llround(oracle.number("B1"))), {}, oracle.time("alpha1")};
  shape.inter_link = {Bandwidth(std::llround(oracle.number("B2"))), {}, oracle.time("alpha2")};
  AlgorithmChoice choice;
  choice.dims = {shape.nodes, shape.gpus_per_node};
  return simulated(oracle, make_nodes(shape), "hierarchical", choice);
}

double torus(const Oracle& oracle) {
  AlgorithmChoice choice;
  choice.dims = {oracle.integer("a"), oracle.integer("b")};
  return simulated(oracle, make_torus(choice.dims, oracle.link()), "torus", choice);
}

// C disjoint rings: C cables between neighbours, one for each channel.
double multi_ring(const Oracle& oracle) {
  TopologyBuilder builder;
  const int ranks = oracle.integer("K");
  std::vector<NodeId> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(builder.add_node(NodeKind::gpu));
  for (int rank = 0; rank < ranks; ++rank)
    for (int cable = 0; cable < oracle.integer("C"); ++cable)
      builder.connect(nodes[static_cast<std::size_t>(rank)],
                      nodes[static_cast<std::size_t>((rank + 1) % ranks)], oracle.link());
  AlgorithmChoice choice;
  choice.channels = oracle.integer("C");
  return simulated(oracle, builder.build(), "ring", choice);
}

// Three links in a row, joined by ranks (which store and forward) or by switches (which cut
// through).
double path(const Oracle& oracle, NodeKind relay, Bytes message) {
  TopologyBuilder builder;
  const json& bandwidths = oracle.entry["params"]["B"];
  const json& latencies = oracle.entry["params"]["L"];
  NodeId last = builder.add_node(NodeKind::gpu);
  for (std::size_t hop = 0; hop < bandwidths.size(); ++hop) {
    const bool at_end = hop + 1 == bandwidths.size();
    const NodeId next = builder.add_node(at_end ? NodeKind::gpu : relay);
    builder.connect(
        last, next,
        {Bandwidth(std::llround(bandwidths[hop].get<double>())),
         from_seconds(static_cast<double>(oracle.scale) * latencies[hop].get<double>())});
    last = next;
  }
  const Topology topology = builder.build();
  const auto size = oracle.size("n");
  const Schedule schedule = byte_schedule(Operation::broadcast, topology.rank_count(), size,
                                          "chain", static_cast<int>(size / message));
  return simulate(topology, schedule).time.seconds();
}

double whole(const Oracle& oracle, NodeKind relay) {
  return path(oracle, relay, oracle.size("n"));
}

// l1 = 10 GB/s carries f1 and f2, l2 = 20 GB/s carries f1 and f3.
double two_shared_links(const Oracle& oracle) {
  TopologyBuilder builder;
  const auto add = [&builder](NodeKind kind) { return builder.add_node(kind); };
  std::vector<NodeId> ranks;
  for (int rank = 0; rank < 6; ++rank) ranks.push_back(add(NodeKind::gpu));
  const NodeId a = add(NodeKind::network_switch);
  const NodeId b = add(NodeKind::network_switch);
  const NodeId c = add(NodeKind::network_switch);
  const LinkParameters wide = link_of(gigabytes_per_second(1000), {}, {}, Sharing::fair);
  builder.connect(a, b, link_of(gigabytes_per_second(10), {}, {}, Sharing::fair));
  builder.connect(b, c, link_of(gigabytes_per_second(20), {}, {}, Sharing::fair));
  const std::vector<NodeId> ends{a, c, a, b, b, c};  // f1: a to c, f2: a to b, f3: b to c
  for (std::size_t rank = 0; rank < 6; ++rank) builder.connect(ranks[rank], ends[rank], wide);
  const std::map<std::string, int> flows{{"f1", 0}, {"f2", 1}, {"f3", 2}};
  const Schedule schedule = handmade(6, [](int position, Lane lane) -> Program {
    static constexpr std::array<std::int64_t, 3> sizes{3'000'000'000, 1'000'000'000, 6'000'000'000};
    const Span data{Buffer::input, 0, sizes[static_cast<std::size_t>(position) / 2]};
    const Endpoint other{Rank(static_cast<std::size_t>(position ^ 1)), lane};
    if (position % 2 == 0)
      co_yield send(other, data);
    else
      co_yield receive(other, data);
  });
  const Simulation simulation = simulate(builder.build(), schedule);
  const int flow = flows.at(oracle.entry["params"]["flow"]);
  return simulation.finished[static_cast<std::size_t>(2 * flow)].seconds();
}

double incast(const Oracle& oracle) {
  const auto ranks = static_cast<std::size_t>(oracle.integer("K"));
  const auto each = oracle.size("n");
  const Topology topology = make_switch(ranks, oracle.link(Sharing::fair));
  return simulate(topology,
                  byte_schedule(Operation::gather, ranks, each * static_cast<Bytes>(ranks), "flat"))
      .time.seconds();
}

using Simulated = std::function<double(const Oracle&)>;

// Entries that need more than a shape and a name.
const std::map<std::string, Simulated>& special() {
  static const std::map<std::string, Simulated> all{
      {"allreduce_hierarchical_2level_rail", two_level},
      {"allreduce_torus2d_4x8", torus},
      {"allreduce_multiring_C4", multi_ring},
      {"p2p_store_and_forward_3hops", [](const Oracle& o) { return whole(o, NodeKind::gpu); }},
      {"p2p_cut_through_3hops", [](const Oracle& o) { return whole(o, NodeKind::network_switch); }},
      {"p2p_packetised_store_and_forward_3hops",
       [](const Oracle& o) { return path(o, NodeKind::gpu, o.size("packet")); }},
      {"maxmin_two_links_f1", two_shared_links},
      {"maxmin_two_links_f2", two_shared_links},
      {"maxmin_two_links_f3", two_shared_links},
      {"incast_fair_share", incast},
      {"allreduce_double_binary_tree_K4_fluid",
       [](const Oracle& o) { return simulated(o, topology_of(o), "double-tree", {.chunks = 8}); }}};
  return all;
}

Topology boxes(int nodes, std::int64_t intra, std::int64_t inter) {
  NodesShape shape{.intra_link = {gigabytes_per_second(intra)},
                   .inter_link = {gigabytes_per_second(inter)}};
  shape.nodes = nodes;
  shape.gpus_per_node = shape.nics_per_node = 8;
  return make_nodes(shape);
}

// The fastest of all algorithms on a topology, a few chunk counts each.
double best(const Oracle& oracle, const Topology& topology) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const Algorithm* algorithm : algorithms(operation_of(oracle))) {
    const int ranks = static_cast<int>(topology.rank_count());
    if (!algorithm->works_with(ranks)) continue;
    for (const int chunks : {1, 4, 50}) {
      AlgorithmChoice choice;
      choice.name = algorithm->name;
      choice.chunks = chunks;
      choice.dims = {};
      const Collective collective =
          byte_collective(operation_of(oracle), topology.rank_count(), oracle.bytes());
      fastest =
          std::min(fastest, simulate(topology, make_schedule(collective, choice)).time.seconds());
    }
  }
  return fastest;
}

const LinkParameters ten_link{gigabytes_per_second(10)};

// Entries that no schedule can beat.
const std::map<std::string, Simulated>& bounds() {
  static const auto on = [](Topology topology) {
    return [topology](const Oracle& oracle) { return best(oracle, topology); };
  };
  static const std::map<std::string, Simulated> all{
      {"bcast_chain_optimal_S_real",
       [](const Oracle& o) {
         return simulate(make_ring(8, o.link()),
                         byte_schedule(Operation::broadcast, 8, o.bytes(), "chain", 227))
             .time.seconds();
       }},
      {"bcast_circulant_round_optimal_K16_S50",
       [](const Oracle& o) {
         double fastest = std::numeric_limits<double>::infinity();
         for (const char* name : {"chain", "binomial", "binary-tree", "double-tree"})
           fastest = std::min(fastest, simulated(o, topology_of(o), name));
         return fastest;
       }},
      {"alltoall_unidirectional_ring_bound",
       [](const Oracle& o) {  // one direction of every cable only
         TopologyBuilder builder;
         std::vector<NodeId> nodes;
         for (int rank = 0; rank < 8; ++rank) nodes.push_back(builder.add_node(NodeKind::gpu));
         for (std::size_t rank = 0; rank < 8; ++rank)
           builder.connect_one_way(nodes[rank], nodes[(rank + 1) % 8], o.link(Sharing::fair));
         return best(o, builder.build());
       }},
      {"alltoall_bidirectional_ring_bound",
       [](const Oracle& o) { return best(o, make_ring(8, o.link(Sharing::fair))); }},
      {"allgather_optimal_ring8", on(make_ring(8, ten_link))},
      {"allgather_optimal_mesh8", on(make_fully_connected(8, ten_link))},
      {"allgather_optimal_torus4x4", on(make_torus({4, 4}, ten_link))},
      {"allgather_optimal_a100x1", on(make_switch(8, {gigabytes_per_second(300)}))},
      {"allgather_optimal_a100x2", on(boxes(2, 300, 25))},
      {"allgather_optimal_a100x4", on(boxes(4, 300, 25))},
      {"allgather_optimal_h100x2_rail8", on(boxes(2, 450, 50))},
      {"allgather_optimal_h100x8", on(boxes(8, 450, 50))},
      {"broadcast_optimal_torus4x4", on(make_torus({4, 4}, ten_link))},
      {"broadcast_optimal_a100x2", on(boxes(2, 300, 25))}};
  return all;
}

// In-switch reduction, NCCL's tuner, and training steps are not schedules of this library.
const std::set<std::string>& out_of_scope() {
  static const std::set<std::string> prefixes{"allreduce_nvls", "nccl_tuner", "pipeline_",
                                              "ddp_",           "fsdp_",      "dataparallel_",
                                              "straggler_",     "checkpoint_"};
  return prefixes;
}

Bytes scale_of(const Oracle& oracle) {
  if (oracle.has("flow")) return 1;  // its sizes stand in the test
  const Bytes pieces = std::max(1, oracle.integer("K", 1)) * std::max(1, oracle.integer("S", 1));
  const bool even = static_cast<Bytes>(oracle.number("N")) % pieces == 0;
  return even ? 1000 : 1000 * pieces;
}

bool is_out_of_scope(const Oracle& oracle) {
  for (const std::string& prefix : out_of_scope())
    if (oracle.name().starts_with(prefix)) return true;
  return false;
}

TEST(Oracles, AllArePresent) {
  EXPECT_EQ(oracles().size(), 113U);
}

TEST(Oracles, SimulationReproducesEveryExactOne) {
  int compared = 0;
  for (Oracle oracle : oracles()) {
    if (is_out_of_scope(oracle) || bounds().contains(oracle.name())) continue;
    SCOPED_TRACE(oracle.name());
    oracle.scale = scale_of(oracle);
    const auto how = special().find(oracle.name());
    const double time = how != special().end() ? how->second(oracle) : plain(oracle);
    EXPECT_NEAR(time / oracle.expected(), 1, 1e-9);
    ++compared;
  }
  EXPECT_EQ(compared, 81);
}

TEST(Oracles, NoScheduleBeatsABound) {
  int compared = 0;
  for (const Oracle& oracle : oracles()) {
    const auto how = bounds().find(oracle.name());
    if (how == bounds().end()) continue;
    SCOPED_TRACE(oracle.name());
    EXPECT_GE(how->second(oracle), oracle.expected() * (1 - 1e-12));
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int>(bounds().size()));
}

}  // namespace
}  // namespace collsim::testing
