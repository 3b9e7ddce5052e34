// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

using Aliases = std::map<std::string, std::string>;

std::string without_hyphens(std::string_view word) {
  std::string bare;
  for (const char c : word)
    if (c != '-' && c != '_') bare += c;
  return bare;
}

Vocabulary make_operation_words() {
  Vocabulary words{.what = "operation"};
  for (const Operation operation : all_operations()) {
    const std::string name(to_string(operation));
    words.allowed.push_back(name);
    for (const char* library : {"nccl", "rccl", "mpi", "mpi_"})
      words.aliases[library + without_hyphens(name)] = name;
  }
  const Aliases more = {{"bcast", "broadcast"},
                        {"ncclbcast", "broadcast"},
                        {"mpi_bcast", "broadcast"},
                        {"mpibcast", "broadcast"},
                        {"allgatherintotensor", "all-gather"},
                        {"reducescattertensor", "reduce-scatter"},
                        {"reducescatterblock", "reduce-scatter"},
                        {"mpi_reduce_scatter_block", "reduce-scatter"},
                        {"alltoallsingle", "all-to-all"},
                        {"mpi_sendrecv", "send-recv"},
                        {"sendreceive", "send-recv"},
                        {"p2p", "send-recv"}};
  words.aliases.insert(more.begin(), more.end());
  return words;
}

Vocabulary make_algorithm_words(Operation operation) {
  Vocabulary words{.what = std::string(to_string(operation)) + " algorithm"};
  for (const Algorithm* row : algorithms(operation)) {
    words.allowed.emplace_back(row->name);
    for (const std::string_view alias : row->aliases)
      words.aliases.emplace(alias, std::string(row->name));
  }
  for (const std::string_view policy : algorithm_policies) words.allowed.emplace_back(policy);
  return words;
}

struct TypeWord {
  ElementType type;
  const char* word;
  std::array<const char*, 3> others;
};
constexpr std::array<TypeWord, 10> type_words = {{
    {ElementType::f32, "float32", {"f32", "float", "fp32"}},
    {ElementType::f64, "float64", {"f64", "double", "fp64"}},
    {ElementType::f16, "float16", {"f16", "half", "fp16"}},
    {ElementType::bf16, "bfloat16", {"bf16", "bfloat", "bfp16"}},
    {ElementType::i8, "int8", {"i8", "char", "s8"}},
    {ElementType::u8, "uint8", {"u8", "byte", "uchar"}},
    {ElementType::i32, "int32", {"i32", "int", "s32"}},
    {ElementType::u32, "uint32", {"u32", "uint", "unsigned"}},
    {ElementType::i64, "int64", {"i64", "long", "s64"}},
    {ElementType::u64, "uint64", {"u64", "ulong", "unsignedlong"}},
}};

Vocabulary make_element_type_words() {
  Vocabulary words{.what = "element type"};
  for (const TypeWord& row : type_words) {
    const std::string name = row.word;
    words.allowed.push_back(name);
    for (const std::string& plain :
         {name, std::string(row.others[0]), std::string(row.others[1]), std::string(row.others[2])})
      for (const char* library : {"", "nccl", "torch.", "mpi_", "mpi"})
        if (*library != '\0' || plain != name) words.aliases[library + plain] = name;
  }
  return words;
}

Vocabulary make_reduction_words() {
  Vocabulary words{.what = "reduction"};
  const std::vector<std::pair<const char*, std::vector<const char*>>> rows = {
      {"sum", {"add", "plus"}},
      {"prod", {"product", "mul"}},
      {"min", {"minimum", "least"}},
      {"max", {"maximum", "greatest"}},
      {"avg", {"average", "mean"}}};
  for (const auto& [name, others] : rows) {
    words.allowed.emplace_back(name);
    for (const char* other : others) words.aliases[other] = name;
    for (const char* library : {"nccl", "mpi_", "mpi"})
      words.aliases[std::string(library) + name] = name;
  }
  return words;
}

}  // namespace

const Vocabulary& operation_words() {
  static const Vocabulary words = make_operation_words();
  return words;
}

const Vocabulary& algorithm_words(Operation operation) {
  static const std::map<Operation, Vocabulary> words = [] {
    std::map<Operation, Vocabulary> all;
    for (const Operation each : all_operations()) all.emplace(each, make_algorithm_words(each));
    return all;
  }();
  return words.at(operation);
}

const Vocabulary& element_type_words() {
  static const Vocabulary words = make_element_type_words();
  return words;
}

const Vocabulary& reduction_words() {
  static const Vocabulary words = make_reduction_words();
  return words;
}

std::string_view element_type_word(ElementType type) {
  for (const TypeWord& row : type_words)
    if (row.type == type) return row.word;
  return "?";
}

}  // namespace collsim
