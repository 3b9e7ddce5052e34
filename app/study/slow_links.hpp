// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// Links a thousand times slower than the fastest between devices of the same kinds, a sentence
// about each: "leaf0->spine0 (1 kB/s) is 50,000,000 times slower than leaf0->spine1; ..."; at most
// three of them.
[[nodiscard]] std::vector<std::string> far_slower_links(const Topology& topology);

// Other links between switches that no route crosses, because on an explicit graph only the widest
// of equal ways count, likewise.  Nothing beyond 128 ranks, where looking would take long.
[[nodiscard]] std::vector<std::string> links_too_narrow_to_use(const Topology& topology);

}  // namespace collsim
