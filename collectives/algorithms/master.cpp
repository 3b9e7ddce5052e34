// SPDX-License-Identifier: Apache-2.0
//
// All-reduce through a master (a parameter server with one server): all others send their vectors
// to the root, which adds them in order of position, then sends the sum to all, one after the
// other.
//
// Cost:  2(K-1) tau(N) + (K-1) N/gamma on a switch, because everything passes the root's one port.
// The others send and receive only N bytes each; adding ranks makes only the root busier.
#include "collectives/algorithms/buffers.hpp"
#include "collectives/algorithms/programs.hpp"

namespace collsim {
namespace {

// The master is position 0.
Program master_all_reduce(Group group, Span source, Span result, int chunks) {
  if (group.me() > 0) {
    for (int c = 0; c < chunks; ++c) co_yield send(group[0], source.piece(c, chunks));
    for (int c = 0; c < chunks; ++c) co_yield receive(group[0], result.piece(c, chunks));
    co_return;
  }
  Span partial = source;
  for (int worker = 1; worker < group.size(); ++worker) {
    for (int c = 0; c < chunks; ++c)
      co_yield receive_reduce(group[worker], partial.piece(c, chunks), result.piece(c, chunks));
    partial = result;
  }
  if (partial != result) co_yield copy(partial, result);
  for (int worker = 1; worker < group.size(); ++worker)
    for (int c = 0; c < chunks; ++c) co_yield send(group[worker], result.piece(c, chunks));
}

}  // namespace

Program all_reduce_master(const Task& task) {
  return master_all_reduce(task.group.turned_to(task.root), source_vector(task),
                           result_vector(task), task.chunks);
}

}  // namespace collsim
