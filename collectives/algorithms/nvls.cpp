// SPDX-License-Identifier: Apache-2.0
//
// NVLS: the switch adds.  GPUs behind one switch that can add and multicast (NVSwitch from Hopper
// on) send every byte once and receive the sum once, instead of 2(n-1)/n times as in a ring.
//
// Each of the n GPUs of a node is the head of one block of the vector.  For every block:
//
//   1. all GPUs send theirs to the switch, which adds them
//   2. the sum goes down to the block's head ...
//   3. ... which sends it up again
//   4. the switch sends it to all GPUs
//
// so a GPU's link carries S + S/n each way, and nccl-tests shows a bus bandwidth of 2(n-1)/(n+1)
// times its rate.  Blocks are worked on piece by piece, all blocks side by side.
//
// All-gather is 3 and 4 alone, on the block that its head gives: S/n go up a GPU's link and S down.
// Reduce-scatter is 1 and 2 alone, on the block that its head gets: S up, S/n down.  A ring takes
// (n-1)/n S each way, so there are no bytes to save, only steps.
//
// Among nodes the heads of the same block exchange it between 2 and 3, each through its own NIC:
//
//   nvls, all-reduce   in a tree (double_tree.cpp, channels alternate between the two trees)
//   else               through a switch of the network that can add and multicast (in_switch.hpp)
//
// What switches do are lanes that run in them (Algorithm::lanes_in_switch, lanes_in_network); where
// no switch can, they run in the ranks, and this is a direct exchange.  A lane in the node's switch
// belongs to the head's next GPU:
//
//   scatter  GPU m:      block h to reduce(h + 1), or by way of forward_up(m + 1) if that is m's
//   reduce   switch:     the sum of block p - 1, to up(p - 1)
//   up, down GPU h:      to other nodes and back, to multicast(h + 1)
//   multicast  switch:   block p - 1 to all, to p itself by way of forward_down(p + 1)
//   gather   GPU m:      all blocks
//
// NCCL 2.28 has the tree as NVLSTree, all others as NVLS, among nodes with SHARP.
#include <array>
#include <optional>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/in_switch.hpp"

namespace collsim {
namespace {

using enum SwitchRole;

// Of the lanes of a channel, the last four run in the node's switch.
constexpr std::array lanes_with_tree{scatter, gather,    up,         down,
                                     reduce,  multicast, forward_up, forward_down};
constexpr std::array lanes_with_network{scatter,   gather,     up,           down,
                                        add,       network_up, network_down, reduce,
                                        multicast, forward_up, forward_down};
constexpr std::array lanes_of_all_gather{gather,     up,           down,      add,
                                         network_up, network_down, multicast, forward_down};
constexpr std::array lanes_of_reduce_scatter{scatter,    up,           down,   add,
                                             network_up, network_down, reduce, forward_up};

// A task with the lanes that it has; those up to `first_kept` keep nothing.
struct LaneTask {
  const Task* task;
  InNode at;
  int first_kept;

  [[nodiscard]] Operation operation() const { return task->collective->operation; }
  // What this lane keeps of the blocks of a head.
  [[nodiscard]] Spans kept_of(int head) const {
    const bool scatters = operation() == Operation::reduce_scatter;
    const Columns columns =
        scatters ? given_columns(*task, at.size()) : result_columns(*task, at.size());
    return kept(*task, at.size(), task->role - first_kept, columns[at.wrap(head)]);
  }
};

std::optional<SwitchRole> if_in_place(const Task& task, SwitchRole role) {
  return task.in_place ? std::optional(role) : std::nullopt;
}

// `writer`: the lane that receives into the memory that is sent here; nothing: none does.
Steps scatter_steps(const InNode& at, const Columns& source, std::optional<SwitchRole> writer) {
  Steps steps;
  for (int step = 0; step < at.size(); ++step) {
    const int head = at.wrap(at.me() + step);
    const bool mine = at.wrap(head + 1) == at.me();
    const Endpoint adder = mine ? at.lane(forward_up, at.me() + 1) : at.lane(reduce, head + 1);
    for (const Span& block : source[head]) steps.push_back(send(adder, block));
  }
  if (writer) steps.push_back(signal(at.lane(*writer, at.me())));
  return steps;
}

// `reader`: the lane that sends what is in the memory of the result; nothing: none does.
Steps gather_steps(const InNode& at, const Columns& result, std::optional<SwitchRole> reader) {
  Steps steps;
  if (reader) steps.push_back(wait(at.lane(*reader, at.me())));
  for (int step = 0; step < at.size(); ++step) {
    const int head = at.wrap(at.me() - step);
    const bool mine = at.wrap(head + 1) == at.me();
    const Endpoint from = mine ? at.lane(forward_down, at.me() + 1) : at.lane(multicast, head + 1);
    for (const Span& block : result[head]) steps.push_back(receive(from, block));
  }
  return steps;
}

Steps reduce_steps(const InNode& at, const Spans& sums, SwitchRole receiver) {
  const int head = at.me() - 1;
  Steps steps;
  for (const Span& sum : sums) {
    steps.push_back(receive(at.lane(scatter, head), sum));
    for (int step = 1; step < at.size() - 1; ++step)
      steps.push_back(receive_reduce(at.lane(scatter, head - step), sum, sum));
    steps.push_back(receive_reduce(at.lane(forward_up, at.me() + 1), sum, sum));
    steps.push_back(send(at.lane(receiver, head), sum));
  }
  return steps;
}

Steps multicast_steps(const InNode& at, const Endpoint& from, const Spans& sums) {
  const int head = at.me() - 1;
  Steps steps;
  for (const Span& sum : sums) {
    steps.push_back(receive(from, sum));
    steps.push_back(send(at.lane(gather, head), sum));
    steps.push_back(send(at.lane(forward_down, at.me() + 1), sum));
    for (int step = 2; step < at.size(); ++step)
      steps.push_back(send(at.lane(gather, head + step), sum));
  }
  return steps;
}

// The tree over nodes: a head adds what comes from its switch to what its children send.
Steps up_steps(const InNode& at, const TreeNode& tree, Span sum) {
  const Endpoint from_switch = at.lane(reduce, at.me() + 1);
  const Endpoint to_switch = at.lane(multicast, at.me() + 1);
  if (tree.children == 0)
    return {receive_send(from_switch, sum,
                         tree.parent < 0 ? to_switch : at.lane_of_node(up, tree.parent))};
  Steps steps{receive(from_switch, sum)};
  const auto child = [&](int i) { return tree.child[static_cast<std::size_t>(i)]; };
  const int last = tree.children - 1;
  for (int i = 0; i < last; ++i)
    steps.push_back(receive_reduce(at.lane_of_node(up, child(i)), sum, sum));
  const Endpoint from_last = at.lane_of_node(up, child(last));
  if (tree.parent >= 0) {
    steps.push_back(receive_reduce_send(from_last, sum, at.lane_of_node(up, tree.parent)));
    return steps;
  }
  steps.push_back(receive_reduce_store_send(from_last, sum, sum, to_switch));
  for (int i = 0; i <= last; ++i) steps.push_back(send(at.lane_of_node(down, child(i)), sum));
  return steps;
}

Steps down_steps(const InNode& at, const TreeNode& tree, bool from_root, Span sum) {
  if (tree.parent < 0) return {};  // the way up turns there
  const Endpoint from = at.lane_of_node(from_root ? up : down, tree.parent);
  Steps steps{receive_send(from, sum, at.lane(multicast, at.me() + 1))};
  for (int i = 0; i < tree.children; ++i)
    steps.push_back(send(at.lane_of_node(down, tree.child[static_cast<std::size_t>(i)]), sum));
  return steps;
}

// Within a node: the same however nodes exchange blocks.  `last`: the lane of the head that has
// them for all.
Steps steps_in_node(const LaneTask& part, SwitchRole last) {
  const Task& task = *part.task;
  const InNode& at = part.at;
  const int me = at.me();
  const bool gathers = part.operation() == Operation::all_gather;
  switch (at.role()) {
    case scatter: {
      const bool scatters = part.operation() == Operation::reduce_scatter;
      return scatter_steps(at, given_columns(task, at.size()),
                           if_in_place(task, scatters ? down : gather));
    }
    case gather:
      return gather_steps(at, result_columns(task, at.size()),
                          if_in_place(task, gathers ? up : scatter));
    case reduce: return reduce_steps(at, part.kept_of(me - 1), up);
    case multicast: return multicast_steps(at, at.lane(last, me - 1), part.kept_of(me - 1));
    case forward_up:
      return pass_on(at.lane(scatter, me - 1), part.kept_of(me - 2), at.lane(reduce, me - 1));
    case forward_down:
      return pass_on(at.lane(multicast, me - 1), part.kept_of(me - 2), at.lane(gather, me - 1));
    default: return {};
  }
}

Steps steps_with_tree(const LaneTask& part) {
  const InNode& at = part.at;
  const auto tree_at = [&](int node) {
    return double_tree(part.task->channel.part % 2, node, at.nodes());
  };
  const TreeNode tree = tree_at(at.node());
  const bool reduced_at_root = tree.parent < 0;
  if (at.role() == up) return up_steps(at, tree, part.kept_of(at.me())[0]);
  if (at.role() != down) return steps_in_node(part, reduced_at_root ? up : down);
  const bool from_root = !reduced_at_root && tree_at(tree.parent).parent < 0;
  return down_steps(at, tree, from_root, part.kept_of(at.me())[0]);
}

// What a head sends to the network, or on one node straight to where the network's would go.
Steps up_to_network(const LaneTask& part) {
  const InNode& at = part.at;
  const Task& task = *part.task;
  const bool one_node = at.nodes() == 1;
  const Endpoint to = one_node ? at.lane(multicast, at.me() + 1) : into_network(at);
  if (part.operation() != Operation::all_gather)
    return pass_on(at.lane(reduce, at.me() + 1), part.kept_of(at.me()), to);
  Steps steps{send(to, gathered_block(task))};
  if (task.in_place) steps.push_back(signal(at.lane(gather, at.me())));
  return steps;
}

Steps down_from_network(const LaneTask& part) {
  const InNode& at = part.at;
  const Task& task = *part.task;
  const bool one_node = at.nodes() == 1;
  if (part.operation() != Operation::reduce_scatter) {
    if (one_node) return {};
    return pass_on(out_of_network(at), part.kept_of(at.me()), at.lane(multicast, at.me() + 1));
  }
  Steps steps;
  if (task.in_place) steps.push_back(wait(at.lane(scatter, at.me())));
  const Endpoint from = one_node ? at.lane(reduce, at.me() + 1) : out_of_network(at);
  steps.push_back(receive(from, scattered_block(task)));
  return steps;
}

Steps steps_with_network(const LaneTask& part) {
  const InNode& at = part.at;
  const bool one_node = at.nodes() == 1;
  const bool scatters = part.operation() == Operation::reduce_scatter;
  switch (at.role()) {
    case up: return one_node && scatters ? Steps() : up_to_network(part);
    case down: return down_from_network(part);
    case add:
    case network_up:
    case network_down: return network_steps(at, part.operation(), part.kept_of(at.me()));
    case reduce:
      return reduce_steps(at, part.kept_of(at.me() - 1), one_node && scatters ? down : up);
    default: return steps_in_node(part, one_node ? up : down);
  }
}

int node_size(const Task& task) {
  return task.per_node > 1 ? task.per_node : task.group.size();
}

Program in_switches(const Task& task, SwitchRoles roles, int first_kept,
                    Steps (*steps)(const LaneTask&)) {
  const int size = node_size(task);
  if (size == 1) return alone(task);
  return in_step(steps({&task, InNode(task, roles, size), first_kept}));
}

constexpr int switch_lanes = 4, switch_lanes_of_half = 2, network_lanes = 3;

template <std::size_t lanes, int first_kept>
std::int64_t scratch_of(const Task& task) {
  return (static_cast<std::int64_t>(lanes) - first_kept) * longest_column(task, node_size(task));
}

}  // namespace

extern const Algorithm all_reduce_nvls{
    .operation = Operation::all_reduce,
    .name = "nvls",
    .aliases = {"nvls-tree", "in-switch"},
    .summary = "switches add and multicast (NCCL NVLS, NVLSTree); without such: in the ranks",
    .program =
        [](const Task& task) { return in_switches(task, lanes_with_tree, 2, steps_with_tree); },
    .lanes = lanes_with_tree.size(),
    .lanes_in_switch = switch_lanes,
    .node_turns = {.members = true, .lanes_of_tree = lanes_with_tree.size()},
    .node_pieces = [](int /*ranks*/, int members) { return members; },
    .scratch = scratch_of<lanes_with_tree.size(), 2>};

extern const Algorithm all_reduce_nvls_sharp{
    .operation = Operation::all_reduce,
    .name = "nvls-sharp",
    .summary = "as nvls, but among nodes the network's switches add (NCCL NVLS with SHARP)",
    .program =
        [](const Task& task) {
          return in_switches(task, lanes_with_network, 2, steps_with_network);
        },
    .lanes = lanes_with_network.size(),
    .lanes_in_switch = switch_lanes,
    .lanes_in_network = network_lanes,
    .for_adding_networks = true,
    .node_turns = {.members = true},
    .node_pieces = [](int /*ranks*/, int members) { return members; },
    .scratch = scratch_of<lanes_with_network.size(), 2>};

extern const Algorithm all_gather_nvls{
    .operation = Operation::all_gather,
    .name = "nvls",
    .summary = "switches multicast every block (NCCL NVLS); without such: in the ranks",
    .program =
        [](const Task& task) {
          return in_switches(task, lanes_of_all_gather, 2, steps_with_network);
        },
    .lanes = lanes_of_all_gather.size(),
    .lanes_in_switch = switch_lanes_of_half,
    .lanes_in_network = network_lanes,
    .node_turns = {.members = true},
    .node_pieces = [](int ranks, int /*members*/) { return ranks; },
    .scratch = scratch_of<lanes_of_all_gather.size(), 2>};

extern const Algorithm reduce_scatter_nvls{
    .operation = Operation::reduce_scatter,
    .name = "nvls",
    .summary = "switches add every block (NCCL NVLS); without such: in the ranks",
    .program =
        [](const Task& task) {
          return in_switches(task, lanes_of_reduce_scatter, 1, steps_with_network);
        },
    .lanes = lanes_of_reduce_scatter.size(),
    .lanes_in_switch = switch_lanes_of_half,
    .lanes_in_network = network_lanes,
    .node_turns = {.members = true},
    .node_pieces = [](int ranks, int /*members*/) { return ranks; },
    .scratch = scratch_of<lanes_of_reduce_scatter.size(), 1>};

}  // namespace collsim
