// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/scenario.hpp"

namespace collsim {

// One of several parts of a sweep, which are simulated apart and merged.
struct SweepPart {
  int number = 1;  // from 1
  int count = 1;

  bool operator==(const SweepPart&) const = default;
};
inline constexpr int max_sweep_parts = 1'000'000;  // a stated limit

// "3/8"; nothing: it is no such thing.
[[nodiscard]] std::optional<SweepPart> parse_part(std::string_view text);
[[nodiscard]] std::string to_text(const SweepPart& part);  // "3/8"

// Which points of the sweep a part has, in order: every point belongs to one part, and the same
// scenario is always cut alike.  The parts take about equally long: points are dealt out like cards
// from the costliest to the cheapest.  What a point costs is estimated from a few along each axis,
// as if axes multiplied.
[[nodiscard]] std::vector<std::size_t> points_of(const SweepPart& part, const Scenario& scenario);

}  // namespace collsim
