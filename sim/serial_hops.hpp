// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/critical_path.hpp"

namespace collsim {

// Turns wire of the path into hop: bytes on other links while path.longest_on is idle.  That is the
// link which messages of the path cross for longest, counting all links of their routes; of equals
// the one that is busy for longest.  So of a message that is relayed whole K-1 times one part is
// wire and K-2 parts are hops; that a pipeline fills and drains is hops, and so are phases on the
// links of a node while its NIC waits.  A ring whose links are all busy all the time has none.
void mark_serial_hops(const Topology& topology, const Timeline& timeline, CriticalPath& path);

}  // namespace collsim
