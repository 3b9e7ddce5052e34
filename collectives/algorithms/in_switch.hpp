// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "collectives/algorithms/roles.hpp"

namespace collsim {

// What algorithms have in common that add and multicast in switches (nvls.cpp, collnet.cpp).

// What a lane does.  Lanes of one rank do not send to each other, so what the rank that a switch's
// lane belongs to sends and receives itself takes one more lane, of another rank, on its way
// through the switch: forward_... in a node, network_... among nodes.
enum class SwitchRole : std::uint8_t {
  scatter,
  gather,
  up,
  down,
  add,  // in the network
  network_up,
  network_down,
  reduce,  // in the node's switch
  multicast,
  forward_up,
  forward_down,
};
using SwitchRoles = std::span<const SwitchRole>;  // of the lanes of a channel

// A lane of a rank among the GPUs of its node, and its node among all.
class InNode {
 public:
  InNode(const Task& task, SwitchRoles roles, int size)
      : group_(task.group),
        roles_(roles),
        lane_(task.role),
        size_(size),
        me_(task.group.me() % size) {}

  [[nodiscard]] SwitchRole role() const { return roles_[static_cast<std::size_t>(lane_)]; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int nodes() const { return group_.size() / size_; }
  [[nodiscard]] int node() const { return group_.me() / size_; }
  [[nodiscard]] int wrap(int member) const { return (member % size_ + size_) % size_; }

  // The lane with a role of a member of my node; of the member like me in another node.
  [[nodiscard]] Endpoint lane(SwitchRole role, int member) const {
    return with(role, group_.me() - me_ + wrap(member));
  }
  [[nodiscard]] Endpoint lane_of_node(SwitchRole role, int node) const {
    return with(role, node * size_ + me_);
  }

 private:
  [[nodiscard]] Endpoint with(SwitchRole role, int position) const {
    const auto at = std::find(roles_.begin(), roles_.end(), role);
    COLLSIM_CHECK(at != roles_.end(), "a lane has no peer with this role");
    return role_above(group_[position], static_cast<int>(at - roles_.begin()) - lane_);
  }

  Group group_;
  SwitchRoles roles_;
  int lane_;
  int size_;
  int me_;
};

using Spans = std::vector<Span>;
using Steps = std::vector<Instruction>;

// What passes through a member of a node: the blocks at its place in every row of `size` blocks.
class Columns {
 public:
  // An all-reduce has a block per member and one row, its halves a block per rank.
  Columns(Blocks blocks, int rows, int size) : blocks_(blocks), rows_(rows), size_(size) {}
  // Block `own` lies elsewhere.
  void replace(int own, Span span) {
    own_ = own;
    span_ = span;
  }

  [[nodiscard]] Spans operator[](int member) const {
    Spans column;
    for (int row = 0; row < rows_; ++row) {
      const int block = row * size_ + member;
      column.push_back(block == own_ ? span_ : blocks_[block]);
    }
    return column;
  }

 private:
  Blocks blocks_;
  int rows_, size_;
  int own_ = -1;
  Span span_;
};

// What an operation works on, when `size` neighbouring positions are a node.
[[nodiscard]] Columns given_columns(const Task& task, int size);
[[nodiscard]] Columns result_columns(const Task& task, int size);
// Elements of the longest column.
[[nodiscard]] std::int64_t longest_column(const Task& task, int size);
// Where the `place`-th lane that keeps anything keeps spans of these lengths.
[[nodiscard]] Spans kept(const Task& task, int size, int place, const Spans& column);

// A program of these steps, chunk by chunk.
[[nodiscard]] Program in_step(Steps steps);
// Each span from one lane to another.
[[nodiscard]] Steps pass_on(const Endpoint& from, const Spans& spans, const Endpoint& to);
// Only rank 0's first lane has something to do when there is but one rank.
[[nodiscard]] Program alone(const Task& task);

// Through the network's switch that joins the members at one place of all nodes, which adds what
// they send (all-reduce, reduce-scatter) and sends what results to those that need it.  Its lanes
// are those of node 0, but network_up and network_down, which are node 1's.
[[nodiscard]] Endpoint into_network(const InNode& at);
[[nodiscard]] Endpoint out_of_network(const InNode& at);
[[nodiscard]] Steps network_steps(const InNode& at, Operation operation, const Spans& kept);

}  // namespace collsim
