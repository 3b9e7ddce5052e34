// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {
namespace {

constexpr double most_median_error = 0.03;

struct PacedCase {
  const char* name;
  Topology topology;
  Operation operation;
  const char* algorithm;
  int chunks = 1;
  std::vector<std::pair<Rank, Time>> late = {};
  CostModel costs = {};
  Protocol protocol = Protocol::simple;
};

LinkParameters link_of(std::int64_t bytes_per_ms) {
  LinkParameters link{Bandwidth(bytes_per_ms * 1000)};
  link.overhead = microseconds(100);
  link.latency = microseconds(50);
  return link;
}

Topology two_nodes(const LinkParameters& link, const LinkParameters& slow) {
  const NodesShape nodes{.nodes = 2,
                         .gpus_per_node = 4,
                         .nics_per_node = 1,
                         .intra = NodesShape::Intra::network_switch,
                         .intra_dims = {},
                         .intra_link = link,
                         .inter_link = slow};
  return make_nodes(nodes);
}

std::vector<PacedCase> cases() {
  const LinkParameters link = link_of(8'000);
  const LinkParameters slow = link_of(2'000);
  const Topology ring8 = make_ring(8, link);
  const Topology slow_ring = ring8.with_changed_links(std::vector<Topology::LinkChange>{
      {ring8.links_between(ring8.node_of(Rank(2)), ring8.node_of(Rank(3))).front(), slow}});
  CostModel working;
  working.instruction_overhead = microseconds(50);
  working.reduce_bandwidth = Bandwidth(20'000'000);
  working.copy_bandwidth = Bandwidth(40'000'000);
  return {
      {"chain broadcast, 4 chunks", make_chain(8, link), Operation::broadcast, "chain", 4},
      {"ring all-reduce", ring8, Operation::all_reduce, "ring"},
      {"ring all-reduce, ll", ring8, Operation::all_reduce, "ring", 1, {}, {}, Protocol::ll},
      {"ring all-gather, 5 ranks", make_ring(5, link), Operation::all_gather, "ring"},
      {"ring reduce-scatter", ring8, Operation::reduce_scatter, "ring"},
      {"binomial broadcast", make_fully_connected(8, link), Operation::broadcast, "binomial"},
      {"binary-tree broadcast, 4 chunks", make_fully_connected(8, link), Operation::broadcast,
       "binary-tree", 4},
      {"double-tree all-reduce, 7 ranks", make_fully_connected(7, link), Operation::all_reduce,
       "double-tree", 4},
      {"pairwise all-to-all, 6 ranks", make_switch(6, link), Operation::all_to_all, "pairwise"},
      {"halving-doubling all-reduce", make_switch(8, link), Operation::all_reduce,
       "halving-doubling"},
      {"ring over two nodes, slow between", two_nodes(link, slow), Operation::all_reduce, "ring"},
      {"ring with one slow link", slow_ring, Operation::all_reduce, "ring"},
      {"ring, instructions cost time", ring8, Operation::all_reduce, "ring", 2, {}, working},
      {"one late rank",
       make_ring(4, link),
       Operation::all_reduce,
       "ring",
       1,
       {{Rank(2), milliseconds(10)}}},
      {"two ranks", make_chain(2, link), Operation::all_reduce, "ring"},
  };
}

}  // namespace

Verdict report_paced(Part& part) {
  part.heading("Paced runs against the simulation");
  part.text(
      "Real blocks with real data, 64 KiB per rank, held back to the links of an emulated machine: "
      "100 us overhead, 50 us latency, 8 MB/s (2 MB/s where slow). All ranks are virtual, on one "
      "GPU. "
      "Medians of 10 runs.");
  part.columns({"case", "predicted ms", "measured ms", "min .. max", "error"});
  std::vector<double> errors;
  Verdict verdict = Verdict::passed;
  for (const PacedCase& paced : cases()) {
    const int ranks = static_cast<int>(paced.topology.rank_count());
    const Schedule schedule = make_schedule(collective_of(paced.operation, ranks, kibibytes(64)),
                                            {.name = paced.algorithm, .chunks = paced.chunks});
    SimulationOptions simulation;
    simulation.late = paced.late;
    const double predicted_s =
        simulate(paced.topology, schedule, paced.costs, simulation).time.seconds();
    RunOptions options;
    options.iterations = 10;
    options.patience_s = 5;
    const Ran ran = run_case(
        {schedule, paced.protocol, EmulatedMachine{paced.topology, paced.costs, paced.late}},
        options);
    if (!ran.measured) {
      part.row({paced.name, number(predicted_s * 1e3, 3), "FAILED: " + ran.problem, "", ""});
      verdict = Verdict::failed;
      continue;
    }
    const Summary summary = summary_of(ran.measured->times_s);
    const double error = predicted_s / summary.median_s - 1;
    errors.push_back(std::abs(error));
    part.row({paced.name, number(predicted_s * 1e3, 3), number(summary.median_s * 1e3, 3),
              number(summary.min_s * 1e3, 3) + " .. " + number(summary.max_s * 1e3, 3),
              percent(error, 2)});
  }
  part.end_of_table();
  if (errors.empty()) return Verdict::failed;
  std::sort(errors.begin(), errors.end());
  const double median = errors[errors.size() / 2];
  const bool is_met = median <= most_median_error;
  part.text("Median error " + percent(median, 2) + ", worst " + percent(errors.back(), 2) +
            "; promised are " + percent(most_median_error, 0) +
            " median: " + (is_met ? "met" : "MISSED"));
  return is_met ? verdict : Verdict::failed;
}

}  // namespace collsim::bench
