// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/cost/cost_model.hpp"
#include "validate/emulated_machine.hpp"
#include "validate/plan.hpp"

namespace collsim {

// PacedLink (lane_job.hpp), exactly.
struct EmulatedLink {
  Time startup;
  Bandwidth bandwidth;
  Time latency;
  std::uint32_t resource = 0;
  bool startup_is_delay = false;
};

// How the messages of every wire of a plan are held back.  Links are resources: both directions of
// a half-duplex cable are one.
struct Pacing {
  std::vector<PacedWire> wires;  // per wire of the plan
  std::vector<EmulatedLink> route_links;
  std::uint32_t links = 0;
  CostModel costs;
  std::vector<Time> late;  // per position, launch included
};

// Error{no_route}.  Error{invalid_argument} for what cannot be emulated: messages of several
// connections that share a fair link (their rates would change in flight).
[[nodiscard]] Pacing make_pacing(const Plan& plan, const EmulatedMachine& machine);

}  // namespace collsim
