// SPDX-License-Identifier: Apache-2.0
//
// Direct exchanges: everybody sends straight to everybody, all at once.  Rank r posts its messages
// to r+1, r+2, ... (mod K), then takes those from r-1, r-2, ...; starting with the neighbour
// spreads the load, at any moment everybody is sent to by somebody else.
//
//   all-gather       r sends its block to all
//   reduce-scatter   r sends block j to rank j, for all j, and adds up what it gets of block r
//   one-shot         all-reduce: r sends its whole vector to all, and adds up all K vectors
//   two-shot         all-reduce: direct reduce-scatter, then direct all-gather
//
// One round is the least there can be, and on a full mesh everything flows at once.  One-shot moves
// K/2 times the bytes of two-shot: it is for vectors so short that only alpha counts.
//
// Cost, N bytes in all:         full mesh         switch, one port per rank
//   all-gather, reduce-scatter   tau(N/K)          (K-1) tau(N/K)
//   one-shot                     tau(N)            (K-1) tau(N)
//   two-shot                    2 tau(N/K)        2(K-1) tau(N/K)
// and (K-1)/K N/gamma for the reduction, (K-1) N/gamma in one-shot.
//
// One-shot and two-shot are the custom all-reduce kernels of vLLM and TensorRT-LLM.
#include "collectives/algorithms/direct.hpp"

#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {

Program direct_all_gather(Group group, Span mine, Blocks all, int chunks) {
  const int me = group.me();
  for (int d = 1; d < group.size(); ++d)
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], mine.piece(c, chunks));
  if (mine != all[me]) co_yield copy(mine, all[me]);
  for (int d = 1; d < group.size(); ++d)
    for (int c = 0; c < chunks; ++c) co_yield receive(group[me - d], all(group.wrap(me - d), c));
}

Program direct_reduce_scatter(Group group, Blocks source, Span mine, int chunks) {
  const int me = group.me();
  for (int d = 1; d < group.size(); ++d)
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], source(group.wrap(me + d), c));
  Span partial = source[me];
  for (int d = 1; d < group.size(); ++d) {
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[me - d], partial.piece(c, chunks), mine.piece(c, chunks));
    partial = mine;
  }
  if (partial != mine) co_yield copy(partial, mine);
}

namespace {

Program one_shot(Group group, Span source, Span result, int chunks) {
  const int me = group.me();
  for (int d = 1; d < group.size(); ++d)
    for (int c = 0; c < chunks; ++c) co_yield send(group[me + d], source.piece(c, chunks));
  Span partial = source;
  for (int d = 1; d < group.size(); ++d) {
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[me - d], partial.piece(c, chunks), result.piece(c, chunks));
    partial = result;
  }
  if (partial != result) co_yield copy(partial, result);
}

Program two_shot(Group group, Blocks source, Blocks result, int chunks) {
  const Span mine = result[group.me()];
  co_yield direct_reduce_scatter(group, source, mine, chunks);
  co_yield direct_all_gather(group, mine, result, chunks);
}

}  // namespace

Program all_gather_direct(const Task& task) {
  return direct_all_gather(task.group, gathered_block(task), task.blocks(task.output), task.chunks);
}

Program reduce_scatter_direct(const Task& task) {
  return direct_reduce_scatter(task.group, scattered_blocks(task), scattered_block(task),
                               task.chunks);
}

Program all_reduce_one_shot(const Task& task) {
  return one_shot(task.group, source_vector(task), result_vector(task), task.chunks);
}

Program all_reduce_two_shot(const Task& task) {
  const int ranks = task.group.size();
  return two_shot(task.group, Blocks(source_vector(task), ranks, task.chunks),
                  Blocks(result_vector(task), ranks, task.chunks), task.chunks);
}

}  // namespace collsim
