// SPDX-License-Identifier: Apache-2.0
//
// All-to-all on a switch, K (K-1) messages: round by round over ports that carry one message at a
// time, and all at once over ports that share.
#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

// With `one_slow`, a port of half the bandwidth brings the ranks out of step.
std::function<Case::Work()> all_to_all(std::size_t ranks, const char* algorithm, Sharing sharing,
                                       bool one_slow = false) {
  return [=] {
    const LinkParameters port{.bandwidth = gigabytes_per_second(25),
                              .latency = nanoseconds(500),
                              .startup = nanoseconds(100),
                              .sharing = sharing};
    Topology topology = make_switch(ranks, port);
    if (one_slow) {
      LinkParameters slow = port;
      slow.bandwidth = Bandwidth(port.bandwidth.bytes_per_second() / 2);
      topology = topology.with_changed_links({{{LinkId(0), slow}}});
    }
    const auto count = static_cast<std::int64_t>(ranks) << 14U;
    return [topology,
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
       .limit = {.instructions = 1430, .loops = 1.3},
       .prepare = all_to_all(512, "pairwise", Sharing::exclusive)},
      {.name = "pairwise_all_to_all/256_one_slow_port",
       .item = "messages",
       .limit = {.instructions = 1540},
       .prepare = all_to_all(256, "pairwise", Sharing::exclusive, true)},
      {.name = "direct_all_to_all/256_fair",
       .item = "messages",
       .limit = {.loops = 4.5},
       .prepare = all_to_all(256, "direct", Sharing::fair)},
  };
}

}  // namespace collsim::bench
