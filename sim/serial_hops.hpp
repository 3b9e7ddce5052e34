// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/critical_path.hpp"

namespace collsim {

// Turns wire of the path into hop: bytes on other links while the one that the path is on longest
// (of equals the first), path.longest_on, is idle for most of the time.  So a message that is
// relayed whole K-1 times is one part wire and K-2 parts hops; that a pipeline fills and drains is
// hops, and so are phases on the links of a node while its NIC waits.  A ring whose links are all
// busy all the time has none.
void mark_serial_hops(const Topology& topology, const Timeline& timeline, CriticalPath& path);

}  // namespace collsim
