// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "app/json/screen_text.hpp"
#include "app/output/comparison_table.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

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

std::string_view label(ExpectationLine::Kind kind) {
  switch (kind) {
    case ExpectationLine::Kind::ok: return "- ok: ";
    case ExpectationLine::Kind::failed: return "- **FAIL**: ";
    case ExpectationLine::Kind::skipped: return "- skip: ";
    case ExpectationLine::Kind::more: return "  ";
  }
  return "";
}

}  // namespace

void write_markdown(std::ostream& out, const Results& results) {
  if (!results.title.empty()) out << "**" << escaped(results.title) << "**\n\n";
  if (!results.description.empty()) out << escaped(results.description) << "\n\n";
  if (results.comparison) out << escaped(how_it_was_measured(results)) << "\n\n";
  out << result_table(results).markdown();
  if (!results.complete)
    out << fmt::format("\nincomplete: {} of {} points\n", results.rows.size(), results.points);
  if (results.comparison) {
    out << '\n';
    for (const ComparisonLine& line : comparison_lines(results))
      out << "- " << escaped(line.text) << '\n';
  }
  if (results.expect.empty()) return;
  out << '\n';
  for (const ExpectationLine& line : expectation_lines(results))
    out << label(line.kind) << escaped(line.text) << '\n';
  out << '\n' << expectation_summary(results) << '\n';
}

}  // namespace collsim
