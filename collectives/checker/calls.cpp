// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/calls.hpp"

#include "topo/error.hpp"

namespace collsim::checker {

std::string describe(const Call& call) {
  std::string text(to_string(call.operation));
  if (call.operation == Operation::barrier) return text;
  text += concat(" of ", call.count, " ", to_string(call.type));
  if (reduces(call.operation)) text += concat(", ", to_string(call.reduction));
  if (has_root(call.operation)) text += concat(", root ", call.root);
  return text;
}

AlgorithmChoice choice_of(const Call& call) {
  AlgorithmChoice choice = call.choice != nullptr ? *call.choice : AlgorithmChoice{};
  choice.name = find_algorithm(call.operation, choice.name).name;
  return choice;
}

bool same_call(const Call& a, const Call& b) {
  const bool same_root = !has_root(a.operation) || a.root == b.root;
  const bool same_reduction = !reduces(a.operation) || a.reduction == b.reduction;
  return a.operation == b.operation && a.count == b.count && a.type == b.type && same_root &&
         same_reduction && (a.choice == b.choice || choice_of(a) == choice_of(b));
}

}  // namespace collsim::checker
