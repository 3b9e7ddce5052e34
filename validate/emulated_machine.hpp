// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "topo/topology.hpp"

namespace collsim {

// The machine that a paced run emulates.
struct EmulatedMachine {
  Topology topology;
  CostModel costs;
  std::vector<std::pair<Rank, Time>> late;
};

}  // namespace collsim
