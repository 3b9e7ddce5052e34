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
// All-reduce: chunks travel up the line to position 0, each rank adding its own, turn there, and
// travel down the line complete.
//
//   up     K-1 -> ... -> 2 -> 1 -> 0
//   down   0 -> 1 -> 2 -> ... -> K-1
//
// The chunks follow each other at a distance of one message, and the way down of the first overlaps
// the way up of the others, so every rank runs two lanes.  In place, a chunk that comes down
// overwrites what the up lane read; it is long gone by then, but only the other lane can say so.
//
// With the best S a broadcast takes (sqrt((K-2) alpha) + sqrt(N/B))^2 (and L): nothing is better
// for large N.  With S = 1 it is the worst broadcast there is.
//
// J. Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations, Cluster Computing
// 10 (2007).  NCCL broadcasts and reduces in this way only.
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

// A place in a chain: data come from the previous and go to the next.
struct Chain {
  Endpoint previous, next;
  bool is_first = false;  // nothing before me
  bool is_last = false;   // nothing after me

  // Up the positions of a group, 0 -> 1 -> ... -> K-1; from 0 around the other way,
  // 0 -> K-1 -> ... -> 1; and down to 0, K-1 -> ... -> 1 -> 0.
  static Chain up(const Group& group) {
    const int me = group.me();
    return {group[me - 1], group[me + 1], me == 0, me == group.size() - 1};
  }
  static Chain around(const Group& group) {
    const int me = group.me();
    return {group[me + 1], group[me - 1], me == 0, group.wrap(me - 1) == 0};
  }
  static Chain down(const Group& group) {
    const int me = group.me();
    return {group[me + 1], group[me - 1], me == group.size() - 1, me == 0};
  }
  // Once around a ring.
  static Chain along(const Ring& ring, int first) {
    return {ring.previous, ring.next, ring.place == first, ring.place == ring.before(first)};
  }
};

// From the root and to the root.  Among nodes of several GPUs each, a channel goes along its ring,
// so that all NICs carry their share.
Chain chain_from_root(const Task& task) {
  if (task.per_node == 1 && task.order.empty()) return Chain::up(from_root(task));
  const Ring ring = Ring::up(task);
  return Chain::along(ring, ring.place_of(task.root));
}
Chain chain_to_root(const Task& task) {
  if (task.per_node == 1 && task.order.empty()) return Chain::down(from_root(task));
  const Ring ring = Ring::up(task);
  return Chain::along(ring, ring.after(ring.place_of(task.root)));
}

Program chain_broadcast(Chain at, Span source, Span result) {
  if (at.is_first && at.is_last) return copy_alone(source, result);
  return only(at.is_first  ? store_and_send(source, result, at.next)
              : at.is_last ? receive(at.previous, result)
                           : receive_send(at.previous, result, at.next));
}

Program chain_reduce(Chain at, Span source, Span sum) {
  if (at.is_first && at.is_last) return copy_alone(source, sum);
  return only(at.is_first  ? send(at.next, source)
              : at.is_last ? receive_reduce(at.previous, source, sum)
                           : receive_reduce_send(at.previous, source, at.next));
}

// Up a line, which is a ring that is cut open before its place 0, and down it.
Program chain_up(Ring line, Endpoint self, Span source, Span result) {
  const bool first = line.place == 0, last = line.place == line.size - 1;
  const Endpoint above = first ? role_above(line.next, 1) : line.previous;
  ChunkByChunk<> step;
  step.add(first  ? receive_reduce_store_send(line.next, source, result, above)
           : last ? send(above, source)
                  : receive_reduce_send(line.next, source, above));
  if (!first && source == result) step.add(signal(role_above(self, 1)));
  co_yield step;
}

Program chain_down(Ring line, Endpoint self, bool in_place, Span result) {
  const Endpoint above = line.place == 1 ? role_above(line.previous, -1) : line.previous;
  ChunkByChunk<> step;
  if (in_place) step.add(wait(role_above(self, -1)));
  step.add(line.place == line.size - 1 ? receive(above, result)
                                       : receive_send(above, result, line.next));
  co_yield step;
}

Program chain_all_reduce(const Task& task) {
  const Span source = source_vector(task), result = result_vector(task);
  const bool up = task.role == 0;
  if (task.group.size() == 1) return up ? copy_alone(source, result) : Program();
  const Ring line = Ring::up(task);
  if (up) return chain_up(line, task.group.self(), source, result);
  if (line.place == 0) return {};  // the up lane sends the sum down itself
  return chain_down(line, task.group.self(), task.in_place, result);
}

constexpr std::string_view chain_reduce_time =
    "(K-1)*(tau(N/S) + N/S*gamma + L) + (S-1)*max(tau(N/S), N/S*gamma)";
constexpr std::string_view chain_all_reduce_time =
    "(K-1)*(2*tau(N/S) + 2*L + N/S*gamma) + (S-1)*max(tau(N/S), N/S*gamma)";

bool links_are_slower_than_adding(const CostCase& c) {
  return when::from_the_end(c) && c.symbols.gamma * c.symbols.B <= 1;
}
bool chain_lanes_keep_apart(const CostCase& c) {
  return !c.on_ports() || when::one_chunk(c) || c.ranks() == 2;
}

}  // namespace

extern const Algorithm broadcast_chain{
    .operation = Operation::broadcast,
    .name = "chain",
    .aliases = {"ring", "pipeline"},
    .summary = "every rank forwards chunks to the next",
    .program =
        [](const Task& task) {
          return chain_broadcast(chain_from_root(task), own_vector(task), task.share(task.output));
        },
    .messages_exceed_a_block = true,
    .messages = MessagesAtOnce::chain_from_root,
    .costs = {{{on::any, "(K-2+S)*tau(N/S) + (K-1)*L", "S", literature::chan, when::from_the_end,
                "sqrt((K-2)*N/(alpha*B))"}}}};

extern const Algorithm broadcast_bidirectional_chain{
    .operation = Operation::broadcast,
    .name = "bidirectional-chain",
    .summary = "two chains, one each way around, each with half of the data",
    .program =
        [](const Task& task) {
          const Group group = from_root(task);
          return chain_broadcast(task.role == 0 ? Chain::up(group) : Chain::around(group),
                                 own_vector(task).piece(task.role, 2),
                                 task.share(task.output).piece(task.role, 2));
        },
    .lanes = 2,
    .messages_exceed_a_block = true,
    .costs = {{{on::both_ways_around, "(K-2+S)*tau(N/(2*S)) + (K-1)*L", "2*S", literature::chan,
                when::more_than_two_ranks, "sqrt((K-2)*N/(2*alpha*B))"}}}};

extern const Algorithm reduce_chain{
    .operation = Operation::reduce,
    .name = "chain",
    .aliases = {"ring", "pipeline"},
    .summary = "every rank adds its chunk and forwards the sum to the next",
    .program =
        [](const Task& task) {
          return chain_reduce(chain_to_root(task), own_vector(task), task.share(task.output));
        },
    .messages_exceed_a_block = true,
    .costs = {{{on::any, chain_reduce_time, "S", literature::flow_shop,
                links_are_slower_than_adding, "sqrt(((K-2)/B + (K-1)*gamma)*N/alpha)"},
               {on::any, chain_reduce_time, "S", literature::flow_shop, when::from_the_end}}}};

extern const Algorithm all_reduce_chain{
    .operation = Operation::all_reduce,
    .name = "chain",
    .aliases = {"pipeline"},
    .summary = "chunks are added up along a line to position 0 and travel back down",
    .program = chain_all_reduce,
    .lanes = 2,
    .messages_exceed_a_block = true,
    .costs = {
        {{on::chain | on::both_ways_around, chain_all_reduce_time, "S", literature::flow_shop,
          when::adding_is_free, "sqrt((2*K-3)*N/(alpha*B))"},
         {on::any, chain_all_reduce_time, "S", literature::flow_shop, chain_lanes_keep_apart}}}};

}  // namespace collsim
