// SPDX-License-Identifier: Apache-2.0
//
// Messages of many ranks that meet on their way through a network: in queues, where every hop is an
// event, and on links that share, where whoever ends changes the rates of others.
#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

Case::Work all_reduce(Topology topology, std::int64_t count, const AlgorithmChoice& choice) {
  Schedule schedule = whole_machine(Operation::all_reduce, topology.rank_count(), count, choice);
  return [topology = std::move(topology), schedule = std::move(schedule)] {
    return static_cast<std::int64_t>(simulate(topology, schedule).messages);
  };
}

}  // namespace

std::vector<Case> contention_cases() {
  LinkParameters shared = usual_link;
  shared.sharing = Sharing::fair;
  return {
      {.name = "swing/torus_64x64_queues",
       .item = "messages",
       .limit = {.loops = 9},
       .prepare =
           [] {
             return all_reduce(make_torus({64, 64}, usual_link), 1 << 24, {.name = "swing"});
           }},
      {.name = "double_tree/fat_tree_432_shared",
       .item = "messages",
       .limit = {.loops = 4},
       .prepare =
           [shared] {
             return all_reduce(make_fat_tree(12, shared), 1 << 24,
                               {.name = "double-tree", .chunks = 32});
           }},
  };
}

}  // namespace collsim::bench
