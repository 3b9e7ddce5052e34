// SPDX-License-Identifier: Apache-2.0
#include "app/output/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "app/json/screen_text.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr std::string_view between = "  ";
constexpr std::string_view before_remark = "   ";

std::size_t width_of(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    width += screen_width(point.code);
    at += point.bytes;
  }
  return static_cast<std::size_t>(width);
}

std::string padded(std::string_view text, std::size_t width, TextTable::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == TextTable::Align::right ? blanks + std::string(text) : std::string(text) + blanks;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

// Lines of words, none longer than that unless a word is.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > columns)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string markdown_cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

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

void TextTable::add_column(const std::string& heading, Align align) {
  columns_.push_back({printable(heading), align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  COLLSIM_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
  remarks_.emplace_back();
}

void TextTable::add_remark(const std::string& remark) {
  COLLSIM_CHECK(!remarks_.empty(), "a remark follows a row");
  remarks_.back() = printable(remark);
}

std::string TextTable::text(const std::string& indent, std::size_t columns) const {
  if (columns_.empty()) return "\n";
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = width_of(columns_[column].heading);
    for (const auto& row : rows_) width = std::max(width, width_of(row[column]));
    widths.push_back(width);
  }
  std::string all;
  const auto add_cell = [&](std::string& line, std::size_t column, std::string_view cell) {
    line += column == 0 ? std::string_view(indent) : between;
    line += padded(cell, widths[column], columns_[column].align);
  };
  std::string line;
  for (std::size_t column = 0; column < columns_.size(); ++column)
    add_cell(line, column, columns_[column].heading);
  end_line(line);
  all += line;
  const std::size_t last = columns_.size() - 1;
  std::size_t before_last = indent.size() + last * between.size();
  for (std::size_t column = 0; column < last; ++column) before_last += widths[column];
  constexpr std::size_t least = 24;
  const bool wraps = columns > 0 && columns_[last].align == Align::left;
  const std::size_t room = columns > before_last + least ? columns - before_last : least;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    line.clear();
    for (std::size_t column = 0; column < last; ++column)
      add_cell(line, column, rows_[row][column]);
    const auto lines = wraps ? wrapped(rows_[row][last], room) : std::vector{rows_[row][last]};
    add_cell(line, last, lines.front());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      end_line(line);
      line += std::string(before_last, ' ') + lines[i];
    }
    if (!remarks_[row].empty()) line.append(before_remark).append(remarks_[row]);
    end_line(line);
    all += line;
  }
  return all;
}

std::string TextTable::markdown() const {
  const bool remarks = std::any_of(remarks_.begin(), remarks_.end(),
                                   [](const std::string& remark) { return !remark.empty(); });
  std::string text = "|";
  for (const Column& column : columns_) text += " " + markdown_cell(column.heading) + " |";
  text += remarks ? " |\n|" : "\n|";
  for (const Column& column : columns_) text += column.align == Align::right ? "---:|" : "---|";
  text += remarks ? "---|\n" : "\n";
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    text += "|";
    for (const std::string& cell : rows_[row]) text += " " + markdown_cell(cell) + " |";
    if (remarks) text += remarks_[row].empty() ? " |" : " " + markdown_cell(remarks_[row]) + " |";
    text += "\n";
  }
  return text;
}

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

ColumnUnits size_units() {
  static constexpr std::array<ColumnUnit, 5> units{
      {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
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
