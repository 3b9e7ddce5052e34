// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/causal_chain.hpp"

namespace collsim {

// A link by which a schedule takes long, and those of its connections after whose last message at
// least `tail` follows.
struct BusyLink {
  struct Connection {
    Endpoint from, to;
    std::uint64_t messages = 0;
    Time of_each;  // on the link, at least
  };
  Time bound;
  Time tail;
  std::vector<Connection> connections;
};

// What a schedule takes at least because messages follow each other on a link, before which and
// after which chains of causes pass: of any set of connections over a link of bandwidth B,
//   min(chain before the first message of one) + sum(n/B, startups) + min(chain after the last)
// None of them is on the link earlier, and whichever is there last goes on for as long as that.
//
// This is what pipelines take: filling, the busiest link, emptying.  Reads the programs of one
// channel of two ranks to their ends, and of the links of what they send looks at those that are
// busy for at least half as long as the busiest.
[[nodiscard]] BusyLink busiest_link(const Topology& topology, const Schedule& schedule,
                                    CausalChains& chains);

}  // namespace collsim
