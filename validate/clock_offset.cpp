// SPDX-License-Identifier: Apache-2.0
#include "validate/clock_offset.hpp"

#include <limits>

namespace collsim {

std::optional<ClockOffset> offset_of(std::span<const PingTimes> times) {
  std::optional<ClockOffset> offset;
  std::uint64_t quickest = std::numeric_limits<std::uint64_t>::max();
  for (const PingTimes& round : times) {
    if (round.back <= round.sent || round.answered == 0 || round.back - round.sent >= quickest)
      continue;
    quickest = round.back - round.sent;
    // Clocks may be apart by more than they can say as a double: the difference first.
    const auto ahead = static_cast<std::int64_t>(round.answered - round.sent);
    const double uncertainty_ns = static_cast<double>(quickest) / 2;
    offset = {static_cast<double>(ahead) - uncertainty_ns, uncertainty_ns};
  }
  return offset;
}

}  // namespace collsim
