// SPDX-License-Identifier: Apache-2.0
#include "app/output/format.hpp"

#include <array>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

struct Name {
  Format format;
  std::string_view name;
  std::string_view suffix;  // empty: none
};
constexpr std::array<Name, 6> names{{{Format::table, "table", ".txt"},
                                     {Format::json, "json", ".json"},
                                     {Format::jsonl, "jsonl", ".jsonl"},
                                     {Format::csv, "csv", ".csv"},
                                     {Format::markdown, "markdown", ".md"},
                                     {Format::nccl_tests, "nccl-tests", ""}}};

}  // namespace

std::string_view to_string(Format format) {
  for (const Name& name : names)
    if (name.format == format) return name.name;
  return "unknown";
}

std::optional<Format> parse_format(std::string_view text) {
  for (const Name& name : names)
    if (name.name == text) return name.format;
  return std::nullopt;
}

std::optional<Format> format_of_suffix(std::string_view file) {
  for (const Name& name : names)
    if (!name.suffix.empty() && file.ends_with(name.suffix)) return name.format;
  return std::nullopt;
}

void write(std::ostream& out, const Results& results, Format format, const TableStyle& style) {
  switch (format) {
    case Format::table: return write_table(out, results, style);
    case Format::json: out << to_json(to_value(results)) << '\n'; return;
    case Format::jsonl:
    case Format::csv: {
      const bool compared = format == Format::csv && results.comparison;
      RowWriter rows(out, format, swept_values(results.rows));
      if (compared) write_compared_csv(out, results.rows);
      for (const CaseResult& row : results.rows)
        if (!compared) rows.write(row);
      return rows.finish(results);
    }
    case Format::markdown: return write_markdown(out, results);
    case Format::nccl_tests: return write_nccl_tests(out, results);
  }
}

RowWriter::RowWriter(std::ostream& out, Format format, SweptValues swept)
    : out_(out), format_(format), swept_(std::move(swept)) {}

void RowWriter::write(const CaseResult& row) {
  if (format_ == Format::jsonl)
    out_ << to_json(row_to_value(row), -1) << '\n';
  else
    write_csv_row(out_, row, swept_, columns_);
}

void RowWriter::finish(const Results& results) {
  if (results.complete) return;
  if (format_ == Format::jsonl)
    out_ << to_json(JsonValue::object({{"complete", false},
                                       {"rows", results.rows.size()},
                                       {"points", results.points}}),
                    -1)
         << '\n';
  else
    out_ << "# interrupted: " << part_text(results.rows.size(), results.points, "point") << '\n';
}

}  // namespace collsim
