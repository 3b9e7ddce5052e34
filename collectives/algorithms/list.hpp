// SPDX-License-Identifier: Apache-2.0
#pragma once

// All algorithms, in the order in which `collsim algorithms` lists them, similar ones together; the
// first of an operation is its default.  Each name is an `extern const Algorithm` in one of the
// files beside this one.
#define COLLSIM_ALGORITHMS(NAME)         \
  NAME(broadcast_chain)                  \
  NAME(broadcast_flat)                   \
  NAME(broadcast_bidirectional_chain)    \
  NAME(broadcast_binomial)               \
  NAME(broadcast_k_nomial)               \
  NAME(broadcast_binary_tree)            \
  NAME(broadcast_double_tree)            \
  NAME(broadcast_scatter_allgather)      \
  NAME(reduce_chain)                     \
  NAME(reduce_flat)                      \
  NAME(reduce_binomial)                  \
  NAME(reduce_binary_tree)               \
  NAME(reduce_double_tree)               \
  NAME(all_reduce_ring)                  \
  NAME(all_reduce_naive)                 \
  NAME(all_reduce_master)                \
  NAME(all_reduce_bidirectional_ring)    \
  NAME(all_reduce_chain)                 \
  NAME(all_reduce_binomial)              \
  NAME(all_reduce_recursive_doubling)    \
  NAME(all_reduce_halving_doubling)      \
  NAME(all_reduce_double_tree)           \
  NAME(all_reduce_one_shot)              \
  NAME(all_reduce_two_shot)              \
  NAME(all_reduce_hierarchical)          \
  NAME(all_reduce_torus)                 \
  NAME(all_reduce_swing)                 \
  NAME(all_reduce_nvls)                  \
  NAME(all_reduce_nvls_sharp)            \
  NAME(all_reduce_collnet_direct)        \
  NAME(all_reduce_collnet_chain)         \
  NAME(all_gather_ring)                  \
  NAME(all_gather_neighbor_exchange)     \
  NAME(all_gather_direct)                \
  NAME(all_gather_recursive_doubling)    \
  NAME(all_gather_bruck)                 \
  NAME(all_gather_pat)                   \
  NAME(all_gather_hierarchical)          \
  NAME(all_gather_nvls)                  \
  NAME(all_gather_collnet_direct)        \
  NAME(reduce_scatter_ring)              \
  NAME(reduce_scatter_direct)            \
  NAME(reduce_scatter_recursive_halving) \
  NAME(reduce_scatter_pat)               \
  NAME(reduce_scatter_hierarchical)      \
  NAME(reduce_scatter_nvls)              \
  NAME(reduce_scatter_collnet_direct)    \
  NAME(gather_binomial)                  \
  NAME(gather_flat)                      \
  NAME(scatter_binomial)                 \
  NAME(scatter_flat)                     \
  NAME(all_to_all_pairwise)              \
  NAME(all_to_all_direct)                \
  NAME(all_to_all_bruck)                 \
  NAME(all_to_all_hierarchical)          \
  NAME(barrier_dissemination)            \
  NAME(barrier_flat)                     \
  NAME(barrier_binomial)                 \
  NAME(send_recv_direct)
