// SPDX-License-Identifier: Apache-2.0
//
// Bruck all-gather: every rank keeps its blocks in the order r, r+1, r+2, ... (mod K), beginning
// with its own.  In step d = 1, 2, 4, ... rank r has the first d of them; it sends the first
// min(d, K-d) to rank r-d and gets those of rank r+d, which are its own d-th and following.  At the
// end the blocks are rotated into the order of the output.
//
//   K = 3, rank 0:   0 | 1     from rank 1 (d = 1)
//                    0 1 | 2   from rank 2 (d = 2, only one block is missing)
//
// Cost:  ceil(log2 K) alpha + (K-1)/K N/B for any K, and the rotation: N bytes copied.
//
// With one channel the rotation is two copies (one at rank 0); with several, a channel's shares of
// the blocks are not neighbours in the output, and each is copied alone.
//
// J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient algorithms for all-to-all
// communications in multiport message-passing systems, IEEE Trans. Parallel Distrib. Syst. 8
// (1997).
#include <algorithm>

#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"
#include "collectives/algorithms/turned_blocks.hpp"

namespace collsim {
namespace {

// In scratch the blocks lie as `turned` says: mine first, then those of the ranks above me.
Program bruck_all_gather(Group group, Span mine, Blocks output, TurnedBlocks turned, bool gaps,
                         Span scratch, int chunks) {
  const int me = group.me(), ranks = group.size();
  if (ranks == 1) {
    if (mine != output[0]) co_yield copy(mine, output[0]);
    co_return;
  }
  for (int d = 1; d < ranks; d *= 2) {
    const int blocks = std::min(d, ranks - d);
    const Span have = turned.range(scratch, 0, 0, blocks);
    const Span missing = turned.range(scratch, 0, d, d + blocks);
    for (int c = 0; c < chunks; ++c) {
      if (d == 1)
        co_yield copy_send(mine.piece(c, chunks), have.piece(c, chunks), group[me - d]);
      else
        co_yield send(group[me - d], have.piece(c, chunks));
    }
    for (int c = 0; c < chunks; ++c) co_yield receive(group[me + d], missing.piece(c, chunks));
  }
  if (gaps) {
    for (int i = 0; i < ranks; ++i)
      co_yield copy(turned.range(scratch, 0, i, i + 1), output[group.wrap(me + i)]);
    co_return;
  }
  const int above = ranks - me;
  co_yield copy(turned.range(scratch, 0, 0, above), joined(output, me, above));
  if (me > 0) co_yield copy(turned.range(scratch, 0, above, ranks), joined(output, 0, me));
}

}  // namespace

Program all_gather_bruck(const Task& task) {
  const TurnedBlocks turned(task.output.count, task.group.size(), task.channel, task.group.me());
  return bruck_all_gather(task.group, gathered_block(task), task.blocks(task.output), turned,
                          task.channel.of > 1, task.scratch, task.chunks);
}

std::int64_t all_gather_bruck_scratch(const Task& task) {
  return count_of_shares(task, task.output);
}

}  // namespace collsim
