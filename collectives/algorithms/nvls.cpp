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
// Among nodes (NVLSTree) the heads of the same block are the nodes of a tree (double_tree.cpp,
// channels alternate between the two trees): 2 and 3 become a way up and down that tree, each head
// through its own NIC.
//
// What the switch does are lanes that run in it (Algorithm::lanes_in_switch); where no switch can,
// they run in the ranks, and this is a direct exchange.  A lane in a switch belongs to the head's
// next GPU.  Lanes of one rank do not send to each other, so what that GPU itself sends and
// receives takes one more lane, of the GPU after it, on its way through the switch:
//
//   scatter  GPU m:      block h to reduce(h + 1), or by way of forward_up(m + 1) if that is m's
//   reduce   switch:     the sum of block p - 1, to up(p - 1)
//   up, down GPU h:      through the tree, to multicast(h + 1)
//   multicast  switch:   block p - 1 to all, to p itself by way of forward_down(p + 1)
//   gather   GPU m:      all blocks
//
// All-gather is steps 3 and 4 alone, on the block that a head gives: S/n go up a GPU's link and S
// down.  Reduce-scatter is steps 1 and 2 alone, on the block that a head gets: S up, S/n down.  A
// ring takes (n-1)/n S each way, so there are no bytes to save, only steps.
//
// NCCL 2.28 has the all-reduce as NVLS and NVLSTree, its halves as NVLS.
#include <optional>
#include <vector>

#include "collectives/algorithms/idioms.hpp"
#include "collectives/algorithms/roles.hpp"

namespace collsim {
namespace {

enum Role : int { scatter, gather, up, down, reduce, multicast, forward_up, forward_down, roles };
constexpr int switch_roles = roles - reduce;
constexpr int roles_with_scratch = roles - up;

// A rank among the n GPUs of its node, and its node among all.
class InNode {
 public:
  InNode(const Task& task, int size)
      : group_(task.group), role_(task.role), size_(size), me_(task.group.me() % size_) {}
  explicit InNode(const Task& task)
      : InNode(task, task.per_node > 1 ? task.per_node : task.group.size()) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int nodes() const { return group_.size() / size_; }
  [[nodiscard]] int node() const { return group_.me() / size_; }
  [[nodiscard]] int wrap(int member) const { return (member % size_ + size_) % size_; }

  // The lane with a role of a member of my node; of the member like me in another node.
  [[nodiscard]] Endpoint lane(Role role, int member) const {
    return role_above(group_[group_.me() - me_ + wrap(member)], role - role_);
  }
  [[nodiscard]] Endpoint lane_of_node(Role role, int node) const {
    return role_above(group_[node * size_ + me_], role - role_);
  }

 private:
  Group group_;
  int role_;
  int size_;
  int me_;
};

using Steps = std::vector<Instruction>;

std::optional<Role> if_in_place(const Task& task, Role role) {
  return task.in_place ? std::optional(role) : std::nullopt;
}

Program in_step(Steps steps) {
  co_yield steps;
}

// `writer`: the lane that receives into the memory that is sent here; nothing: none does.
template <class BlockOf>
Steps scatter_steps(const InNode& at, BlockOf source, std::optional<Role> writer) {
  Steps steps;
  for (int step = 0; step < at.size(); ++step) {
    const int head = at.wrap(at.me() + step);
    const bool mine = at.wrap(head + 1) == at.me();
    const Endpoint adder = mine ? at.lane(forward_up, at.me() + 1) : at.lane(reduce, head + 1);
    steps.push_back(send(adder, source(head)));
  }
  if (writer) steps.push_back(signal(at.lane(*writer, at.me())));
  return steps;
}

// `reader`: the lane that sends what is in the memory of the result; nothing: none does.
Steps gather_steps(const InNode& at, const Blocks& result, std::optional<Role> reader) {
  Steps steps;
  if (reader) steps.push_back(wait(at.lane(*reader, at.me())));
  for (int step = 0; step < at.size(); ++step) {
    const int head = at.wrap(at.me() - step);
    const bool mine = at.wrap(head + 1) == at.me();
    const Endpoint from = mine ? at.lane(forward_down, at.me() + 1) : at.lane(multicast, head + 1);
    steps.push_back(receive(from, result[head]));
  }
  return steps;
}

Steps reduce_steps(const InNode& at, Span sum, Role receiver) {
  const int head = at.me() - 1;
  Steps steps{receive(at.lane(scatter, head), sum)};
  for (int step = 1; step < at.size() - 1; ++step)
    steps.push_back(receive_reduce(at.lane(scatter, head - step), sum, sum));
  steps.push_back(receive_reduce(at.lane(forward_up, at.me() + 1), sum, sum));
  steps.push_back(send(at.lane(receiver, head), sum));
  return steps;
}

Steps forward_up_steps(const InNode& at, Span part) {
  return {receive_send(at.lane(scatter, at.me() - 1), part, at.lane(reduce, at.me() - 1))};
}
Steps forward_down_steps(const InNode& at, Span sum) {
  return {receive_send(at.lane(multicast, at.me() - 1), sum, at.lane(gather, at.me() - 1))};
}

Steps multicast_steps(const InNode& at, Endpoint from, Span sum) {
  const int head = at.me() - 1;
  Steps steps{receive(from, sum)};
  steps.push_back(send(at.lane(gather, head), sum));
  steps.push_back(send(at.lane(forward_down, at.me() + 1), sum));
  for (int step = 2; step < at.size(); ++step)
    steps.push_back(send(at.lane(gather, head + step), sum));
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

std::int64_t longest_block(const Task& task) {
  return Blocks(task.share(task.output), InNode(task).size())[0].count;
}

Steps steps_of(const Task& task, const InNode& at) {
  const auto tree_at = [&](int node) {
    return double_tree(task.channel.part % 2, node, at.nodes());
  };
  const TreeNode tree = tree_at(at.node());
  const Blocks source(source_vector(task), at.size());
  const Blocks result(result_vector(task), at.size());
  const std::int64_t longest = longest_block(task);
  const auto kept = [&](int head) {  // where a lane keeps what it passes on
    return task.scratch.sub((task.role - up) * longest, result[at.wrap(head)].count);
  };
  const bool reduced_at_root = tree_at(at.node()).parent < 0;
  switch (static_cast<Role>(task.role)) {
    case scatter:
      return scatter_steps(
          at, [&](int head) { return source[head]; }, if_in_place(task, gather));
    case gather: return gather_steps(at, result, if_in_place(task, scatter));
    case up: return up_steps(at, tree, kept(at.me()));
    case down: {
      const bool from_root = !reduced_at_root && tree_at(tree.parent).parent < 0;
      return down_steps(at, tree, from_root, kept(at.me()));
    }
    case reduce: return reduce_steps(at, kept(at.me() - 1), up);
    case multicast:
      return multicast_steps(at, at.lane(reduced_at_root ? up : down, at.me() - 1),
                             kept(at.me() - 1));
    case forward_up: return forward_up_steps(at, kept(at.me() - 2));
    case forward_down: return forward_down_steps(at, kept(at.me() - 2));
    case roles: break;
  }
  return {};
}

Program all_reduce_in_switch(const Task& task) {
  const InNode at(task);
  if (at.size() == 1)
    return task.role == 0 ? copy_alone(source_vector(task), result_vector(task)) : Program();
  return in_step(steps_of(task, at));
}

// --- its halves, all ranks being on one node ----------------------------------------------------

InNode on_one_node(const Task& task) {
  return {task, task.group.size()};
}

// Where a lane keeps what it passes on of a head's block, whose length is that of `block`.
Span kept_block(const Task& task, Span block) {
  return task.scratch.sub((task.role - up) * (task.scratch.count / roles_with_scratch),
                          block.count);
}

Steps all_gather_steps(const Task& task, const InNode& at) {
  const Blocks all = task.blocks(task.output);
  const auto kept = [&](int head) { return kept_block(task, all[at.wrap(head)]); };
  switch (static_cast<Role>(task.role)) {
    case up: {
      Steps steps{send(at.lane(multicast, at.me() + 1), gathered_block(task))};
      if (task.in_place) steps.push_back(signal(at.lane(gather, at.me())));
      return steps;
    }
    case multicast: return multicast_steps(at, at.lane(up, at.me() - 1), kept(at.me() - 1));
    case forward_down: return forward_down_steps(at, kept(at.me() - 2));
    case gather: return gather_steps(at, all, if_in_place(task, up));
    default: return {};
  }
}

Steps reduce_scatter_steps(const Task& task, const InNode& at) {
  const Blocks input = scattered_blocks(task);
  const Span mine = scattered_block(task);
  const auto given = [&](int head) {
    return task.in_place && head == at.me() ? mine : input[head];
  };
  const auto kept = [&](int head) { return kept_block(task, input[at.wrap(head)]); };
  switch (static_cast<Role>(task.role)) {
    case scatter: return scatter_steps(at, given, if_in_place(task, down));
    case forward_up: return forward_up_steps(at, kept(at.me() - 2));
    case reduce: return reduce_steps(at, kept(at.me() - 1), down);
    case down: {
      Steps steps;
      if (task.in_place) steps.push_back(wait(at.lane(scatter, at.me())));
      steps.push_back(receive(at.lane(reduce, at.me() + 1), mine));
      return steps;
    }
    default: return {};
  }
}

Program all_gather_in_switch(const Task& task) {
  const Blocks all = task.blocks(task.output);
  if (task.group.size() == 1)
    return task.role == 0 ? copy_alone(gathered_block(task), all[0]) : Program();
  return in_step(all_gather_steps(task, on_one_node(task)));
}

Program reduce_scatter_in_switch(const Task& task) {
  if (task.group.size() == 1)
    return task.role == 0 ? copy_alone(scattered_blocks(task)[0], scattered_block(task))
                          : Program();
  return in_step(reduce_scatter_steps(task, on_one_node(task)));
}

std::int64_t scratch_of_blocks(const Task& task, Span whole) {
  return roles_with_scratch * task.blocks(whole)[0].count;
}

}  // namespace

extern const Algorithm all_reduce_nvls{
    .operation = Operation::all_reduce,
    .name = "nvls",
    .aliases = {"nvls-tree"},
    .summary = "switches add and multicast (NCCL NVLS, NVLSTree); without such: in the ranks",
    .program = all_reduce_in_switch,
    .lanes = roles,
    .lanes_in_switch = switch_roles,
    .node_turns = {.members = true},
    .node_pieces = [](int /*ranks*/, int members) { return members; },
    .scratch = [](const Task& task) { return roles_with_scratch * longest_block(task); }};

extern const Algorithm all_gather_nvls{
    .operation = Operation::all_gather,
    .name = "nvls",
    .summary = "the switch multicasts every block (NCCL NVLS); without such a switch: a rank does",
    .program = all_gather_in_switch,
    .lanes = roles,
    .lanes_in_switch = switch_roles,
    .scratch = [](const Task& task) { return scratch_of_blocks(task, task.output); }};

extern const Algorithm reduce_scatter_nvls{
    .operation = Operation::reduce_scatter,
    .name = "nvls",
    .summary = "the switch adds every block (NCCL NVLS); without such a switch: a rank does",
    .program = reduce_scatter_in_switch,
    .lanes = roles,
    .lanes_in_switch = switch_roles,
    .scratch = [](const Task& task) { return scratch_of_blocks(task, task.input); }};

}  // namespace collsim
