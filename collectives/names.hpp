// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topo/error.hpp"

namespace collsim {

// Letters to change, add, drop or swap with their neighbour to turn one name into the other
// (optimal string alignment).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The allowed name that was probably meant, the first of equals, or, if none is near,
// the only one that begins so; empty: there is none.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            std::span<const std::string_view> allowed);

// Error{unknown_name}: "there is no <what> 'rnig'; did you mean 'ring'?  Known: ring, chain".
[[noreturn]] void throw_unknown_name(std::string_view what, std::string_view name,
                                     std::span<const std::string_view> allowed);

}  // namespace collsim
