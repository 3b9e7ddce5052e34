// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "validate/emulated_machine.hpp"
#include "validate/plan.hpp"

namespace collsim {

// How the messages of every wire of a plan are held back.  Links are resources: both directions of
// a half-duplex cable are one.
struct Pacing {
  std::vector<PacedWire> wires;  // per wire of the plan
  std::vector<PacedLink> route_links;
  std::uint32_t links = 0;
  double instruction_overhead_ns = 0;
  double copy_ns_per_byte = 0, reduce_ns_per_byte = 0, second_write_ns_per_byte = 0;
  std::vector<std::uint64_t> late_ns;  // per position, launch included
};

// Error{no_route}.  Error{invalid_argument} for what cannot be emulated: messages of several
// connections that share a fair link (their rates would change in flight).
[[nodiscard]] Pacing make_pacing(const Plan& plan, const EmulatedMachine& machine);

}  // namespace collsim
