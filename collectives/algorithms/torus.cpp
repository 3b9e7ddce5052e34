// SPDX-License-Identifier: Apache-2.0
//
// Torus all-reduce (BlueConnect): K = a x b ranks in a grid of rings, position = row * b + column.
//   1. reduce-scatter along the row (b ranks): N/b of the row's sum each
//   2. all-reduce of that piece along the column (a ranks)
//   3. all-gather along the row
// and so on with more dimensions, the last one first: N shrinks before each further dimension.  The
// same program as the hierarchical all-reduce; there the dimensions are levels of the machine, here
// all links are equal.
//
// Cost:  2(b-1) tau(N/b) + 2(a-1) tau(N/(ab)) + (K-1)/K N/gamma
// against 2(K-1) tau(N/K) of one long ring: the same bytes in far fewer steps.  At any time only
// the links of one dimension are busy.
//
// M. Cho, U. Finkler, D. Kung, H. Hunter: BlueConnect, MLSys 2019.
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/levels.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {

Program all_reduce_torus(const Task& task) {
  return all_reduce_by_dimensions(rings_of_dimensions(task), source_vector(task),
                                  result_vector(task), task.chunks);
}

}  // namespace collsim
