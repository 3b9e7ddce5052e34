// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/element.hpp"

namespace collsim {

// The argument of a kernel that does what a step of a lane does to data, with all threads of a
// launch: a message, added to what the source holds, goes to one place or two.
struct StepLaunch {
  const std::byte* message = nullptr;
  const std::byte* source = nullptr;  // null: the message is only moved
  std::byte* to = nullptr;
  std::byte* also_to = nullptr;  // or null
  std::uint64_t bytes = 0;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
};

inline constexpr int threads_of_step = 256;  // in a block, of which there may be any number

// As the CUDA runtime wants it.
[[nodiscard]] const void* step_kernel();

}  // namespace collsim
