// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/json/value.hpp"
#include "app/scenario/make_case.hpp"

namespace collsim {

// What the links of the machines of these rows carry in one direction:
//   [{"name": "gpu to nvswitch", "bytes_per_s": 450e9}, ...]
// Empty unless all rows have the same machine but for its number of devices, whose links come in at
// most three kinds; nor for more than 64 machines, or one of more than 1,024 ranks or 100,000 links.
[[nodiscard]] Value link_rates(const Value::Array& rows, const Scenario& scenario,
                               ClusterCache& clusters);

}  // namespace collsim
