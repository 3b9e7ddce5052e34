// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/algorithms.hpp"
#include "topo/topology.hpp"
#include "topo/units.hpp"

namespace collsim::bench {

// What a case may cost at most, on any machine.  Absent: not asked.
struct Limit {
  std::optional<double> instructions;       // of the processor, per item, as callgrind counts them
  std::optional<double> loops;              // its time over that of calibration_loop()
  std::optional<double> peak_bytes;         // resident, of a process that does only this
  std::optional<double> times_slower_than;  // the case named ...
  std::string_view other_case{};
};

// One benchmark.
struct Case {
  // What is timed; gives the number of items it has worked off.
  using Work = std::function<std::int64_t()>;

  std::string_view name;  // a literal, as all text here
  std::string_view item;  // what is counted: "messages", "events" ...
  Limit limit{};
  bool only_once = false;         // it takes seconds
  std::function<Work()> prepare;  // does what is not timed (the topology and the schedule, unless
                                  // the name says otherwise)
};

// The cases by idea, each in the file of that name.
[[nodiscard]] std::vector<Case> ring_cases();
[[nodiscard]] std::vector<Case> chain_cases();
[[nodiscard]] std::vector<Case> all_to_all_cases();
[[nodiscard]] std::vector<Case> contention_cases();
[[nodiscard]] std::vector<Case> binomial_cases();
[[nodiscard]] std::vector<Case> event_queue_cases();
[[nodiscard]] std::vector<Case> program_cases();
[[nodiscard]] std::vector<Case> scenario_cases();

// All ranks, f32, out of place.
[[nodiscard]] Schedule whole_machine(Operation operation, std::size_t ranks, std::int64_t count,
                                     const AlgorithmChoice& choice = {});

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr LinkParameters usual_link{.bandwidth = gigabytes_per_second(25),
                                    .latency = nanoseconds(500),
                                    .startup = nanoseconds(100)};

}  // namespace collsim::bench
