// SPDX-License-Identifier: Apache-2.0
//
// Pairwise all-to-all: every rank has a block for every other rank, and in each of K-1 rounds sends
// one and receives one.
//
//   round d = 1 .. K-1: rank r sends its block r+d to rank r+d and receives from rank r-d
//
//   K = 4:   d = 1   0 -> 1   1 -> 2   2 -> 3   3 -> 0
//            d = 2   0 -> 2   1 -> 3   2 -> 0   3 -> 1
//            d = 3   0 -> 3   1 -> 0   2 -> 1   3 -> 2
//
// In every round the ranks form disjoint pairs, so no port is wanted twice, and a rank starts a
// round only when it has received in the one before.  Every block goes straight to its place:
// optimal in bytes, but K-1 startups.
//
// Hierarchical all-to-all for G nodes of L ranks; position p is local rank p mod L of node p / L.
// The ranks with the same local rank form a rail, usually with its own network.
//
//   1. In the node, pairwise: rank l gives rank l' everything that rail l' is to get,
//      G blocks in one message.
//   2. On the rail, pairwise: the rank gives node n' all that its whole node has for the member of
//      the rail there, L blocks in one message.
//
//   G = 2, L = 2, block from 0 to 3:   0 -(node)-> 1 -(rail)-> 3
//
// So the slow network carries (G-1) messages of L blocks per rank instead of (G-1) L messages of
// one block, and every rank uses only its own rail.
//
// Blocks are brought into the order of the messages by copies in scratch, twice.
//
// While the node works the rails are idle, and the other way around.  So odd channels go the other
// way: first along the rail to the right node, L blocks in one message, then in the node, G blocks
// in one.  With two channels both networks are busy all the time: where the rails are the slower
// ones, they alone decide.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19 (2005).
//
// "PXN" of NCCL 2.12 and the two-step all-to-all of mixture-of-experts libraries (e.g. Tutel,
// MLSys 2023) do this.
#include <algorithm>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {

// Even blocks made of `unit` elements.
struct UnitBlocks {
  Span units;  // counted in units
  std::int64_t unit = 1;
  int blocks = 1;

  [[nodiscard]] Span operator[](int block) const {
    const Span piece = Span{units.buffer, 0, units.count}.piece(block, blocks);
    return Span{units.buffer, units.offset + piece.offset * unit, piece.count * unit};
  }
};

namespace {

// Block i of `source` goes to member i, block i of `result` comes from there.  A source is anything
// that says where block i lies: Blocks, or blocks of lengths that those cannot have.
template <class Source>
Program pairwise_exchange(Group group, Source source, Blocks result) {
  const int me = group.me();
  // Cut like the blocks for others, which a copy by itself is not.
  co_yield chunk_by_chunk(copy(source[me], result[me]));
  for (int distance = 1; distance < group.size(); ++distance) {
    const int target = group.wrap(me + distance);
    co_yield send(group[target], source[target]);
    const int origin = group.wrap(me - distance);
    co_yield receive(group[origin], result[origin]);
  }
}

// The three stages of one channel's blocks in scratch.  A channel's shares of K even blocks, end to
// end, are themselves K even blocks (the longer first); of those, the blocks for the rails are
// again L even pieces of the whole, and the blocks for the nodes G even pieces of a rail's: a rail
// takes every L-th block, so the longer ones, which come first, are dealt out in turn.
//
//   G = 2, L = 2, 11 elements: the blocks are 3 3 3 2 long.  Rail 0 gets blocks 0 and 2, 6
//   elements, rail 1 gets 1 and 3, 5 elements: 11 in two even pieces.  Rail 1's 5 are 3 for node 0
//   and 2 for node 1: again even.  With two channels the first has shares 2 2 2 1, 7 in four even
//   pieces.
struct Stages {
  std::int64_t all = 0;      // this channel's share of the input
  std::int64_t on_rail = 0;  // of that, what my rail is to get
  std::int64_t result = 0;   // this channel's share of the output
  int nodes = 1;
  int per_node = 1;

  // Packed for the rails, then for the nodes.
  [[nodiscard]] std::int64_t packed() const { return std::max(all, per_node * on_rail); }
  [[nodiscard]] std::int64_t received() const { return per_node * on_rail; }
};

Stages stages_of(const Task& task) {
  const int size = task.group.size();
  const Blocks input = task.blocks(task.input);
  Stages stages;
  stages.per_node = task.dims.back();
  stages.nodes = size / stages.per_node;
  const int local = task.group.me() % stages.per_node;
  for (int i = 0; i < size; ++i) {
    stages.all += input[i].count;
    if (i % stages.per_node == local) stages.on_rail += input[i].count;
  }
  stages.result = size * input[task.group.me()].count;
  return stages;
}

Program two_step_exchange(Group group, Stages stages, Blocks input, Blocks output, Span packed,
                          Span received, Span result) {
  const int nodes = stages.nodes;
  const int per_node = stages.per_node;
  const int node = group.me() / per_node;
  const int local = group.me() % per_node;

  Span place = packed.sub(0, 0);
  for (int rail = 0; rail < per_node; ++rail)
    for (int n = 0; n < nodes; ++n) {
      const Span block = input[n * per_node + rail];
      place = packed.sub(place.offset + place.count - packed.offset, block.count);
      co_yield copy(block, place);
    }
  co_yield pairwise_exchange(group.every(1, node * per_node, per_node),
                             Blocks(packed.sub(0, stages.all), per_node),
                             Blocks(received, per_node));

  place = packed.sub(0, 0);
  for (int n = 0; n < nodes; ++n)
    for (int source = 0; source < per_node; ++source) {
      const Span from = received.piece(source, per_node).piece(n, nodes);
      place = packed.sub(place.offset + place.count - packed.offset, from.count);
      co_yield copy(from, place);
    }
  co_yield pairwise_exchange(group.every(per_node, local, nodes),
                             UnitBlocks{packed.sub(0, stages.on_rail), per_node, nodes},
                             Blocks(result, nodes));

  if (result.buffer == Buffer::output) co_return;
  for (int i = 0; i < group.size(); ++i) co_yield copy(result.piece(i, group.size()), output[i]);
}

// --- rails first --------------------------------------------------------------------------------

// Blocks of which each is `times` as long as the range `part` blocks long of one channel's shares.
struct Ranges {
  RotatedBlocks shares;
  Span memory;
  int first = 0;
  int part = 1;
  int times = 1;

  [[nodiscard]] Span operator[](int i) const {
    const int begin = first + i * part;
    return memory.sub(times * shares.count(first, begin),
                      times * shares.count(begin, begin + part));
  }
};

// The same stages, seen from a rank: what its node is to get of one rank, and its own block.
struct RailStages {
  RotatedBlocks shares;
  std::int64_t all = 0;
  std::int64_t of_node = 0;
  std::int64_t block = 0;
  int nodes = 1;
  int per_node = 1;
  int node = 0;

  [[nodiscard]] std::int64_t packed() const { return std::max(all, nodes * of_node); }
  [[nodiscard]] std::int64_t received() const { return nodes * of_node; }
  [[nodiscard]] std::int64_t result() const { return std::int64_t{nodes} * per_node * block; }
};

RailStages rail_stages_of(const Task& task) {
  const int size = task.group.size();
  const int me = task.group.me();
  const int per_node = task.dims.back();
  const RotatedBlocks shares(task.input.count, size, task.channel, 0);
  const int node = me / per_node;
  return {shares,
          shares.count(0, size),
          shares.count(node * per_node, (node + 1) * per_node),
          shares.count(me, me + 1),
          size / per_node,
          per_node,
          node};
}

Program rails_first_exchange(Group group, RailStages stages, Blocks input, Blocks output,
                             Span packed, Span received, Span result) {
  const int nodes = stages.nodes;
  const int per_node = stages.per_node;
  const int first = stages.node * per_node;
  const int local = group.me() - first;

  const Ranges for_ranks{stages.shares, packed};
  for (int i = 0; i < group.size(); ++i) co_yield copy(input[i], for_ranks[i]);
  co_yield pairwise_exchange(group.every(per_node, local, nodes),
                             Ranges{stages.shares, packed, 0, per_node}, Blocks(received, nodes));

  const Ranges for_locals{stages.shares, packed, first, 1, nodes};
  for (int target = 0; target < per_node; ++target)
    for (int n = 0; n < nodes; ++n) {
      const Ranges from_node{stages.shares, received.piece(n, nodes), first};
      co_yield copy(from_node[target], for_locals[target].piece(n, nodes));
    }
  co_yield pairwise_exchange(group.every(1, first, per_node), for_locals, Blocks(result, per_node));

  for (int i = 0; i < group.size(); ++i)
    co_yield copy(result.piece(i % per_node, per_node).piece(i / per_node, nodes), output[i]);
}

Program all_to_all_rails_first(const Task& task) {
  const RailStages stages = rail_stages_of(task);
  const Span packed = task.scratch.sub(0, stages.packed());
  const Span received = task.scratch.sub(packed.count, stages.received());
  const Span result = task.scratch.sub(packed.count + received.count, stages.result());
  return rails_first_exchange(task.group, stages, task.blocks(task.input), task.blocks(task.output),
                              packed, received, result);
}

Program all_to_all_in_two_steps(const Task& task) {
  if (task.channel.part % 2 == 1) return all_to_all_rails_first(task);
  const Stages stages = stages_of(task);
  const Span packed = task.scratch.sub(0, stages.packed());
  const Span received = task.scratch.sub(stages.packed(), stages.received());
  const Span result = task.channel.of == 1
                          ? task.output
                          : task.scratch.sub(stages.packed() + stages.received(), stages.result);
  return two_step_exchange(task.group, stages, task.blocks(task.input), task.blocks(task.output),
                           packed, received, result);
}

std::int64_t all_to_all_in_two_steps_scratch(const Task& task) {
  const Stages stages = stages_of(task);
  const std::int64_t node_first =
      stages.packed() + stages.received() + (task.channel.of == 1 ? 0 : stages.result);
  if (task.channel.of == 1) return node_first;
  const RailStages rails = rail_stages_of(task);
  return std::max(node_first, rails.packed() + rails.received() + rails.result());
}

}  // namespace

extern const Algorithm all_to_all_pairwise{
    .operation = Operation::all_to_all,
    .name = "pairwise",
    .aliases = {"spread-out"},
    .summary = "round d: send to the rank d ahead, receive from the one d behind",
    .program =
        [](const Task& task) {
          return pairwise_exchange(task.group, task.blocks(task.input), task.blocks(task.output));
        },
    .symmetry = Symmetry::rotation,
    .costs = {{{on::ports | on::links, "(K-1)*hop(N/K)", "K*S", literature::thakur}}}};

extern const Algorithm all_to_all_hierarchical{
    .operation = Operation::all_to_all,
    .name = "hierarchical",
    .summary = "in the node to the right rail, then along it; odd channels rails first",
    .program = all_to_all_in_two_steps,
    .knobs = {.dims = true},
    .scratch = all_to_all_in_two_steps_scratch,
    .messages_exceed_a_block = true,
    .levels = {.inner = {&all_to_all_pairwise}, .outer = &all_to_all_pairwise}};

}  // namespace collsim
