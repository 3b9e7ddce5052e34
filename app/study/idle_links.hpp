// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/results/case_result.hpp"
#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Of the busiest link of a run that takes so long.  Nothing where it is busy for less than half of
// that, since then another routing would gain little, and where messages choose their ways one by
// one.  Nor beyond 300,000 instructions, so that looking costs less than simulating.
[[nodiscard]] std::optional<IdleLinks> find_idle_links(const Topology& topology,
                                                       const Schedule& schedule, Time time);

// "28 of 32 equal links carry nothing, while leaf0->spine1 is busy ..." and what to do about it.
[[nodiscard]] std::string to_text(const IdleLinks& links);

}  // namespace collsim
