// SPDX-License-Identifier: Apache-2.0
//
// Pairwise all-to-all: every rank has a block for every other rank; they are exchanged in K-1
// rounds in which everybody sends one block and receives one.
//
//   round d = 1 .. K-1: rank r sends its block r+d to rank r+d and receives from rank r-d
//
//   K = 4:   d = 1   0 -> 1   1 -> 2   2 -> 3   3 -> 0
//            d = 2   0 -> 2   1 -> 3   2 -> 0   3 -> 1
//            d = 3   0 -> 3   1 -> 0   2 -> 1   3 -> 2
//
// Cost with tau(n) = alpha + n/B, N one rank's buffer:   (K-1) tau(N/K)
// In every round the ranks form disjoint pairs, so no port is wanted twice, and a rank starts a
// round only when it has received in the one before.  Every block goes straight to its place:
// optimal in bytes, but K-1 start-ups.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
#include "collectives/algorithms/all_to_all_pairwise.hpp"

#include "collectives/algorithms/programs.hpp"

namespace collsim {

Program all_to_all_pairwise(const Task& task) {
  return pairwise_exchange(task.group, task.blocks(task.input), task.blocks(task.output),
                           task.chunks);
}

}  // namespace collsim
