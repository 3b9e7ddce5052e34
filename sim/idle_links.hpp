// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// "28 of 32 equal links carry nothing": links that the messages of a busy one could take instead,
// by other ways of the same length and width.
struct IdleLinks {
  std::string busy;       // "leaf0->spine1"
  std::size_t alike = 0;  // with the busy one itself
  std::size_t idle = 0;   // carry nothing
  bool operator==(const IdleLinks&) const = default;
};

// Of the busiest link of a run that takes so long.  Nothing where it is busy for less than half of
// that, since then another routing would gain little, where messages choose their ways one by one,
// and where one of the links is narrower.  Nor beyond 300,000 instructions, so that looking costs
// less than simulating.
[[nodiscard]] std::optional<IdleLinks> find_idle_links(const Topology& topology,
                                                       const Schedule& schedule, Time time);

// "28 of 32 equal links carry nothing, while leaf0->spine1 is busy ..." and what to do about it.
[[nodiscard]] std::string to_text(const IdleLinks& links);

}  // namespace collsim
