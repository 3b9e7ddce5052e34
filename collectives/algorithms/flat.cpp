// SPDX-License-Identifier: Apache-2.0
//
// Flat (linear): the root deals with every other rank directly, one after the other.
//
//   broadcast, step t = 1 .. K-1: the root sends everything to rank t
//   reduce,    step t: rank t has sent everything; the root adds it up
//   scatter,   step t: the root sends block t to rank t
//   gather,    step t: the root receives block t from rank t
// (ranks counted from the root).
//
// No rank forwards anything: the right choice for K = 2 and for full meshes.  Elsewhere broadcast
// and reduce cost K-1 times what a port needs for the data once; scatter and gather are optimal in
// bytes and lose only the startups, K-1 instead of log2(K).
#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"
#include "collectives/cost/conditions.hpp"

namespace collsim {
namespace {

Program send_to_all(Group group, Span source, Span result) {
  co_yield store_and_send(source, result, group[1]);
  for (int other = 2; other < group.size(); ++other) co_yield send(group[other], source);
}

Program reduce_from_all(Group group, Span source, Span sum) {
  co_yield receive_reduce(group[1], source, sum);
  for (int other = 2; other < group.size(); ++other)
    co_yield receive_reduce(group[other], sum, sum);
}

// `blocks` are those of the root's buffer, in the order of the group.
Program receive_from_all(Group group, Span own, Blocks blocks) {
  const int root = group.me();
  if (own != blocks[root]) co_yield copy(own, blocks[root]);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int source = group.wrap(root + distance);
    co_yield receive(group[source], blocks[source]);
  }
}

Program send_blocks_to_all(Group group, Blocks blocks, Span own) {
  const int root = group.me();
  for (int distance = 1; distance < group.size(); ++distance) {
    const int target = group.wrap(root + distance);
    co_yield send(group[target], blocks[target]);
  }
  if (own != blocks[root]) co_yield copy(blocks[root], own);
}

Program flat_broadcast(const Task& task) {
  const Group group = from_root(task);
  const Span result = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), result);
  if (group.me() > 0) return only(receive(group[0], result));
  return send_to_all(group, own_vector(task), result);
}

Program flat_reduce(const Task& task) {
  const Group group = from_root(task);
  const Span sum = task.share(task.output);
  if (group.size() == 1) return copy_alone(own_vector(task), sum);
  if (group.me() > 0) return only(send(group[0], own_vector(task)));
  return reduce_from_all(group, own_vector(task), sum);
}

Program flat_gather(const Task& task) {
  const Blocks blocks = task.blocks(task.output);
  const Span own = own_block(task, blocks, task.input);
  if (task.group.me() != task.root) return only(send(task.group[task.root], own));
  return receive_from_all(task.group, own, blocks);
}

Program flat_scatter(const Task& task) {
  const Blocks blocks = task.blocks(task.input);
  const Span own = own_block(task, blocks, task.output);
  if (task.group.me() != task.root) return only(receive(task.group[task.root], own));
  return send_blocks_to_all(task.group, blocks, own);
}

}  // namespace

extern const Algorithm broadcast_flat{
    .operation = Operation::broadcast,
    .name = "flat",
    .aliases = {"linear"},
    .summary = "the root sends everything to every rank",
    .program = flat_broadcast,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "(K-1)*S*tau(N/S) + L", "S", literature::hockney},
               {on::links, "hop(N)", "S", literature::hockney}}}};

extern const Algorithm reduce_flat{
    .operation = Operation::reduce,
    .name = "flat",
    .aliases = {"linear"},
    .summary = "the root adds up what every rank sends",
    .program = flat_reduce,
    .messages_exceed_a_block = true,
    .costs = {{{on::ports, "(K-1)*S*tau(N/S) + L", "S", literature::hockney, when::adding_is_free},
               {on::ports, "tau(N) + L + (K-2)*max(tau(N), N*gamma) + N*gamma", "S",
                literature::hockney, when::all_of<when::one_chunk, when::root_takes_in_order>},
               {on::links, "reduce_hop(N) + (K-2)*N*gamma", "S", literature::hockney}}}};

extern const Algorithm gather_flat{
    .operation = Operation::gather,
    .name = "flat",
    .aliases = {"linear"},
    .summary = "the root receives from every rank in turn",
    .program = flat_gather,
    .costs = {{{on::ports, "(K-1)*S*tau(N/(K*S)) + L", "K*S", literature::hockney},
               {on::links, "hop(N/K)", "K*S", literature::hockney}}}};

extern const Algorithm scatter_flat{
    .operation = Operation::scatter,
    .name = "flat",
    .aliases = {"linear"},
    .summary = "the root sends to every rank in turn",
    .program = flat_scatter,
    .costs = {{{on::ports, "(K-1)*S*tau(N/(K*S)) + L", "K*S", literature::hockney},
               {on::links, "hop(N/K)", "K*S", literature::hockney}}}};

}  // namespace collsim
