// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/ring.hpp"

namespace collsim {

// The rings through my position, one per dimension of the arrangement, the fastest dimension (the
// GPUs of a node, the columns of a torus) first.
[[nodiscard]] std::vector<Ring> rings_of_dimensions(const Task& task);

// All-reduce dimension by dimension; hierarchical.cpp explains it.
[[nodiscard]] Program all_reduce_by_dimensions(std::vector<Ring> rings, Span source, Span result,
                                               int chunks);

}  // namespace collsim
