// SPDX-License-Identifier: Apache-2.0
#include "topo/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace collsim {

namespace {

struct Unit {
  double size;
  const char* name;
};

template <std::size_t n>
std::string in_largest_unit(double value, const std::array<Unit, n>& units) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units)
    if (std::abs(value) >= unit.size) chosen = &unit;
  std::array<char, 48> text{};
  const double number = value / chosen->size;
  const char* format = std::abs(number) < 9999.5 ? "%.4g %s" : "%.0f %s";
  std::snprintf(text.data(), text.size(), format, number, chosen->name);
  return text.data();
}

}  // namespace

void Time::overflow() {
  throw_error(ErrorCode::overflow,
              "a time exceeds 64 bits of picoseconds (106 days): sizes, latencies or bandwidths "
              "are absurd");
}

void overflow_of(std::int64_t n, const char* unit) {
  throw_error(ErrorCode::overflow,
              std::to_string(n) + " " + unit + " are more than 64 bits of bytes hold (8 EiB)");
}

void Bandwidth::not_positive(std::int64_t value) {
  throw_error(ErrorCode::invalid_argument, "a bandwidth must be at least 1 byte per second, not " +
                                               std::to_string(value) + " B/s");
}

Time rounded_picoseconds(double ps) {
  if (!(ps >= 0))
    throw_error(ErrorCode::invalid_argument,
                "a time must not be negative or NaN, not " + std::to_string(ps) + " ps");
  // Not floor(ps + 0.5): that sum is itself rounded, just below one half and above 2^52.
  const double below = std::floor(ps);
  const double rounded = ps - below >= 0.5 ? below + 1 : below;
  if (rounded >= 9223372036854775808.0)
    throw_error(ErrorCode::overflow, "a time of " + std::to_string(ps * 1e-12) +
                                         " s exceeds 64 bits of picoseconds (106 days)");
  return Time(static_cast<std::int64_t>(rounded));
}

Time long_transfer_time(Bytes bytes, Bandwidth bandwidth) {
  if (bytes < 0)
    throw_error(ErrorCode::invalid_argument,
                "a message cannot have " + std::to_string(bytes) + " bytes");
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
  static constexpr std::array<Unit, 5> units{
      {{1, "ps"}, {1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}}};
  return in_largest_unit(static_cast<double>(time.ps()), units);
}

std::string bytes_to_text(Bytes bytes) {
  static constexpr std::array<Unit, 5> units{{{1, "B"},
                                              {1024.0, "KiB"},
                                              {1048576.0, "MiB"},
                                              {1073741824.0, "GiB"},
                                              {1099511627776.0, "TiB"}}};
  return in_largest_unit(static_cast<double>(bytes), units);
}

std::string to_text(Bandwidth bandwidth) {
  static constexpr std::array<Unit, 5> units{
      {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
  return in_largest_unit(static_cast<double>(bandwidth.bytes_per_second()), units);
}

}  // namespace collsim
