// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/cost/cost_model.hpp"
#include "topo/shapes.hpp"
#include "validate/backend.hpp"

// What is run for real, held back to the links of an emulated machine, and compared with the
// simulation: on threads by the tests, on GPUs by ./dev gpu.
namespace collsim::bench {

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

inline LinkParameters paced_link(std::int64_t bytes_per_ms) {
  LinkParameters link{Bandwidth(bytes_per_ms * 1000)};
  link.startup = microseconds(100);
  link.latency = microseconds(50);
  return link;
}

inline Topology two_nodes(const LinkParameters& link, const LinkParameters& slow) {
  const NodesShape nodes{.nodes = 2,
                         .gpus_per_node = 4,
                         .nics_per_node = 1,
                         .intra = NodesShape::Intra::network_switch,
                         .intra_dims = {},
                         .intra_link = link,
                         .inter_link = slow};
  return make_nodes(nodes);
}

inline std::vector<PacedCase> paced_cases() {
  const LinkParameters link = paced_link(8'000);
  const LinkParameters slow = paced_link(2'000);
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

}  // namespace collsim::bench
