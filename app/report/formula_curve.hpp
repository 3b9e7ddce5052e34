// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "app/json/value.hpp"
#include "app/scenario/make_case.hpp"

namespace collsim {

// A sweep over chunks has rows at some numbers of them; its formula is a curve.  How many points of
// it are calculated, evenly spread over a logarithmic axis.
inline constexpr std::size_t formula_points = 64;

// The closed form of a case at numbers of chunks from `first` to `last`:
//   {"chunks": [1, 2, ...], "time_s": [...],
//    "wire_s": [...], "startup_s": [...],                 the same on a uniform network
//    "alpha_s": 5e-6, "latency_s": 0, "bytes_per_s": 25e9}    without, and with nothing but, what a
//                                                         message costs whatever its size
// Null when no closed form is known for this case; the second and third line are absent where the
// network is not uniform.  Numbers of chunks that the algorithm does not take are left out.
[[nodiscard]] JsonValue formula_curve(const Case& one_case, int first, int last);

// So many curves can be told apart.
inline constexpr std::size_t most_formula_curves = 8;

// The curves of rows that differ in the number of chunks alone, and have three or more:
// formula_curve() with "rows": [0, 1, ...], the numbers of all rows that it is about.  Rows of
// which "auto" chose several algorithms have no common formula, so they have no curve.  At most
// most_formula_curves, those of the first rows.
[[nodiscard]] JsonValue formula_curves(const JsonValue::Array& rows, const Scenario& scenario,
                                       ClusterCache& clusters);

}  // namespace collsim
