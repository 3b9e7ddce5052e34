// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/scenario/object_reader.hpp"
#include "topo/topology.hpp"

namespace collsim {

// "links_override": [{"from": "gpu2", "to": "gpu3", "bandwidth": "10GB/s", "both": false}, ...]
// changes single links of what was built.  As written an item changes the direction from -> to only;
// with "both" also the way back.  What is not written stays.  Parallel links between two devices are
// changed together.  Returns which links are now another thing, in words: "link gpu2 -> gpu3 changed",
// "2 links changed"; nothing when none is, or when something was wrong.
// Without a topology, because the rest of the cluster is wrong, it looks for mistakes in the items
// themselves.
[[nodiscard]] std::string read_links_override(ObjectReader& cluster, Topology* topology);

// "late": {"3": "5ms"}: which ranks start late, and how much; in the order of ranks.
// `ranks`: how many there are; nothing when the rest of the cluster is wrong.
[[nodiscard]] std::vector<std::pair<Rank, Time>> read_late(ObjectReader& cluster,
                                                           std::optional<std::size_t> ranks);

}  // namespace collsim
