// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "bench/gpu/cases.hpp"
#include "collectives/cost/cost_model.hpp"
#include "topo/topology.hpp"
#include "validate/backend.hpp"

namespace collsim::bench {

// What a GPU's lanes cost, for predicting native runs of so many ranks and channels: here is where
// a better calibration goes in.
//
// This one is simple.  Ranks reach each other's memory, so links have a latency and no limit;
// copying and reducing keep the lane busy.  A ring all-gather (which only copies) and a ring
// reduce-scatter (which reduces) are run at two sizes with the times of every step written down;
// overhead and rates are the straight lines through the median durations at both sizes, the latency
// is the median of how long after a message was sent its receiver, already waiting, went on.
struct Calibration {
  CostModel costs;
  Time latency{};
  std::string text;  // the numbers, for people
};
[[nodiscard]] std::variant<Calibration, std::string> calibrate_lanes(
    int ranks, int channels, Bytes small, Bytes large, Protocol protocol,
    Ran (*run)(const RunCase&, const RunOptions&) = run_case);

// The network that goes with it.
[[nodiscard]] Topology shared_memory(int ranks, Time latency);

}  // namespace collsim::bench
