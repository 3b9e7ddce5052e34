// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/scenario/presets.hpp"
#include "collectives/workloads/transformer.hpp"

namespace collsim {

// "312TFLOP/s", written as a bandwidth is but with FLOP in place of B; and the other way round.
[[nodiscard]] std::optional<double> parse_flops(std::string_view text);
[[nodiscard]] std::string exact_flops(double flop_per_second);

// A device as scenarios know it.
struct TrainingDevice {
  Device device;
  Bytes memory = 0;           // 0: unknown
  std::int64_t slowdown = 0;  // CostModel::slowdown
  std::optional<int> collectives_at_a_time = {};
};
// The GPU that a preset names (scenarios/presets/devices.json); nothing: it names none.
[[nodiscard]] std::optional<TrainingDevice> device_of_preset(const Preset& preset);
// The same as written, with "title" and "source"; null: it names none.
[[nodiscard]] const JsonValue* known_device(const Preset& preset);

}  // namespace collsim
