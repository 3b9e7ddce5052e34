// SPDX-License-Identifier: Apache-2.0
#include "app/explain/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "topo/units.hpp"

namespace collsim {
namespace {

constexpr double most_seconds = 9e6;  // of a Time
constexpr double most = 9e18;         // of 64 bits

}  // namespace

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0";
  if (!(seconds > 0) || seconds > most_seconds) return fmt::format("{:.4g} s", seconds);
  return to_text(from_seconds(seconds));
}

std::string rate_text(double bytes_per_second) {
  if (!(bytes_per_second >= 1) || bytes_per_second > most)
    return fmt::format("{:.4g} B/s", bytes_per_second);
  return to_text(Bandwidth(std::llround(bytes_per_second)));
}

}  // namespace collsim
