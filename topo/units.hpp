// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "topo/error.hpp"

namespace collsim {

// Time in whole picoseconds, both instants (since the start of the simulation) and durations.
// 64 bits hold 106 days; every sum and product is checked and an overflow is a typed error, never a
// wrap. Integers make results exact and independent of the order of additions, hence of engine and
// compiler.
class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(std::int64_t picoseconds) : ps_(picoseconds) {}

  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }
  [[nodiscard]] static constexpr Time never() {
    return Time(std::numeric_limits<std::int64_t>::max());
  }

  constexpr auto operator<=>(const Time&) const = default;

  friend constexpr Time operator+(Time a, Time b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.ps_, b.ps_, &sum)) [[unlikely]]
      overflow();
    return Time(sum);
  }
  friend constexpr Time operator-(Time a, Time b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.ps_, b.ps_, &difference)) [[unlikely]]
      overflow();
    return Time(difference);
  }
  friend constexpr Time operator*(std::int64_t n, Time a) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(n, a.ps_, &product)) [[unlikely]]
      overflow();
    return Time(product);
  }
  constexpr Time& operator+=(Time other) { return *this = *this + other; }
  constexpr Time& operator-=(Time other) { return *this = *this - other; }

 private:
  [[noreturn]] static void overflow();
  std::int64_t ps_ = 0;
};

constexpr Time picoseconds(std::int64_t n) {
  return Time(n);
}
constexpr Time nanoseconds(std::int64_t n) {
  return n * Time(1'000);
}
constexpr Time microseconds(std::int64_t n) {
  return n * Time(1'000'000);
}
constexpr Time milliseconds(std::int64_t n) {
  return n * Time(1'000'000'000);
}
constexpr Time seconds(std::int64_t n) {
  return n * Time(1'000'000'000'000);
}

// The only conversion from a real number to a Time: to the nearest picosecond, halves up.  Throws
// Error{overflow} beyond 106 days and Error{invalid_argument} for NaN or a negative number.
[[nodiscard]] Time rounded_picoseconds(double ps);
[[nodiscard]] inline Time from_seconds(double s) {
  return rounded_picoseconds(s * 1e12);
}

// Error{overflow} if n of these units exceed 64 bits.
[[noreturn]] void overflow_of(std::int64_t n, const char* unit);

// Bytes per second in one direction, a whole number (SI units: 1 GB/s = 1e9).  Always positive.
class Bandwidth {
 public:
  constexpr explicit Bandwidth(std::int64_t bytes_per_second)
      : bytes_per_second_(bytes_per_second) {
    if (bytes_per_second <= 0) not_positive(bytes_per_second);
  }
  [[nodiscard]] constexpr std::int64_t bytes_per_second() const { return bytes_per_second_; }
  constexpr auto operator<=>(const Bandwidth&) const = default;

 private:
  [[noreturn]] static void not_positive(std::int64_t value);
  std::int64_t bytes_per_second_;
};

constexpr Bandwidth gigabytes_per_second(std::int64_t n) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(n, std::int64_t{1'000'000'000}, &product)) [[unlikely]]
    overflow_of(n, "GB/s");
  return Bandwidth(product);
}

// A size in bytes, never negative where it matters (checked where sizes enter, not on every use).
using Bytes = std::int64_t;

constexpr Bytes kibibytes(std::int64_t n) {
  Bytes product = 0;
  if (__builtin_mul_overflow(n, Bytes{1} << 10, &product)) [[unlikely]]
    overflow_of(n, "KiB");
  return product;
}
constexpr Bytes mebibytes(std::int64_t n) {
  Bytes product = 0;
  if (__builtin_mul_overflow(n, Bytes{1} << 20, &product)) [[unlikely]]
    overflow_of(n, "MiB");
  return product;
}
constexpr Bytes gibibytes(std::int64_t n) {
  Bytes product = 0;
  if (__builtin_mul_overflow(n, Bytes{1} << 30, &product)) [[unlikely]]
    overflow_of(n, "GiB");
  return product;
}

// n / B in whole picoseconds, rounded up: a message is never faster than its link, so no sum of
// them beats a lower bound.  Exact in integers.
[[nodiscard]] Time long_transfer_time(Bytes bytes, Bandwidth bandwidth);
[[nodiscard]] inline Time transfer_time(Bytes bytes, Bandwidth bandwidth) {
  constexpr std::int64_t ps_per_second = 1'000'000'000'000;
  constexpr Bytes fits_64_bits = std::numeric_limits<std::int64_t>::max() / ps_per_second;
  if (bytes < 0 || bytes > fits_64_bits) return long_transfer_time(bytes, bandwidth);
  const auto rate = static_cast<std::uint64_t>(bandwidth.bytes_per_second());
  const auto work = static_cast<std::uint64_t>(bytes * ps_per_second);
  return Time(static_cast<std::int64_t>((work + (rate - 1)) / rate));
}
// The same for a rate that is not a whole number.  Tolerates the rounding error of a double (one
// part in 10^15), so a quotient that is whole up to rounding stays whole.
[[nodiscard]] Time transfer_time(double bytes, double bytes_per_second);

// The value in the largest of these units, smallest first, that it reaches: "3.801 ms".
struct UnitName {
  double size;
  const char* name;
};
[[nodiscard]] std::string in_largest_unit(double value, std::span<const UnitName> units,
                                          int digits = 4);
inline constexpr UnitName size_unit_names[] = {
    {1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}};
inline constexpr UnitName bandwidth_unit_names[] = {
    {1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};

// Readable: "12.5 us", "1.07 s", "64 MiB", "25 GB/s".
[[nodiscard]] std::string to_text(Time time);
[[nodiscard]] std::string bytes_to_text(Bytes bytes);
[[nodiscard]] std::string to_text(Bandwidth bandwidth);

}  // namespace collsim
