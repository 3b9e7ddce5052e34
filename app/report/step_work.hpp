// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/json/value.hpp"
#include "app/report/results_file.hpp"

namespace collsim {

// For the page, what the ranks of each row compute, by what it is for:
//   [{forward_s, backward_s, other_s}, ...]
// the means over the ranks; what hosts launch is not in it.  Null where the scripts are too long to
// be read, and of all rows behind those that are drawn.
[[nodiscard]] JsonValue step_work(const StoredResults& results, const Scenario& scenario);

}  // namespace collsim
