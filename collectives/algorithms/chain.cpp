// SPDX-License-Identifier: Apache-2.0
//
// The chain: ranks in a line, the data cut into S chunks, every rank passes a chunk on as soon as
// it has it.  While chunk 0 is at the third rank, chunk 1 is at the second: all links work at once,
// and the distance is paid only once, by the first chunk.
//
//   S = 3:   time 0   0 -c0-> 1
//            time 1   0 -c1-> 1 -c0-> 2
//            time 2   0 -c2-> 1 -c1-> 2 -c0-> 3
//            time 3           1 -c2-> 2 -c1-> 3
//            time 4                   2 -c2-> 3
//
// Broadcast, step t: rank i sends chunk t-i to rank i+1.  Reduce is its mirror image, from the far
// end to the root: rank i adds its own chunk to the one that comes from rank i+1 and passes the sum
// on, without ever storing it.  The bidirectional chain runs one broadcast each way around, each
// with half of the data, on two lanes.
//
// Cost, with tau(n) = alpha + n/B, c = N/S, wire latency L:
//   broadcast                 (K-2+S) tau(c) + (K-1) L     best S = sqrt((K-2) N / (alpha B)), then
//                                                          (sqrt((K-2) alpha) + sqrt(N/B))^2
//   bidirectional broadcast   (K-2+S) tau(c/2) + (K-1) L   on a ring of full-duplex links
//   reduce                    (K-1)(tau(c) + c/gamma) + (S-1) max(tau(c), c/gamma) + (K-1) L
// With S = 1 it is the worst broadcast there is, with the best S the one for large N.
//
// J. Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations, Cluster Computing
// 10 (2007).  NCCL broadcasts and reduces in this way only.
#include "collectives/algorithms/chain.hpp"

#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/rooted.hpp"
#include "collectives/algorithms/single.hpp"

namespace collsim {
namespace {

Program pass_down(Chain at, Span source, Span result, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    const Span chunk = result.piece(c, chunks);
    const Instruction step = at.is_first  ? copy_send(source.piece(c, chunks), chunk, at.next)
                             : at.is_last ? receive(at.previous, chunk)
                                          : receive_send(at.previous, chunk, at.next);
    co_yield step;
  }
}

Program add_up(Chain at, Span source, Span sum, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    const Span chunk = source.piece(c, chunks);
    const Instruction step = at.is_first  ? send(at.next, chunk)
                             : at.is_last ? receive_reduce(at.previous, chunk, sum.piece(c, chunks))
                                          : receive_reduce_send(at.previous, chunk, at.next);
    co_yield step;
  }
}

}  // namespace

Chain Chain::up(const Group& group) {
  const int me = group.me();
  return {group[me - 1], group[me + 1], me == 0, me == group.size() - 1};
}

Chain Chain::around(const Group& group) {
  const int me = group.me();
  return {group[me + 1], group[me - 1], me == 0, group.wrap(me - 1) == 0};
}

Chain Chain::down(const Group& group) {
  const int me = group.me();
  return {group[me + 1], group[me - 1], me == group.size() - 1, me == 0};
}

Program chain_broadcast(Chain at, Span source, Span result, int chunks) {
  if (at.is_first && at.is_last) return copy_alone(source, result);
  return pass_down(at, source, result, chunks);
}

Program chain_reduce(Chain at, Span source, Span sum, int chunks) {
  if (at.is_first && at.is_last) return copy_alone(source, sum);
  return add_up(at, source, sum, chunks);
}

Program broadcast_chain(const Task& task) {
  return chain_broadcast(Chain::up(from_root(task)), own_vector(task), task.share(task.output),
                         task.chunks);
}

Program broadcast_bidirectional_chain(const Task& task) {
  const Group group = from_root(task);
  return chain_broadcast(task.role == 0 ? Chain::up(group) : Chain::around(group),
                         own_vector(task).piece(task.role, 2),
                         task.share(task.output).piece(task.role, 2), task.chunks);
}

Program reduce_chain(const Task& task) {
  return chain_reduce(Chain::down(from_root(task)), own_vector(task), task.share(task.output),
                      task.chunks);
}

}  // namespace collsim
