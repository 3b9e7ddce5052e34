// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <string_view>

#include "app/scenario/object_reader.hpp"
#include "collectives/collective.hpp"

namespace collsim {

// What may stand for an algorithm's name: "auto" is the fastest that collsim knows, "nccl" what
// NCCL would run (app/study/nccl.hpp).
inline constexpr std::array<std::string_view, 2> algorithm_policies{"auto", "nccl"};
[[nodiscard]] constexpr bool is_policy(std::string_view algorithm) {
  return algorithm == algorithm_policies[0] || algorithm == algorithm_policies[1];
}

// The words of "collective", and their synonyms from NCCL, MPI and PyTorch.
//
//   operations     all-reduce; also allreduce, ncclAllReduce, MPI_Allreduce, ...
//   algorithms     of one operation, its default first, and the policies last
//   element types  float32; also f32, float, ncclFloat32, torch.float32, ...
//   reductions     sum; also ncclSum, MPI_SUM, add, ...
[[nodiscard]] const Vocabulary& operation_words();
[[nodiscard]] const Vocabulary& algorithm_words(Operation operation);
[[nodiscard]] const Vocabulary& element_type_words();
[[nodiscard]] const Vocabulary& reduction_words();

// The element type in the spelling of scenario files: "float32".
[[nodiscard]] std::string_view element_type_word(ElementType type);

}  // namespace collsim
