// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "collectives/cost/bounds.hpp"

namespace collsim {

// What must pass where, as half a sentence: "at least 7.5 GiB must leave node 3 (ranks 24 to 31)
// through 8 links of together 400 GB/s", "rank 0 must send at least 64 MiB through its one link of
// 25 GB/s".
[[nodiscard]] std::string to_text(const NarrowestLinks& narrowest, const Collective& collective,
                                  const Topology& topology);

}  // namespace collsim
