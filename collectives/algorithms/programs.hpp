// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "collectives/algorithms.hpp"

namespace collsim {

// Every algorithm's entry point, named <operation>_<algorithm>: what one lane of one rank does.
// They are listed in table.cpp; each is defined in the file named after its idea (ring.cpp,
// chain.cpp, binomial.cpp ...).  What one algorithm offers to others as a part has a header of its
// own (ring.hpp, chain.hpp, direct.hpp ...).

// --- one to many, many to one, exchanges --------------------------------------------------------

Program broadcast_chain(const Task& task);
Program broadcast_flat(const Task& task);
Program broadcast_bidirectional_chain(const Task& task);
Program broadcast_binomial(const Task& task);
Program broadcast_k_nomial(const Task& task);
Program broadcast_binary_tree(const Task& task);
Program broadcast_double_tree(const Task& task);
Program broadcast_scatter_allgather(const Task& task);

Program reduce_chain(const Task& task);
Program reduce_flat(const Task& task);
Program reduce_binomial(const Task& task);
Program reduce_binary_tree(const Task& task);
Program reduce_double_tree(const Task& task);
std::int64_t reduce_binomial_scratch(const Task& task);
std::int64_t reduce_binary_tree_scratch(const Task& task);
std::int64_t reduce_double_tree_scratch(const Task& task);

Program gather_binomial(const Task& task);
Program gather_flat(const Task& task);
Program scatter_binomial(const Task& task);
Program scatter_flat(const Task& task);
std::int64_t gather_binomial_scratch(const Task& task);
std::int64_t scatter_binomial_scratch(const Task& task);

Program all_to_all_pairwise(const Task& task);
Program all_to_all_direct(const Task& task);
Program all_to_all_bruck(const Task& task);
Program all_to_all_hierarchical(const Task& task);
std::int64_t all_to_all_bruck_scratch(const Task& task);
std::int64_t all_to_all_hierarchical_scratch(const Task& task);

Program barrier_dissemination(const Task& task);
Program barrier_flat(const Task& task);
Program barrier_binomial(const Task& task);

Program send_recv_direct(const Task& task);

// --- all-reduce, all-gather, reduce-scatter -----------------------------------------------------

Program all_reduce_ring(const Task& task);
Program all_reduce_naive(const Task& task);
Program all_reduce_master(const Task& task);
Program all_reduce_bidirectional_ring(const Task& task);
Program all_reduce_chain(const Task& task);
Program all_reduce_binomial(const Task& task);
Program all_reduce_recursive_doubling(const Task& task);
Program all_reduce_halving_doubling(const Task& task);
Program all_reduce_double_tree(const Task& task);
Program all_reduce_one_shot(const Task& task);
Program all_reduce_two_shot(const Task& task);
Program all_reduce_hierarchical(const Task& task);
Program all_reduce_torus(const Task& task);
Program all_reduce_swing(const Task& task);
std::int64_t all_reduce_naive_scratch(const Task& task);
std::int64_t all_reduce_swing_scratch(const Task& task);

Program all_gather_ring(const Task& task);
Program all_gather_direct(const Task& task);
Program all_gather_recursive_doubling(const Task& task);
Program all_gather_bruck(const Task& task);
Program all_gather_pat(const Task& task);
Program all_gather_hierarchical(const Task& task);
std::int64_t all_gather_recursive_doubling_scratch(const Task& task);
std::int64_t all_gather_bruck_scratch(const Task& task);
std::int64_t all_gather_pat_scratch(const Task& task);
std::int64_t all_gather_hierarchical_scratch(const Task& task);

Program reduce_scatter_ring(const Task& task);
Program reduce_scatter_direct(const Task& task);
Program reduce_scatter_recursive_halving(const Task& task);
Program reduce_scatter_pat(const Task& task);
Program reduce_scatter_hierarchical(const Task& task);
std::int64_t reduce_scatter_recursive_halving_scratch(const Task& task);
std::int64_t reduce_scatter_pat_scratch(const Task& task);
std::int64_t reduce_scatter_hierarchical_scratch(const Task& task);

// Algorithm::refuses of butterflies.
std::string needs_power_of_two(int ranks);

}  // namespace collsim
