// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace collsim {

// An exponent of a unit: a fraction in lowest terms, because sqrt halves exponents.
struct Exponent {
  std::int32_t numerator = 0;
  std::int32_t denominator = 1;
  bool operator==(const Exponent&) const = default;

  // 2, 0.5, 1/3 as doubles; nothing for what is no simple fraction (denominators up to 64).
  [[nodiscard]] static std::optional<Exponent> from(double value);
};

// The unit of a value: seconds and bytes to some powers.  A bandwidth is bytes^1 seconds^-1, a
// count, a ratio or a percentage has none.
struct Units {
  Exponent seconds{};
  Exponent bytes{};
  bool operator==(const Units&) const = default;

  [[nodiscard]] bool none() const { return *this == Units{}; }
  // Nothing when an exponent would exceed 10,000 or need a denominator above 64.
  [[nodiscard]] std::optional<Units> times(const Units& other) const;
  [[nodiscard]] std::optional<Units> over(const Units& other) const;
  [[nodiscard]] std::optional<Units> power(Exponent exponent) const;

  // "s", "bytes", "bytes^2/s", "1/s", "s^(1/2)"; "1" for none.
  [[nodiscard]] std::string symbol() const;
  // As in "cannot add bytes and seconds": "seconds", "bytes", "bytes/s", "a plain number".
  [[nodiscard]] std::string plural() const;
  // As in "time is a time (s)": "a time (s)", "a size (bytes)", "a bandwidth (bytes/s)", "a cost
  // per byte (s/byte)", "a plain number", "in bytes^2/s".
  [[nodiscard]] std::string description() const;
};

inline constexpr Units units_none{};
inline constexpr Units units_time{{1, 1}, {}};
inline constexpr Units units_size{{}, {1, 1}};
inline constexpr Units units_bandwidth{{-1, 1}, {1, 1}};
inline constexpr Units units_cost_per_byte{{1, 1}, {-1, 1}};

// For people, with this many digits: "3.801 ms", "64 MiB", "25 GB/s", "40 ps/B", "0.25",
// "1.5 bytes^2/s".
[[nodiscard]] std::string value_text(double value, const Units& units, int digits = 4);

}  // namespace collsim
