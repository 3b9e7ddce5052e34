// SPDX-License-Identifier: Apache-2.0
#include "topo/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace collsim {

std::string in_largest_unit(double value, std::span<const UnitName> units, int digits) {
  const UnitName* chosen = &units.front();
  for (const UnitName& unit : units)
    if (std::abs(value) >= unit.size) chosen = &unit;
  const double number = value / chosen->size;
  constexpr double four_digits_end = 9999.5, whole_numbers_end = 1e15;
  const bool is_whole =
      digits <= 4 && std::abs(number) >= four_digits_end && std::abs(number) < whole_numbers_end;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), is_whole ? "%.*f %s" : "%.*g %s", is_whole ? 0 : digits,
                number, chosen->name);
  return text.data();
}

void Time::overflow() {
  throw_error(ErrorCode::overflow,
              "a time exceeds 64 bits of picoseconds (106 days): sizes, latencies or bandwidths "
              "are absurd");
}

void overflow_of(std::int64_t n, const char* unit) {
  throw_error(ErrorCode::overflow, n, " ", unit, " are more than 64 bits of bytes hold (8 EiB)");
}

void Bandwidth::not_positive(std::int64_t value) {
  throw_error(ErrorCode::invalid_argument, "a bandwidth must be at least 1 byte per second, not ",
              value, " B/s");
}

Time rounded_picoseconds(double ps) {
  if (!(ps >= 0))
    throw_error(ErrorCode::invalid_argument, "a time must not be negative or NaN, not ", ps, " ps");
  // Not floor(ps + 0.5): that sum is itself rounded, just below one half and above 2^52.
  const double below = std::floor(ps);
  const double rounded = ps - below >= 0.5 ? below + 1 : below;
  if (rounded >= 9223372036854775808.0)
    throw_error(ErrorCode::overflow, "a time of ", ps * 1e-12,
                " s exceeds 64 bits of picoseconds (106 days)");
  return Time(static_cast<std::int64_t>(rounded));
}

Time long_transfer_time(Bytes bytes, Bandwidth bandwidth) {
  if (bytes < 0)
    throw_error(ErrorCode::invalid_argument, "a message cannot have ", bytes, " bytes");
  __extension__ using Wide = unsigned __int128;
  const auto rate = static_cast<Wide>(bandwidth.bytes_per_second());
  const Wide ps = (static_cast<Wide>(bytes) * 1'000'000'000'000U + (rate - 1)) / rate;
  if (ps > static_cast<Wide>(std::numeric_limits<std::int64_t>::max()))
    throw_error(ErrorCode::overflow,
                bytes_to_text(bytes) + " at " + to_text(bandwidth) +
                    " take longer than 64 bits of picoseconds hold (106 days)");
  return Time(static_cast<std::int64_t>(ps));
}

Time transfer_time(double bytes, double bytes_per_second) {
  constexpr double precision = 1e-15;
  return rounded_picoseconds(std::ceil(bytes / bytes_per_second * 1e12 * (1 - precision)));
}

std::string to_text(Time time) {
  static constexpr UnitName units[] = {
      {1, "ps"}, {1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}};
  return in_largest_unit(static_cast<double>(time.ps()), units);
}

std::string bytes_to_text(Bytes bytes) {
  return in_largest_unit(static_cast<double>(bytes), size_unit_names);
}

std::string to_text(Bandwidth bandwidth) {
  return in_largest_unit(static_cast<double>(bandwidth.bytes_per_second()), bandwidth_unit_names);
}

}  // namespace collsim
