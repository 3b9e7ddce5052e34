// SPDX-License-Identifier: Apache-2.0
//
// Bidirectional ring: half of the vector goes around the ring upwards, the other half downwards, so
// that both directions of every cable are busy.  A ring all-reduce (see ring.cpp) in each of two
// lanes; they share nothing.
//
// Cost:  2(K-1) tau(N/(2K)) + (K-1)/K N/(2 gamma) per lane on a ring of full-duplex links.  Nothing
// is gained on a switch, where both directions leave through the same port, nor with K = 2, where
// both neighbours are the same.
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/ring.hpp"

namespace collsim {

Program all_reduce_bidirectional_ring(const Task& task) {
  const int ranks = task.group.size();
  const Ring ring = task.role == 0 ? Ring::up(task.group) : Ring::down(task.group);
  return ring_all_reduce(ring, Blocks(source_vector(task).piece(task.role, 2), ranks, task.chunks),
                         Blocks(result_vector(task).piece(task.role, 2), ranks, task.chunks),
                         task.chunks);
}

}  // namespace collsim
