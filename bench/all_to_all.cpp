// SPDX-License-Identifier: Apache-2.0
//
// All-to-all on a switch, K (K-1) messages: round by round over ports that carry one message at a
// time, and all at once over ports that share.
#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

std::function<Case::Work()> all_to_all(std::size_t ranks, const char* algorithm, Sharing sharing) {
  return [=] {
    const LinkParameters port{.bandwidth = gigabytes_per_second(25),
                              .latency = nanoseconds(500),
                              .overhead = nanoseconds(100),
                              .sharing = sharing};
    const auto count = static_cast<std::int64_t>(ranks) << 14U;
    return [topology = make_switch(ranks, port),
            schedule = whole_machine(Operation::all_to_all, ranks, count, {.name = algorithm})] {
      const SimulationOptions options{.engine = Engine::event};
      return static_cast<std::int64_t>(simulate(topology, schedule, {}, options).messages);
    };
  };
}

}  // namespace

std::vector<Case> all_to_all_cases() {
  return {
      {.name = "pairwise_all_to_all/512_events",
       .item = "messages",
       .floor = {.seconds = 0.04},
       .prepare = all_to_all(512, "pairwise", Sharing::exclusive)},
      {.name = "direct_all_to_all/256_fair",
       .item = "messages",
       .floor = {.seconds = 0.3},
       .prepare = all_to_all(256, "direct", Sharing::fair)},
  };
}

}  // namespace collsim::bench
