// SPDX-License-Identifier: Apache-2.0
//
// Pipelined chain broadcast: (K-1) S messages.
#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

std::function<Case::Work()> chain_broadcast(std::optional<int> slots) {
  return [slots] {
    AlgorithmChoice choice{.name = "chain", .chunks = 1024};
    choice.slots = slots;
    return [topology = make_chain(1024, usual_link),
            schedule = whole_machine(Operation::broadcast, 1024, 1 << 24, choice)] {
      return static_cast<std::int64_t>(simulate(topology, schedule).messages);
    };
  };
}

}  // namespace

std::vector<Case> chain_cases() {
  return {
      {.name = "chain_broadcast/1024x1024",
       .item = "messages",
       .limit = {.instructions = 101, .loops = 0.4},
       .prepare = chain_broadcast(std::nullopt)},
      {.name = "chain_broadcast/1024x1024_8_slots",
       .item = "messages",
       .limit = {.loops = 0.45},
       .prepare = chain_broadcast(8)},
  };
}

}  // namespace collsim::bench
