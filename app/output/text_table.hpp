// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace collsim {

// A table of text for terminals: columns as wide as their widest cell (in columns on the screen,
// not bytes), numbers to the right, words to the left.
class TextTable {
 public:
  enum class Align { left, right };
  void add_column(const std::string& heading, Align align = Align::right);
  void add_row(std::vector<std::string> cells);
  void add_remark(const std::string& remark);  // behind the last row, outside the columns
  // Words of the last column are wrapped where lines would be longer than `columns`; 0: never.
  [[nodiscard]] std::string text(const std::string& indent = "  ", std::size_t columns = 0) const;
  [[nodiscard]] std::string markdown() const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> remarks_;  // by row
};

struct ColumnUnit {
  double size;  // in SI units
  const char* name;
};

// The units of a kind of column, the smallest first, and which of them a whole column gets: that of
// its largest number, or that of the middle of the span, so that neither end is unreadable.
struct ColumnUnits {
  enum class Common { of_largest, of_middle } common;
  std::span<const ColumnUnit> all;
};
[[nodiscard]] ColumnUnits time_units();
[[nodiscard]] ColumnUnits rate_units();
[[nodiscard]] ColumnUnits size_units();

// Numbers of a column as text with units, in order; nothing becomes "-".
//
// All are in the same unit with the same number of decimals, so that they compare at a glance,
// unless they span more than four decades: then each has a unit of its own.
[[nodiscard]] std::vector<std::string> column_cells(std::span<const std::optional<double>> values,
                                                    const ColumnUnits& units);

}  // namespace collsim
