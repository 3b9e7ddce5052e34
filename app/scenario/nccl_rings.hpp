// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// The rings that NCCL's channels form among GPUs that links join directly, without a switch (DGX-1,
// MI300X): in which order each goes through the positions of the group.  Together they use the
// links as evenly as a few of them can; on a DGX-1 six rings, three of them backwards, fill all.
// Empty: there is no ring over direct links, or there are more GPUs than are searched (8).
[[nodiscard]] std::vector<std::vector<int>> rings_of_direct_links(const Topology& topology,
                                                                  const std::vector<Rank>& group);

// The same among nodes of so many members each: such rings of a node, cut open where a channel
// enters and leaves it, the NICs by turns.  Empty also where nodes differ in which GPUs take part.
[[nodiscard]] std::vector<std::vector<int>> paths_of_direct_links(const Topology& topology,
                                                                  const std::vector<Rank>& group,
                                                                  int members);

// Those, or where all members share a node the rings.
[[nodiscard]] std::vector<std::vector<int>> nccl_rings(const Topology& topology,
                                                       const std::vector<Rank>& group, int members);

}  // namespace collsim
