// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "app/json/screen_text.hpp"
#include "app/output/comparison_table.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view red = "\x1b[1;31m";
constexpr std::string_view plain = "\x1b[0m";

std::string painted(std::string_view text, std::string_view paint, const TableStyle& style) {
  if (!style.colour || text.empty() || paint.empty()) return std::string(text);
  return std::string(paint) + std::string(text) + std::string(plain);
}

void write_rows(std::ostream& out, const Results& results, const TableStyle& style) {
  const std::string text = result_table(results).text();
  const std::size_t heading = text.find('\n');
  out << painted(std::string_view(text).substr(0, heading), bold, style)
      << std::string_view(text).substr(heading);
}

// When the formula of all rows has the same best number of chunks.
std::optional<double> best_chunks(const Results& results) {
  if (std::find(results.axes.begin(), results.axes.end(), "collective.chunks") ==
      results.axes.end())
    return std::nullopt;
  std::optional<double> best;
  for (const Row& row : results.rows) {
    if (!row.analytic || !row.analytic->best_chunks) return std::nullopt;
    if (best && *best != *row.analytic->best_chunks) return std::nullopt;
    best = row.analytic->best_chunks;
  }
  return best;
}

std::string label(ExpectationLine::Kind kind, const TableStyle& style) {
  switch (kind) {
    case ExpectationLine::Kind::ok: return painted("ok", green, style) + "    ";
    case ExpectationLine::Kind::failed: return painted("FAIL", red, style) + "  ";
    case ExpectationLine::Kind::skipped: return "skip  ";
    case ExpectationLine::Kind::more: return "      ";
  }
  return "";
}

void write_expectations(std::ostream& out, const Results& results, const TableStyle& style) {
  if (results.expect.empty()) return;
  out << '\n';
  for (const ExpectationLine& line : expectation_lines(results))
    out << label(line.kind, style) << line.text << '\n';
  out << expectation_summary(results) << '\n';
}

void write_comparison(std::ostream& out, const Results& results, const TableStyle& style) {
  if (!results.comparison) return;
  out << '\n';
  for (const ComparisonLine& line : comparison_lines(results))
    out << painted(line.text, line.kind == ComparisonLine::Kind::bad ? red : "", style) << '\n';
}

}  // namespace

void write_table(std::ostream& out, const Results& results, const TableStyle& style) {
  if (style.quiet) return write_rows(out, results, style);
  if (!results.title.empty()) out << painted(printable(results.title), bold, style) << '\n';
  if (!results.description.empty()) out << printable(results.description) << '\n';
  if (results.comparison) out << how_it_was_measured(results) << '\n';
  if (!results.title.empty() || !results.description.empty() || results.comparison) out << '\n';
  write_rows(out, results, style);
  if (!results.complete)
    out << fmt::format("\nincomplete: {} of {} points\n", results.rows.size(), results.points);
  if (const std::optional<double> best = best_chunks(results))
    out << fmt::format("\nbest number of chunks by the formula: {:.1f}\n", *best);
  write_comparison(out, results, style);
  write_expectations(out, results, style);
}

}  // namespace collsim
