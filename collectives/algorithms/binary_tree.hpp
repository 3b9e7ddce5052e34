// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "collectives/group.hpp"
#include "collectives/program.hpp"

namespace collsim {

// A place in a tree of any shape with at most two children; positions, -1 where there is none.
struct TreeNode {
  int parent = -1;
  std::array<int, 2> child{-1, -1};  // in the order in which they are served
  int children = 0;
};

// The same as endpoints.
struct TreeEdges {
  Endpoint parent;
  std::array<Endpoint, 2> child;
  bool is_root = false;
  int children = 0;
};
[[nodiscard]] TreeEdges tree_edges(const Group& group, const TreeNode& node);

// Down the tree, chunk by chunk; only the root reads `source`, all write `result`.
[[nodiscard]] Program tree_broadcast(TreeEdges at, Span source, Span result, int chunks);

// Up the tree, chunk by chunk.  The root adds up into `sum`, which is as long as `source`; the
// others need room for one chunk there, and only if they have two children.
[[nodiscard]] Program tree_reduce(TreeEdges at, Span source, Span sum, int chunks);

}  // namespace collsim
