// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

// Follows one chain of causes through the programs of a schedule: a message, the next one that its
// receiver's lane sends (or signals to another lane of its rank) after having received it, and so
// on to the end.  Whatever else happens, a message takes as long as it does alone:
//   max over its links of (startup + n/B), of fair ones the largest startup and n/B, + sum(L)
// and no run of the schedule takes less than such a chain.
//
// Returns the longest of the chains that start with the first message of each lane of the first
// channel of five ranks, or, once one of them takes `enough`, how long it is by then.  Of each
// program it reads only what comes before the chain, so a chain of h messages costs about h^2/2
// instructions at worst; a chain ends after `most_messages`.  0 where messages choose among ways
// one by one, since nobody knows how long one takes alone.
[[nodiscard]] Time causal_chain(const Topology& topology, const Schedule& schedule, Time enough,
                                int most_messages);

}  // namespace collsim
