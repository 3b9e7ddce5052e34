// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/vocabulary.hpp"

#include <gtest/gtest.h>

#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

TEST(Vocabulary, KnowsTheOperationsOfOtherLibraries) {
  for (const char* word : {"all-reduce", "allreduce", "all_reduce", "AllReduce", "ncclAllReduce",
                           "MPI_Allreduce", "MPI_ALLREDUCE"})
    EXPECT_EQ(operation_words().canonical(word), "all-reduce") << word;
  for (const char* word : {"bcast", "Broadcast", "ncclBcast", "ncclBroadcast", "MPI_Bcast"})
    EXPECT_EQ(operation_words().canonical(word), "broadcast") << word;
  for (const char* word : {"sendrecv", "MPI_Sendrecv", "send_recv", "p2p"})
    EXPECT_EQ(operation_words().canonical(word), "send-recv") << word;
  for (const char* word : {"ReduceScatter", "reduce_scatter_tensor", "MPI_Reduce_scatter_block"})
    EXPECT_EQ(operation_words().canonical(word), "reduce-scatter") << word;
  EXPECT_EQ(operation_words().canonical("alltoall"), "all-to-all");
  EXPECT_EQ(operation_words().canonical("all_gather_into_tensor"), "all-gather");
  EXPECT_FALSE(operation_words().canonical("reduce-all"));
}

TEST(Vocabulary, EveryOperationAndAliasNamesOneOfTheCore) {
  for (const std::string& word : operation_words().allowed)
    EXPECT_EQ(to_string(parse_operation(word)), word);
  for (const auto& [alias, word] : operation_words().aliases)
    EXPECT_EQ(to_string(parse_operation(word)), word) << alias;
}

TEST(Vocabulary, AlgorithmsBeginWithTheDefaultAndEndWithThePolicies) {
  for (const Operation operation : all_operations()) {
    const Vocabulary& words = algorithm_words(operation);
    EXPECT_EQ(words.allowed.front(), find_algorithm(operation, "").name);
    EXPECT_EQ(*(words.allowed.end() - 2), "auto");
    EXPECT_EQ(words.allowed.back(), "nccl");
    for (const auto& [alias, word] : words.aliases)
      EXPECT_EQ(find_algorithm(operation, word).name, word) << alias;
  }
}

TEST(Vocabulary, AlgorithmAliasesExistWhereTheAlgorithmDoes) {
  EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical("rhd"), "halving-doubling");
  EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical("Tree"), "double-tree");
  EXPECT_EQ(algorithm_words(Operation::broadcast).canonical("tree"), "double-tree");
  EXPECT_EQ(algorithm_words(Operation::broadcast).canonical("ring"), "chain");
  EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical("recursive_doubling"),
            "recursive-doubling");
  for (const char* word : {"recursivehalvingdoubling", "RecursiveHalvingDoubling"})
    EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical(word), "halving-doubling");
  for (const Operation operation :
       {Operation::broadcast, Operation::reduce, Operation::all_reduce}) {
    EXPECT_EQ(algorithm_words(operation).canonical("doublebinarytree"), "double-tree");
    EXPECT_EQ(algorithm_words(operation).canonical("pipeline"), "chain");
  }
  EXPECT_EQ(algorithm_words(Operation::broadcast).canonical("vandegeijn"), "scatter-allgather");
  EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical("BlueConnect"), "torus");
  EXPECT_EQ(algorithm_words(Operation::all_reduce).canonical("parameterserver"), "master");
  EXPECT_EQ(algorithm_words(Operation::all_to_all).canonical("spreadout"), "pairwise");
  EXPECT_FALSE(algorithm_words(Operation::all_to_all).canonical("tree"));
}

TEST(Vocabulary, EveryElementTypeAndReductionHasAWord) {
  for (const ElementType type : all_element_types())
    EXPECT_EQ(parse_element_type(element_type_word(type)), type);
  for (const char* word :
       {"float", "f32", "ncclFloat32", "ncclFloat", "torch.float32", "MPI_FLOAT"})
    EXPECT_EQ(element_type_words().canonical(word), "float32") << word;
  EXPECT_EQ(element_type_words().canonical("bf16"), "bfloat16");
  EXPECT_EQ(element_type_words().canonical("half"), "float16");
  for (const Reduction reduction : all_reductions())
    EXPECT_EQ(reduction_words().canonical(to_string(reduction)), to_string(reduction));
  EXPECT_EQ(reduction_words().canonical("ncclSum"), "sum");
  EXPECT_EQ(reduction_words().canonical("MPI_MAX"), "max");
}

TEST(Vocabulary, HasOtherNamesOfWhatAddsInSwitches) {
  const Vocabulary& words = algorithm_words(Operation::all_reduce);
  EXPECT_EQ(words.canonical("CollNetDirect"), "collnet-direct");
  EXPECT_EQ(words.canonical("sharp"), "collnet-direct");
  EXPECT_EQ(words.canonical("in-switch"), "nvls");
}

}  // namespace
}  // namespace collsim
