// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "collectives/collective.hpp"

namespace collsim {

// The names that PyTorch's profiler uses.
[[nodiscard]] std::string_view pytorch_name(Operation operation);
[[nodiscard]] std::string_view pytorch_name(ElementType type);

}  // namespace collsim
