// SPDX-License-Identifier: Apache-2.0
//
// Binomial broadcast to a million ranks: one message per rank, so that making ranks, programs and
// connections is all there is to do.
#include "bench/cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {

namespace {

constexpr std::size_t million = std::size_t{1} << 20U;

Topology million_ports() {
  return make_switch(million, {.bandwidth = gigabytes_per_second(25),
                               .latency = nanoseconds(500),
                               .startup = nanoseconds(100)});
}

Schedule broadcast() {
  return whole_machine(Operation::broadcast, million, 1 << 18, {.name = "binomial"});
}

}  // namespace

std::vector<Case> binomial_cases() {
  const Limit limit{.loops = 50, .peak_bytes = 475e6};
  return {
      {.name = "binomial_broadcast/1048576",
       .item = "messages",
       .limit = limit,
       .prepare =
           [] {
             return [topology = million_ports(), schedule = broadcast()] {
               return static_cast<std::int64_t>(simulate(topology, schedule).messages);
             };
           }},
      {.name = "binomial_broadcast/1048576_with_topology",
       .item = "messages",
       .limit = limit,
       .prepare =
           [] {
             return [] {
               return static_cast<std::int64_t>(simulate(million_ports(), broadcast()).messages);
             };
           }},
  };
}

}  // namespace collsim::bench
