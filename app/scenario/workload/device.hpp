// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/presets.hpp"

namespace collsim {

// "312TFLOP/s", written as a bandwidth is but with FLOP in place of B; and the other way round.
[[nodiscard]] std::optional<double> parse_flops(std::string_view text);
[[nodiscard]] std::string exact_flops(double flop_per_second);

// Peak FLOP/s of the GPU that a preset names (scenarios/presets/devices.json); nothing: it names
// none.
[[nodiscard]] std::optional<double> peak_of_preset(const Preset& preset);

}  // namespace collsim
