// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/programs.hpp"

// Everything the product knows about its algorithms: one function per operation, one row per
// algorithm, the default first.  A new algorithm is one file beside this one, its declaration in
// programs.hpp and its row here; everything else (checking, simulation, execution, documentation,
// completion) follows.

namespace collsim {
namespace {

using Rows = std::vector<Algorithm>;

Rows broadcast() {
  return {
      {.operation = Operation::broadcast,
       .name = "chain",
       .aliases = {"ring"},
       .summary = "every rank passes chunks on to the next",
       .program = broadcast_chain,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "flat",
       .aliases = {"linear"},
       .summary = "the root sends everything to every rank",
       .program = broadcast_flat,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "bidirectional-chain",
       .summary = "two chains, one each way around, each with half of the data",
       .program = broadcast_bidirectional_chain,
       .lanes = 2,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "binomial",
       .summary = "twice as many ranks have the data after every round",
       .program = broadcast_binomial,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "k-nomial",
       .summary = "the binomial tree with radix - 1 messages per level",
       .program = broadcast_k_nomial,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "binary-tree",
       .summary = "chunks go down a binary tree",
       .program = broadcast_binary_tree,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "double-tree",
       .summary = "two binary trees, each with half of the data, nobody inner in both",
       .program = broadcast_double_tree,
       .lanes = 2,
       .cuts_whole_vector = true},
      {.operation = Operation::broadcast,
       .name = "scatter-allgather",
       .summary = "a block to every rank, then a ring all-gather (van de Geijn)",
       .program = broadcast_scatter_allgather},
  };
}

Rows reduce() {
  return {
      {.operation = Operation::reduce,
       .name = "chain",
       .aliases = {"ring"},
       .summary = "every rank adds its chunk and passes the sum on to the next",
       .program = reduce_chain,
       .cuts_whole_vector = true},
      {.operation = Operation::reduce,
       .name = "flat",
       .aliases = {"linear"},
       .summary = "the root adds up what every rank sends",
       .program = reduce_flat,
       .cuts_whole_vector = true},
      {.operation = Operation::reduce,
       .name = "binomial",
       .summary = "half as many ranks are left after every round",
       .program = reduce_binomial,
       .scratch = reduce_binomial_scratch,
       .cuts_whole_vector = true},
      {.operation = Operation::reduce,
       .name = "binary-tree",
       .summary = "chunks go up a binary tree",
       .program = reduce_binary_tree,
       .scratch = reduce_binary_tree_scratch,
       .cuts_whole_vector = true},
      {.operation = Operation::reduce,
       .name = "double-tree",
       .summary = "two binary trees, each with half of the data, nobody inner in both",
       .program = reduce_double_tree,
       .lanes = 2,
       .scratch = reduce_double_tree_scratch,
       .cuts_whole_vector = true},
  };
}

Rows all_reduce() {
  return {{.operation = Operation::all_reduce,
           .name = "ring",
           .summary = "reduce-scatter, then all-gather, around a ring: fewest bytes, most steps",
           .program = all_reduce_ring,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::all_reduce,
           .name = "naive",
           .summary = "everybody sends its whole vector to everybody, one partner per round",
           .program = all_reduce_naive,
           .symmetry = Symmetry::rotation,
           .scratch = all_reduce_naive_scratch,
           .cuts_whole_vector = true},
          {.operation = Operation::all_reduce,
           .name = "master",
           .summary = "all send to the root, which adds up and sends the sum back",
           .program = all_reduce_master,
           .cuts_whole_vector = true,
           .has_master = true},
          {.operation = Operation::all_reduce,
           .name = "bidirectional-ring",
           .summary = "half of the vector around the ring each way",
           .program = all_reduce_bidirectional_ring,
           .lanes = 2,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::all_reduce,
           .name = "chain",
           .summary = "chunks are added up along a line to position 0 and travel back down",
           .program = all_reduce_chain,
           .lanes = 2,
           .cuts_whole_vector = true},
          {.operation = Operation::all_reduce,
           .name = "binomial",
           .summary = "up a binomial tree to position 0, then down again",
           .program = all_reduce_binomial,
           .cuts_whole_vector = true},
          {.operation = Operation::all_reduce,
           .name = "recursive-doubling",
           .summary = "whole vectors exchanged at distances 1, 2, 4, ...: fewest steps",
           .program = all_reduce_recursive_doubling,
           .symmetry = Symmetry::exchange,
           .cuts_whole_vector = true}};
}

Rows more_all_reduce() {
  return {
      {.operation = Operation::all_reduce,
       .name = "halving-doubling",
       .aliases = {"rabenseifner", "rhd"},
       .summary = "reduce-scatter by halving, then all-gather by doubling (Rabenseifner)",
       .program = all_reduce_halving_doubling,
       .symmetry = Symmetry::exchange,
       .cuts_whole_vector = true},
      {.operation = Operation::all_reduce,
       .name = "double-tree",
       .aliases = {"tree"},
       .summary = "half of the vector up and down each of two binary trees (NCCL Tree)",
       .program = all_reduce_double_tree,
       .lanes = 4,
       .cuts_whole_vector = true},
      {.operation = Operation::all_reduce,
       .name = "one-shot",
       .summary = "everybody sends its whole vector to everybody at once",
       .program = all_reduce_one_shot,
       .symmetry = Symmetry::rotation,
       .cuts_whole_vector = true},
      {.operation = Operation::all_reduce,
       .name = "two-shot",
       .summary = "direct reduce-scatter, then direct all-gather: two rounds",
       .program = all_reduce_two_shot,
       .symmetry = Symmetry::rotation},
      {.operation = Operation::all_reduce,
       .name = "hierarchical",
       .summary = "reduce-scatter in the node, all-reduce between nodes, all-gather in the node",
       .program = all_reduce_hierarchical,
       .cuts_whole_vector = true},
      {.operation = Operation::all_reduce,
       .name = "torus",
       .summary =
           "reduce-scatter along one dimension after the other, all-gather back (BlueConnect)",
       .program = all_reduce_torus,
       .cuts_whole_vector = true},
      {.operation = Operation::all_reduce,
       .name = "swing",
       .summary = "halving and doubling with partners that are near on a ring or torus",
       .program = all_reduce_swing,
       .scratch = all_reduce_swing_scratch,
       .refuses = needs_power_of_two,
       .cuts_whole_vector = true}};
}

Rows all_gather() {
  return {{.operation = Operation::all_gather,
           .name = "ring",
           .summary = "every block goes once around a ring",
           .program = all_gather_ring,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::all_gather,
           .name = "direct",
           .summary = "everybody sends its block to everybody at once",
           .program = all_gather_direct,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::all_gather,
           .name = "recursive-doubling",
           .summary = "all that is known, exchanged at distances 1, 2, 4, ...",
           .program = all_gather_recursive_doubling,
           .symmetry = Symmetry::exchange,
           .scratch = all_gather_recursive_doubling_scratch,
           .refuses = needs_power_of_two,
           .cuts_whole_vector = true},
          {.operation = Operation::all_gather,
           .name = "bruck",
           .summary =
               "all that is known, sent down by 1, 2, 4, ...: fewest steps for any number of ranks",
           .program = all_gather_bruck,
           .scratch = all_gather_bruck_scratch,
           .cuts_whole_vector = true},
          {.operation = Operation::all_gather,
           .name = "pat",
           .summary = "Bruck with far hops first and limited messages (NCCL PAT)",
           .program = all_gather_pat,
           .symmetry = Symmetry::rotation,
           .scratch = all_gather_pat_scratch,
           .cuts_whole_vector = true},
          {.operation = Operation::all_gather,
           .name = "hierarchical",
           .summary = "between nodes along rails, then in the node",
           .program = all_gather_hierarchical,
           .scratch = all_gather_hierarchical_scratch,
           .cuts_whole_vector = true}};
}

Rows reduce_scatter() {
  return {{.operation = Operation::reduce_scatter,
           .name = "ring",
           .summary = "every block goes once around a ring to its owner",
           .program = reduce_scatter_ring,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::reduce_scatter,
           .name = "direct",
           .summary = "everybody sends everybody its block at once",
           .program = reduce_scatter_direct,
           .symmetry = Symmetry::rotation},
          {.operation = Operation::reduce_scatter,
           .name = "recursive-halving",
           .summary = "half of what is left, exchanged at distances K/2, K/4, ..., 1",
           .program = reduce_scatter_recursive_halving,
           .symmetry = Symmetry::exchange,
           .scratch = reduce_scatter_recursive_halving_scratch,
           .refuses = needs_power_of_two,
           .cuts_whole_vector = true},
          {.operation = Operation::reduce_scatter,
           .name = "pat",
           .summary = "Bruck backwards, near hops first, with limited messages (NCCL PAT)",
           .program = reduce_scatter_pat,
           .symmetry = Symmetry::rotation,
           .scratch = reduce_scatter_pat_scratch,
           .cuts_whole_vector = true},
          {.operation = Operation::reduce_scatter,
           .name = "hierarchical",
           .summary = "in the node, then between nodes along rails",
           .program = reduce_scatter_hierarchical,
           .scratch = reduce_scatter_hierarchical_scratch,
           .cuts_whole_vector = true}};
}

Rows gather() {
  return {
      {.operation = Operation::gather,
       .name = "binomial",
       .summary = "blocks of whole subtrees are collected up a binomial tree",
       .program = gather_binomial,
       .scratch = gather_binomial_scratch},
      {.operation = Operation::gather,
       .name = "flat",
       .aliases = {"linear"},
       .summary = "the root receives from every rank in turn",
       .program = gather_flat},
  };
}

Rows scatter() {
  return {
      {.operation = Operation::scatter,
       .name = "binomial",
       .summary = "blocks of whole subtrees are handed down a binomial tree",
       .program = scatter_binomial,
       .scratch = scatter_binomial_scratch},
      {.operation = Operation::scatter,
       .name = "flat",
       .aliases = {"linear"},
       .summary = "the root sends to every rank in turn",
       .program = scatter_flat},
  };
}

Rows all_to_all() {
  return {
      {.operation = Operation::all_to_all,
       .name = "pairwise",
       .summary = "round d: send to the rank d ahead, receive from the one d behind",
       .program = all_to_all_pairwise,
       .symmetry = Symmetry::rotation},
      {.operation = Operation::all_to_all,
       .name = "direct",
       .summary = "everybody sends everything at once",
       .program = all_to_all_direct,
       .symmetry = Symmetry::rotation},
      {.operation = Operation::all_to_all,
       .name = "bruck",
       .summary = "log2(K) rounds with half of the data each",
       .program = all_to_all_bruck,
       .symmetry = Symmetry::rotation,
       .scratch = all_to_all_bruck_scratch},
      {.operation = Operation::all_to_all,
       .name = "hierarchical",
       .summary = "first in the node, to the rank on the right rail, then along the rails",
       .program = all_to_all_hierarchical,
       .scratch = all_to_all_hierarchical_scratch},
  };
}

Rows barrier() {
  return {
      {.operation = Operation::barrier,
       .name = "dissemination",
       .summary = "round t: signal the rank 2^t ahead, wait for the one 2^t behind",
       .program = barrier_dissemination,
       .symmetry = Symmetry::rotation},
      {.operation = Operation::barrier,
       .name = "flat",
       .aliases = {"linear"},
       .summary = "everybody signals the root, then the root everybody",
       .program = barrier_flat},
      {.operation = Operation::barrier,
       .name = "binomial",
       .summary = "signals go up a binomial tree and down again",
       .program = barrier_binomial},
  };
}

Rows send_recv() {
  return {
      {.operation = Operation::send_recv,
       .name = "direct",
       .summary = "every pair at once",
       .program = send_recv_direct,
       .lanes = 2,
       .cuts_whole_vector = true},
  };
}

Rows all_rows() {
  Rows all;
  for (const auto& part :
       {broadcast(), reduce(), all_reduce(), more_all_reduce(), all_gather(), reduce_scatter(),
        gather(), scatter(), all_to_all(), barrier(), send_recv()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const Rows rows = all_rows();
  return rows;
}

std::vector<const Algorithm*> algorithms(Operation operation) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& row : algorithms())
    if (row.operation == operation) found.push_back(&row);
  return found;
}

}  // namespace collsim
