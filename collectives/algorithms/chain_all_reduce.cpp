// SPDX-License-Identifier: Apache-2.0
//
// Chain all-reduce: the ranks stand in a line.  The vector is cut into S chunks; they travel up the
// line to position 0, everybody adding its own, turn there, and travel down the line complete.
//
//   up     K-1 -> ... -> 2 -> 1 -> 0
//   down   0 -> 1 -> 2 -> ... -> K-1
//
// The chunks follow each other at a distance of one message, and the way down of the first overlaps
// the way up of the others, so every rank runs two lanes.  In place, a chunk that comes down
// overwrites what the up lane read; it is long gone by then, but only the other lane can say so.
//
// Cost on a line with full-duplex links:
//   (2(K-1) + S-1) tau(N/S), best S = sqrt((2K-3) N / (alpha B))
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/lanes.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

Program chain_up(Group line, Span source, Span result, int chunks) {
  const int me = line.me();
  const Endpoint down = role_above(line.self(), 1);
  if (line.size() == 1 && source != result) co_yield copy(source, result);
  if (line.size() == 1) co_return;
  const bool last = me == line.size() - 1;
  const Endpoint below = last ? Endpoint{} : line[me + 1];
  const Endpoint above = me > 0 ? line[me - 1] : role_above(below, 1);
  for (int c = 0; c < chunks; ++c) {
    const Span chunk = source.piece(c, chunks);
    if (me == 0)
      co_yield receive_reduce_store_send(below, chunk, result.piece(c, chunks), above);
    else if (last)
      co_yield send(above, chunk);
    else
      co_yield receive_reduce_send(below, chunk, above);
    if (me > 0 && source == result) co_yield signal(down);
  }
}

Program chain_down(Group line, bool in_place, Span result, int chunks) {
  const int me = line.me();
  if (me == 0) co_return;  // the up lane sends the sum down itself
  const Endpoint up = role_above(line.self(), -1);
  const Endpoint above = me == 1 ? role_above(line[0], -1) : line[me - 1];
  for (int c = 0; c < chunks; ++c) {
    if (in_place) co_yield wait(up);
    if (me == line.size() - 1)
      co_yield receive(above, result.piece(c, chunks));
    else
      co_yield receive_send(above, result.piece(c, chunks), line[me + 1]);
  }
}

}  // namespace

Program all_reduce_chain(const Task& task) {
  if (task.role == 1)
    return chain_down(task.group, task.in_place, result_vector(task), task.chunks);
  return chain_up(task.group, source_vector(task), result_vector(task), task.chunks);
}

}  // namespace collsim
