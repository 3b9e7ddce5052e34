// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// Stated limit: paths that one sweep changes.
inline constexpr std::size_t max_swept_paths = 64;

// "sweep": several axes multiply, the last one changes fastest.
//
//   "collective.chunks": [1, 2, 4]                                  a list of at least one value
//   "collective.size": {"from": "1KiB", "to": "1GiB", "factor": 4}  a range (sweep_range.hpp)
//   "zip: cluster.ranks, collective.size": [[2, "1MiB"], [4, "2MiB"]]
//                                       paths that change together, one list of values per point
//
// Paths lie in cluster, collective or model; none may be swept twice.
struct Sweep {
  std::vector<Axis> axes;
  // Paths of axes that are wrong; what the document says there cannot be judged.
  std::vector<std::string> broken;
};
[[nodiscard]] Sweep read_sweep(const Value& sweep, std::size_t max_points,
                               Diagnostics& diagnostics);

}  // namespace collsim
