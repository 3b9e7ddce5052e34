// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "topo/units.hpp"

namespace collsim {

namespace {

constexpr std::int64_t largest_numerator = 10'000;
constexpr std::int64_t largest_denominator = 64;

std::optional<Exponent> reduced(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t divisor = std::gcd(numerator, denominator);
  numerator /= divisor;
  denominator /= divisor;
  if (std::abs(numerator) > largest_numerator || denominator > largest_denominator) return {};
  return Exponent{static_cast<std::int32_t>(numerator), static_cast<std::int32_t>(denominator)};
}

std::optional<Exponent> sum(Exponent a, Exponent b, std::int64_t sign) {
  return reduced(
      std::int64_t{a.numerator} * b.denominator + sign * std::int64_t{b.numerator} * a.denominator,
      std::int64_t{a.denominator} * b.denominator);
}

std::optional<Units> combined(const Units& a, const Units& b, std::int64_t sign) {
  const auto seconds = sum(a.seconds, b.seconds, sign);
  const auto bytes = sum(a.bytes, b.bytes, sign);
  if (!seconds || !bytes) return {};
  return Units{*seconds, *bytes};
}

// "s", "bytes^2", "s^(1/2)"; empty for a power of 0.
std::string factor(const char* unit, Exponent exponent) {
  if (exponent.numerator == 0) return {};
  if (exponent.denominator != 1)
    return concat(unit, "^(", exponent.numerator, "/", exponent.denominator, ")");
  if (exponent.numerator == 1) return unit;
  return concat(unit, "^", exponent.numerator);
}

Exponent positive_part(Exponent exponent) {
  return exponent.numerator > 0 ? exponent : Exponent{};
}

Exponent negative_part(Exponent exponent) {
  return exponent.numerator < 0 ? Exponent{-exponent.numerator, exponent.denominator} : Exponent{};
}

std::string product(Exponent bytes, Exponent seconds) {
  std::string text = factor("bytes", bytes);
  const std::string second = factor("s", seconds);
  if (!text.empty() && !second.empty()) text += '*';
  return text + second;
}

constexpr UnitName times[] = {{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
constexpr UnitName costs_per_byte[] = {
    {1e-12, "ps/B"}, {1e-9, "ns/B"}, {1e-6, "us/B"}, {1e-3, "ms/B"}, {1, "s/B"}};

std::string printed(const char* format, int digits, double value) {
  std::array<char, 400> text{};  // "%.0f" of the largest double has 309 digits
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

std::string plain(double value, int digits) {
  constexpr double whole_numbers_end = 1e15;
  if (value == std::floor(value) && std::abs(value) < whole_numbers_end)
    return printed("%.*f", 0, value == 0 ? 0.0 : value);
  return printed("%.*g", digits, value);
}

}  // namespace

std::optional<Exponent> Exponent::from(double value) {
  constexpr double rounding = 1e-12;
  if (!(std::abs(value) <= static_cast<double>(largest_numerator))) return {};
  for (std::int64_t denominator = 1; denominator <= largest_denominator; ++denominator) {
    const double numerator = std::round(value * static_cast<double>(denominator));
    if (std::abs(value * static_cast<double>(denominator) - numerator) <= rounding)
      return reduced(static_cast<std::int64_t>(numerator), denominator);
  }
  return {};
}

std::optional<Units> Units::times(const Units& other) const {
  return combined(*this, other, 1);
}

std::optional<Units> Units::over(const Units& other) const {
  return combined(*this, other, -1);
}

std::optional<Units> Units::power(Exponent exponent) const {
  const auto raised = [&](Exponent base) {
    return reduced(std::int64_t{base.numerator} * exponent.numerator,
                   std::int64_t{base.denominator} * exponent.denominator);
  };
  const auto new_seconds = raised(seconds);
  const auto new_bytes = raised(bytes);
  if (!new_seconds || !new_bytes) return {};
  return Units{*new_seconds, *new_bytes};
}

std::string Units::symbol() const {
  const std::string above = product(positive_part(bytes), positive_part(seconds));
  const std::string below = product(negative_part(bytes), negative_part(seconds));
  if (below.empty()) return above.empty() ? "1" : above;
  const bool several = below.find('*') != std::string::npos;
  return (above.empty() ? "1" : above) + "/" + (several ? "(" + below + ")" : below);
}

std::string Units::plural() const {
  if (none()) return "a plain number";
  if (*this == units_time) return "seconds";
  return symbol();
}

std::string Units::description() const {
  if (none()) return "a plain number";
  if (*this == units_time) return "a time (s)";
  if (*this == units_size) return "a size (bytes)";
  if (*this == units_bandwidth) return "a bandwidth (bytes/s)";
  if (*this == units_cost_per_byte) return "a cost per byte (s/byte)";
  return "in " + symbol();
}

std::string value_text(double value, const Units& units, int digits) {
  if (units.none()) return plain(value, digits);
  if (value == 0) value = 0;  // no "-0 s"
  if (units == units_time) return value == 0 ? "0 s" : in_largest_unit(value, times, digits);
  if (units == units_size) return in_largest_unit(value, size_unit_names, digits);
  if (units == units_bandwidth) return in_largest_unit(value, bandwidth_unit_names, digits);
  if (units == units_cost_per_byte) return in_largest_unit(value, costs_per_byte, digits);
  return plain(value, digits) + " " + units.symbol();
}

}  // namespace collsim
