// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>

#include "collectives/algorithms.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"
#include "topo/units.hpp"

int main() {
  using namespace collsim;
  const Topology ring = make_ring(4, {.bandwidth = gigabytes_per_second(1)});
  const Schedule schedule = make_schedule({.operation = Operation::all_reduce,
                                           .count = 4'000'000,
                                           .type = ElementType::f32,
                                           .group = first_ranks(4)});
  const Time time = simulate(ring, schedule).time;

  // A ring all-reduce sends 2 (K - 1) pieces of N / K one after the other.
  const Time expected = 6 * transfer_time(4'000'000, gigabytes_per_second(1));
  std::cout << "simulated " << to_text(time) << ", expected " << to_text(expected) << '\n';
  return time == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
