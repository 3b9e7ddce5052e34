// SPDX-License-Identifier: Apache-2.0
#include "app/output/column_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace collsim {
namespace {

constexpr double widest_span = 1e4;
constexpr int significant_digits = 4;
constexpr int most_decimals = 3;
constexpr double almost_one = 1 - 1e-9;  // what rounding may take from a whole unit

const ColumnUnit& unit_for(double value, std::span<const ColumnUnit> units) {
  const ColumnUnit* chosen = &units.front();
  for (const ColumnUnit& unit : units)
    if (value >= unit.size * almost_one) chosen = &unit;
  return *chosen;
}

// So many that a number shows four significant digits, at most three.
int decimals_for(double number) {
  if (number <= 0) return 0;
  const int before_point = static_cast<int>(std::floor(std::log10(number))) + 1;
  return std::clamp(significant_digits - before_point, 0, most_decimals);
}

std::string cell(double value, const ColumnUnit& unit, int decimals) {
  return fmt::format("{:.{}f} {}", value / unit.size, decimals, unit.name);
}

}  // namespace

ColumnUnits time_units() {
  static constexpr std::array<ColumnUnit, 5> units{
      {{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
  return {ColumnUnits::Common::of_middle, units};
}

ColumnUnits rate_units() {
  static constexpr std::array<ColumnUnit, 5> units{
      {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
  return {ColumnUnits::Common::of_largest, units};
}

std::vector<std::string> column_cells(std::span<const std::optional<double>> values,
                                      const ColumnUnits& units) {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const std::optional<double>& value : values) {
    if (!value || *value <= 0) continue;
    smallest = std::min(smallest, *value);
    largest = std::max(largest, *value);
  }
  const bool all_zero = largest == 0;
  const bool one_unit = all_zero || largest <= widest_span * smallest;
  double typical = 0;
  if (!all_zero)
    typical = units.common == ColumnUnits::Common::of_largest
                  ? largest
                  : std::sqrt(smallest) * std::sqrt(largest);
  const ColumnUnit& common = unit_for(typical, units.all);
  const int decimals = all_zero ? 0 : decimals_for(smallest / common.size);

  std::vector<std::string> cells;
  cells.reserve(values.size());
  for (const std::optional<double>& value : values) {
    if (!value) {
      cells.emplace_back("-");
    } else if (one_unit) {
      cells.push_back(cell(*value, common, decimals));
    } else {
      const ColumnUnit& unit = unit_for(*value, units.all);
      cells.push_back(cell(*value, unit, decimals_for(*value / unit.size)));
    }
  }
  return cells;
}

}  // namespace collsim
