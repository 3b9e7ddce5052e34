// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/algorithms/binary_tree.hpp"

namespace collsim {

// The binary tree of NCCL over positions 0..size-1.  For a position r > 0 with lowest set bit b the
// children are r - b/2 and r + b/2 (b/2 halved while r + b/2 is outside), so odd positions are
// leaves and the depth is about log2(size); 0 is the root and has one child, the largest power of
// two below size.
[[nodiscard]] TreeNode in_order_tree(int position, int size);

// Two trees in which (almost) nobody is inner twice, so that each carrying half of the data keeps
// everybody's port equally busy.  Tree 0 is in_order_tree; tree 1 is the same tree with the
// positions renamed: mirrored, r -> size-1-r, when size is even, shifted, r -> r+1, when it is odd.
// Their roots are different positions: this is the pair for all-reduce (NCCL's).
[[nodiscard]] TreeNode double_tree(int tree, int position, int size);

// The pair for broadcast and reduce, where both trees start at position 0: the size-1 others are
// mirrored, r -> size-r, when their number is even, and shifted, r -> r+1, when it is odd.
[[nodiscard]] TreeNode double_tree_from_root(int tree, int position, int size);

}  // namespace collsim
