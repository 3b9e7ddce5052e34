// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/collective.hpp"

namespace collsim {

// "" if the output of a position is what the collective requires, byte by byte; else the first
// wrong element: "rank 3 element 17 is 5, not 6 (and 11 more are wrong)".
[[nodiscard]] std::string first_difference(const Collective& collective,
                                           const std::vector<std::vector<std::byte>>& inputs,
                                           int position, const std::vector<std::byte>& finished);

// NCCL reduces in an order of its own.  Sums, products, minima and maxima of make_test_inputs() are
// exact in any order, so they are compared bit by bit.  Its average of floating-point numbers
// multiplies each by 1/K before it adds: exact only when the number K of ranks is a power of two.
[[nodiscard]] bool nccl_rounds(const Collective& collective);

// How far off a result may then be, relative: a rounding of 1/K, of each product and of each sum of
// positive numbers, and one of ours: (K + 2) / 2 of the type's machine epsilon.
[[nodiscard]] double nccl_tolerance(const Collective& collective);

// "" when a position's output is right; else the first element that is not.
[[nodiscard]] std::string nccl_difference(const Collective& collective,
                                          const std::vector<std::vector<std::byte>>& inputs,
                                          int position, const std::vector<std::byte>& output);

}  // namespace collsim
