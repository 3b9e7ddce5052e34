// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// What is run to calibrate a machine.
struct ProbeCase {
  std::string name;
  Schedule schedule;
  Bytes working_set = 0;  // collectives/schedule.hpp
};

// Messages of a few bytes, one and many; then with every size from the smallest to the largest,
// each twice the one before, each kind of instruction: in one piece (one lane of a pair works after
// the other) and in several (both work at a time); and by up to so many lanes of each rank.  These
// are no collectives, only pairs of ranks at work, so check() would refuse them.
[[nodiscard]] std::vector<ProbeCase> probe_cases(int ranks, int lanes, Bytes smallest,
                                                 Bytes largest);

// The working sets of the largest probes of each size: where the rates are looked for.
[[nodiscard]] std::vector<Bytes> knots(int ranks, Bytes smallest, Bytes largest);

// `bytes` from the first to the second of every pair.
[[nodiscard]] Schedule send_recv(int ranks, const std::vector<std::pair<int, int>>& pairs,
                                 Bytes bytes, int chunks);

// Ranks that reach each other's memory: nothing but latency between any two.
[[nodiscard]] Topology shared_memory(int ranks, double latency_s);

}  // namespace collsim
