// SPDX-License-Identifier: Apache-2.0
//
// CollNet: the network adds.  Where the switches between nodes can add and multicast (SHARP of
// InfiniBand), a node sends every byte once and receives the sum once, however many nodes there
// are; a ring sends and receives it almost twice.
//
// collnet-direct: each of the n GPUs of a node is the head of one block of the vector.
//
//   scatter  GPU m:   block h to up(h), for every other head h
//   up       GPU h:   adds them to its own, to the network
//   add      switch:  the sum over all nodes, to all heads of this block (in_switch.hpp)
//   down     GPU h:   keeps it, to gather(m) of all others
//   gather   GPU m:   the blocks of the others
//
// so S/n go through every GPU's NIC each way, and 2(n-1)/n S out of every GPU.  All-gather is the
// second half, on the blocks of the heads of all nodes, reduce-scatter the first.
//
// collnet-chain: the GPUs of a node are a chain, at whose end one of them, another for every
// channel, sends to the network what has been added up on the way to it; what comes back goes down
// the same chain.  With a channel per GPU every NIC carries S/n each way.
//
// Where the network's switches cannot add, their lanes run in the ranks.
//
// NCCL has both since 2.9, as CollnetDirect and CollnetChain.
#include <array>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/in_switch.hpp"

namespace collsim {
namespace {

using enum SwitchRole;

// Of the lanes of a channel, the last three run in the network's switch.
constexpr std::array lanes_of_direct{scatter, gather, up, down, add, network_up, network_down};
constexpr std::array lanes_of_direct_gather{gather, up, down, add, network_up, network_down};
constexpr std::array lanes_of_direct_scatter{scatter, up, down, add, network_up, network_down};
constexpr std::array lanes_of_chain{up, down, add, network_up, network_down};
constexpr int lanes_in_network_of_collnet = 3;

void add_signal_in_place(Steps& steps, const Task& task, const Endpoint& other) {
  if (task.in_place) steps.push_back(signal(other));
}
void add_wait_in_place(Steps& steps, const Task& task, const Endpoint& other) {
  if (task.in_place) steps.push_back(wait(other));
}

// --- direct -------------------------------------------------------------------------------------

// What comes from the others of the node, added to my own in `sum`.
Steps add_up_node(const InNode& at, Span own, Span sum) {
  Steps steps;
  for (int peer = 1; peer < at.size(); ++peer)
    steps.push_back(receive_reduce(at.lane(scatter, at.me() - peer), peer == 1 ? own : sum, sum));
  return steps;
}

void send_to_node(Steps& steps, const InNode& at, Span block) {
  for (int peer = 1; peer < at.size(); ++peer)
    steps.push_back(send(at.lane(gather, at.me() + peer), block));
}

Steps direct_up_to_gather(const Task& task, const InNode& at) {
  const Span own = gathered_block(task);
  const Span result = task.blocks(task.output)[task.group.me()];
  Steps steps;
  if (at.nodes() == 1) {
    if (own != result) steps.push_back(copy(own, result));
    send_to_node(steps, at, result);
    return steps;
  }
  steps.push_back(send(into_network(at), own));
  add_signal_in_place(steps, task, at.lane(down, at.me()));
  return steps;
}

Steps direct_up(const Task& task, const InNode& at, const Spans& sums) {
  const bool one_node = at.nodes() == 1;
  const bool all = task.collective->operation == Operation::all_reduce;
  const Spans own = given_columns(task, at.size())[at.me()];
  const Span result =
      all ? result_columns(task, at.size())[at.me()].front() : scattered_block(task);
  Steps steps;
  for (std::size_t row = 0; row < own.size(); ++row) {
    const Span sum = one_node ? result : sums[row];
    for (const Instruction& step : add_up_node(at, own[row], sum)) steps.push_back(step);
    if (!one_node) steps.push_back(send(into_network(at), at.size() == 1 ? own[row] : sum));
  }
  if (one_node && all) send_to_node(steps, at, result);
  if (!one_node) add_signal_in_place(steps, task, at.lane(down, at.me()));
  return steps;
}

Steps direct_down(const Task& task, const InNode& at) {
  if (at.nodes() == 1) return {};
  Steps steps;
  add_wait_in_place(steps, task, at.lane(up, at.me()));
  if (task.collective->operation == Operation::reduce_scatter) {
    steps.push_back(receive(out_of_network(at), scattered_block(task)));
    return steps;
  }
  for (const Span& block : result_columns(task, at.size())[at.me()]) {
    steps.push_back(receive(out_of_network(at), block));
    send_to_node(steps, at, block);
  }
  return steps;
}

Steps direct_scatter(const Task& task, const InNode& at) {
  const Columns given = given_columns(task, at.size());
  Steps steps;
  for (int step = 1; step < at.size(); ++step) {
    const int head = at.wrap(at.me() + step);
    for (const Span& block : given[head]) steps.push_back(send(at.lane(up, head), block));
  }
  if (task.collective->operation == Operation::all_reduce)
    add_signal_in_place(steps, task, at.lane(gather, at.me()));
  return steps;
}

Steps direct_gather(const Task& task, const InNode& at) {
  const Columns result = result_columns(task, at.size());
  Steps steps;
  if (task.collective->operation == Operation::all_reduce)
    add_wait_in_place(steps, task, at.lane(scatter, at.me()));
  const SwitchRole sender = at.nodes() == 1 ? up : down;
  for (int step = 1; step < at.size(); ++step) {
    const int head = at.wrap(at.me() - step);
    for (const Span& block : result[head]) steps.push_back(receive(at.lane(sender, head), block));
  }
  return steps;
}

Program direct(const Task& task, SwitchRoles roles, int first_kept) {
  if (task.group.size() == 1) return alone(task);
  const InNode at(task, roles, task.per_node);
  const Operation operation = task.collective->operation;
  const auto kept_here = [&] {
    const bool scatters = operation == Operation::reduce_scatter;
    const Columns columns =
        scatters ? given_columns(task, at.size()) : result_columns(task, at.size());
    return kept(task, at.size(), task.role - first_kept, columns[at.me()]);
  };
  switch (at.role()) {
    case scatter: return in_step(direct_scatter(task, at));
    case gather: return in_step(direct_gather(task, at));
    case down: return in_step(direct_down(task, at));
    case up:
      return in_step(operation == Operation::all_gather ? direct_up_to_gather(task, at)
                                                        : direct_up(task, at, kept_here()));
    default: return in_step(network_steps(at, operation, kept_here()));
  }
}

template <std::size_t lanes, int first_kept>
std::int64_t scratch_of_direct(const Task& task) {
  return (static_cast<std::int64_t>(lanes) - first_kept) * longest_column(task, task.per_node);
}

// --- chain --------------------------------------------------------------------------------------

// A member's place in the chain of a channel, whose head is at place 0.
struct ChainInNode {
  InNode at;
  int head;
  int place;

  ChainInNode(const Task& task, const InNode& node)
      : at(node), head(task.channel.part % node.size()), place(node.wrap(node.me() - head)) {}
  [[nodiscard]] Endpoint lane(SwitchRole role, int other) const {
    return at.lane(role, head + other);
  }
  [[nodiscard]] bool is_last() const { return place == at.size() - 1; }
};

Steps chain_up(const Task& task, const ChainInNode& chain) {
  const Span source = source_vector(task);
  const bool turns = chain.place == 0 && chain.at.nodes() == 1;
  Steps steps;
  if (turns) {
    steps.push_back(receive_reduce_store_send(chain.lane(up, 1), source, result_vector(task),
                                              chain.lane(down, 1)));
    return steps;
  }
  const Endpoint next = chain.place == 0 ? into_network(chain.at) : chain.lane(up, chain.place - 1);
  steps.push_back(chain.is_last()
                      ? send(next, source)
                      : receive_reduce_send(chain.lane(up, chain.place + 1), source, next));
  add_signal_in_place(steps, task, chain.lane(down, chain.place));
  return steps;
}

Steps chain_down(const Task& task, const ChainInNode& chain) {
  const Span result = result_vector(task);
  const bool one_node = chain.at.nodes() == 1;
  Steps steps;
  if (chain.place == 0 && one_node) return steps;
  add_wait_in_place(steps, task, chain.lane(up, chain.place));
  const Endpoint from = chain.place == 0
                            ? out_of_network(chain.at)
                            : chain.lane(chain.place == 1 && one_node ? up : down, chain.place - 1);
  steps.push_back(chain.is_last() ? receive(from, result)
                                  : receive_send(from, result, chain.lane(down, chain.place + 1)));
  return steps;
}

Program all_reduce_along_chains(const Task& task) {
  if (task.group.size() == 1) return alone(task);
  const InNode at(task, lanes_of_chain, task.per_node);
  const ChainInNode chain(task, at);
  if (at.role() == up) return in_step(chain_up(task, chain));
  if (at.role() == down) return in_step(chain_down(task, chain));
  if (chain.place != 0) return {};
  const std::int64_t share = result_vector(task).count;
  const Span mine = task.scratch.sub((task.role - 2) * share, share);
  return in_step(network_steps(at, Operation::all_reduce, {mine}));
}

}  // namespace

extern const Algorithm all_reduce_collnet_direct{
    .operation = Operation::all_reduce,
    .name = "collnet-direct",
    .aliases = {"collnet", "sharp"},
    .summary = "a block per GPU of a node, added by the network's switches (NCCL CollnetDirect)",
    .program = [](const Task& task) { return direct(task, lanes_of_direct, 2); },
    .lanes = lanes_of_direct.size(),
    .lanes_in_network = lanes_in_network_of_collnet,
    .for_adding_networks = true,
    .node_turns = {.members = true},
    .node_pieces = [](int /*ranks*/, int members) { return members; },
    .scratch = scratch_of_direct<lanes_of_direct.size(), 2>,
    .messages_exceed_a_block = true};

extern const Algorithm all_reduce_collnet_chain{
    .operation = Operation::all_reduce,
    .name = "collnet-chain",
    .summary = "up a chain in every node, added by the network's switches, down (CollnetChain)",
    .program = all_reduce_along_chains,
    .lanes = lanes_of_chain.size(),
    .lanes_in_network = lanes_in_network_of_collnet,
    .for_adding_networks = true,
    .node_turns = {.members = true, .channels = true},
    .node_pieces = [](int /*ranks*/, int /*members*/) { return 1; },
    .scratch =
        [](const Task& task) {
          return std::int64_t{lanes_in_network_of_collnet} * result_vector(task).count;
        },
    .messages_exceed_a_block = true};

extern const Algorithm all_gather_collnet_direct{
    .operation = Operation::all_gather,
    .name = "collnet-direct",
    .aliases = {"collnet", "sharp"},
    .summary = "the network's switches multicast a block per GPU (NCCL CollnetDirect)",
    .program = [](const Task& task) { return direct(task, lanes_of_direct_gather, 3); },
    .lanes = lanes_of_direct_gather.size(),
    .lanes_in_network = lanes_in_network_of_collnet,
    .for_adding_networks = true,
    .node_turns = {.members = true},
    .node_pieces = [](int ranks, int /*members*/) { return ranks; },
    .scratch = scratch_of_direct<lanes_of_direct_gather.size(), 3>};

extern const Algorithm reduce_scatter_collnet_direct{
    .operation = Operation::reduce_scatter,
    .name = "collnet-direct",
    .aliases = {"collnet", "sharp"},
    .summary = "the network's switches add what every node has added up (NCCL CollnetDirect)",
    .program = [](const Task& task) { return direct(task, lanes_of_direct_scatter, 1); },
    .lanes = lanes_of_direct_scatter.size(),
    .lanes_in_network = lanes_in_network_of_collnet,
    .for_adding_networks = true,
    .node_turns = {.members = true},
    .node_pieces = [](int ranks, int /*members*/) { return ranks; },
    .scratch = scratch_of_direct<lanes_of_direct_scatter.size(), 1>};

}  // namespace collsim
