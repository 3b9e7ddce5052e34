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

using LineKind = ExpectationLine::Kind;

std::string worst_text(double worst) {
  constexpr double worth_saying = 0.00005;  // what two decimals show
  return worst >= worth_saying ? fmt::format(", worst {:.2f}%", 100 * worst) : "";
}

std::string left_out_text(const ExpectationOutcome& one) {
  if (one.left_out == 0) return "";
  return fmt::format("; {} skipped, {}{}", one.left_out, printable(one.why_left_out),
                     one.left_out > 1 ? " ..." : "");
}

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
  for (const CaseResult& row : results.rows) {
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

// What the user wrote is text, not markup.
std::string escaped(std::string_view text) {
  constexpr std::string_view special = "\\`*_[]<>#|";
  std::string result;
  for (const char c : printable(text)) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string_view markdown_label(ExpectationLine::Kind kind) {
  switch (kind) {
    case ExpectationLine::Kind::ok: return "- ok: ";
    case ExpectationLine::Kind::failed: return "- **FAIL**: ";
    case ExpectationLine::Kind::skipped: return "- skip: ";
    case ExpectationLine::Kind::more: return "  ";
  }
  return "";
}

}  // namespace

std::vector<ExpectationLine> expectation_lines(const Results& results) {
  std::vector<ExpectationLine> lines;
  for (const ExpectationOutcome& one : results.expect) {
    const std::string id = printable(one.id);
    if (!one.skipped.empty()) {
      lines.push_back({LineKind::skipped, fmt::format("{}: {}", id, printable(one.skipped))});
    } else if (one.ok) {
      lines.push_back({LineKind::ok, fmt::format("{} ({}{}{})", id, rows_text(one.checked),
                                                 worst_text(one.worst), left_out_text(one))});
    } else {
      const std::string rows =
          one.checked > 1 ? fmt::format(" (in {} of {})", one.failed, rows_text(one.checked)) : "";
      lines.push_back(
          {LineKind::failed, fmt::format("{}{}: {}", id, rows, printable(one.failure))});
      if (!one.why.empty()) lines.push_back({LineKind::more, "why: " + printable(one.why)});
    }
  }
  return lines;
}

std::string expectation_summary(const Results& results) {
  const auto count = [&](const auto& predicate) {
    return std::count_if(results.expect.begin(), results.expect.end(), predicate);
  };
  const auto ok = count([](const ExpectationOutcome& one) { return one.ok; });
  const auto skipped = count([](const ExpectationOutcome& one) { return !one.skipped.empty(); });
  return fmt::format("{} of {} expectations hold{}", ok, results.expect.size(),
                     skipped > 0 ? fmt::format(", {} not checked", skipped) : "");
}

void write_table(std::ostream& out, const Results& results, const TableStyle& style) {
  if (style.quiet) return write_rows(out, results, style);
  if (!results.title.empty()) out << painted(printable(results.title), bold, style) << '\n';
  if (!results.description.empty()) out << printable(results.description) << '\n';
  if (results.comparison) out << how_it_was_measured(results) << '\n';
  if (!results.title.empty() || !results.description.empty() || results.comparison) out << '\n';
  write_rows(out, results, style);
  if (!results.complete)
    out << fmt::format("\nincomplete: {}\n",
                       part_text(results.rows.size(), results.points, "point"));
  if (const std::optional<double> best = best_chunks(results))
    out << fmt::format("\nbest number of chunks by the formula: {:.1f}\n", *best);
  if (const std::string search = search_line(results); !search.empty())
    out << '\n' << search << '\n';
  const std::vector<std::string> sureness = sureness_lines(results);
  if (!sureness.empty()) out << '\n';
  for (const std::string& line : sureness) out << line << '\n';
  write_comparison(out, results, style);
  write_expectations(out, results, style);
}

void write_markdown(std::ostream& out, const Results& results) {
  if (!results.title.empty()) out << "**" << escaped(results.title) << "**\n\n";
  if (!results.description.empty()) out << escaped(results.description) << "\n\n";
  if (results.comparison) out << escaped(how_it_was_measured(results)) << "\n\n";
  out << result_table(results).markdown();
  if (!results.complete)
    out << fmt::format("\nincomplete: {}\n",
                       part_text(results.rows.size(), results.points, "point"));
  if (const std::string search = search_line(results); !search.empty())
    out << '\n' << escaped(search) << '\n';
  for (const std::string& line : sureness_lines(results))
    out << (line.starts_with(' ') ? "- " + escaped(line.substr(2)) : '\n' + escaped(line)) << '\n';
  if (results.comparison) {
    out << '\n';
    for (const ComparisonLine& line : comparison_lines(results))
      out << "- " << escaped(line.text) << '\n';
  }
  if (results.expect.empty()) return;
  out << '\n';
  for (const ExpectationLine& line : expectation_lines(results))
    out << markdown_label(line.kind) << escaped(line.text) << '\n';
  out << '\n' << expectation_summary(results) << '\n';
}

}  // namespace collsim
