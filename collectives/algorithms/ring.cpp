// SPDX-License-Identifier: Apache-2.0
//
// The ring: K ranks in a circle, everybody sends only to the next and receives only from the
// previous.  The vector is cut into K blocks; in every step every rank sends one block, so all
// links of the circle are busy all the time.
//
// Reduce-scatter, step t = 0 .. K-2: rank r sends its partial sum of block r-1-t, receives that of
// block r-2-t from rank r-1 and adds its own contribution.  A block starts at the rank after its
// owner and goes once around; block r arrives complete at rank r.
//
//   K = 4, block 0:   rank 1 -> rank 2 -> rank 3 -> rank 0
//                      x1       x1+x2    x1+x2+x3   complete
//
// All-gather, step t = 0 .. K-2: rank r sends block r-t and receives block r-1-t.
//
// All-reduce is one after the other: the last step of the reduce-scatter and the first of the
// all-gather are one instruction.  Nothing is copied and no scratch is needed.
//
// Cost, with tau(n) = alpha + n/B and N bytes in all:
//   all-gather       (K-1) tau(N/K)
//   reduce-scatter   (K-1) tau(N/K) + (K-1)/K N/gamma
//   all-reduce      2(K-1) tau(N/K) + (K-1)/K N/gamma
// The bytes are optimal for any K; the number of steps is the worst there is.  Every step's message
// may be cut into S chunks, which hides wire latency L: all-reduce with n = 2(K-1), m = N/(K S B),
// alpha = 0 takes (n-1) max(S m, m + L) + S m + L.  Connections then need S + 1 slots: everybody
// has sent S messages before anybody receives, and passes one on before its slot is free again.
//
// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
// J. Parallel Distrib. Comput. 69 (2009).
#include "collectives/algorithms/ring.hpp"

#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {

Program ring_reduce_scatter(Ring ring, Blocks source, Span mine, int chunks) {
  if (ring.size == 1) {
    if (source[0] != mine) co_yield copy(source[0], mine);
    co_return;
  }
  int block = ring.before(ring.place);
  for (int c = 0; c < chunks; ++c) co_yield send(ring.next, source(block, c));
  for (int step = 1; step < ring.size - 1; ++step) {
    block = ring.before(block);
    for (int c = 0; c < chunks; ++c) {
      const Instruction pass = receive_reduce_send(ring.previous, source(block, c), ring.next);
      co_yield pass;
    }
  }
  for (int c = 0; c < chunks; ++c)
    co_yield receive_reduce(ring.previous, source(ring.place, c), mine.piece(c, chunks));
}

Program ring_all_gather(Ring ring, Span mine, Blocks all, int chunks) {
  int block = ring.place;
  const bool placed = mine == all[block];
  if (ring.size == 1) {
    if (!placed) co_yield copy(mine, all[block]);
    co_return;
  }
  for (int c = 0; c < chunks; ++c) {
    if (placed)
      co_yield send(ring.next, all(block, c));
    else
      co_yield copy_send(mine.piece(c, chunks), all(block, c), ring.next);
  }
  for (int step = 1; step < ring.size - 1; ++step) {
    block = ring.before(block);
    for (int c = 0; c < chunks; ++c) co_yield receive_send(ring.previous, all(block, c), ring.next);
  }
  block = ring.before(block);
  for (int c = 0; c < chunks; ++c) co_yield receive(ring.previous, all(block, c));
}

Program ring_all_reduce(Ring ring, Blocks source, Blocks result, int chunks) {
  if (ring.size == 1) {
    if (source[0] != result[0]) co_yield copy(source[0], result[0]);
    co_return;
  }
  int block = ring.before(ring.place);
  for (int c = 0; c < chunks; ++c) co_yield send(ring.next, source(block, c));
  for (int step = 1; step < ring.size - 1; ++step) {
    block = ring.before(block);
    for (int c = 0; c < chunks; ++c) {
      const Instruction pass = receive_reduce_send(ring.previous, source(block, c), ring.next);
      co_yield pass;
    }
  }
  block = ring.place;
  for (int c = 0; c < chunks; ++c)
    co_yield receive_reduce_store_send(ring.previous, source(block, c), result(block, c),
                                       ring.next);
  for (int step = 1; step < ring.size - 1; ++step) {
    block = ring.before(block);
    for (int c = 0; c < chunks; ++c) {
      const Instruction pass = receive_send(ring.previous, result(block, c), ring.next);
      co_yield pass;
    }
  }
  block = ring.before(block);
  for (int c = 0; c < chunks; ++c) co_yield receive(ring.previous, result(block, c));
}

Program all_reduce_ring(const Task& task) {
  const Blocks source(source_vector(task), task.group.size(), task.chunks);
  const Blocks result(result_vector(task), task.group.size(), task.chunks);
  return ring_all_reduce(Ring::up(task.group), source, result, task.chunks);
}

Program all_gather_ring(const Task& task) {
  return ring_all_gather(Ring::up(task.group), gathered_block(task), task.blocks(task.output),
                         task.chunks);
}

Program reduce_scatter_ring(const Task& task) {
  return ring_reduce_scatter(Ring::up(task.group), scattered_blocks(task), scattered_block(task),
                             task.chunks);
}

}  // namespace collsim
