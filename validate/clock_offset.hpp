// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace collsim {

// How far a clock is ahead of the reference: from notes passed to and fro, of which the quickest
// counts.  The truth is within `uncertainty_ns`, however uneven the way there and the way back.
struct ClockOffset {
  double ahead_ns = 0;
  double uncertainty_ns = 0;
};

// One such note.
struct PingTimes {
  std::uint64_t sent = 0, back = 0;  // on the reference's clock; 0: given up
  std::uint64_t answered = 0;        // on the other's
};
// Nothing: no note came back.
[[nodiscard]] std::optional<ClockOffset> offset_of(std::span<const PingTimes> times);

}  // namespace collsim
