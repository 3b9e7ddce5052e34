// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "app/output/format.hpp"
#include "app/output/text_table.hpp"
#include "app/results/results.hpp"

namespace collsim {

// Internal to output/: one writer per format.
void write_table(std::ostream& out, const Results& results, const TableStyle& style);
void write_markdown(std::ostream& out, const Results& results);
// A row under the columns of the first, and of what later ones may have besides; without such a
// value its column is empty.  What no row of such a sweep has is no column.  No columns: the row is
// the first, sets them and has a header.
void write_csv_row(std::ostream& out, const CaseResult& row, const SweptValues& swept,
                   std::vector<std::string>& columns);
// With what was measured: all rows, and the columns that any has.
void write_compared_csv(std::ostream& out, const std::vector<CaseResult>& rows);
void write_nccl_tests(std::ostream& out, const Results& results);

// A row of the results file; also what CSV and JSON lines are made of.
[[nodiscard]] JsonValue row_to_value(const CaseResult& row);

// The rows as a readable table: the swept values that vary, times in one unit, ratios, remarks.
[[nodiscard]] TextTable result_table(const Results& results);

// Behind each row: "<- best of these", "worse than not cutting at all", "does not fit: out of
// memory", or nothing.
[[nodiscard]] std::vector<std::string> remarks_about(const Results& results);

[[nodiscard]] std::string rows_text(std::size_t rows);  // "1 row", "2 rows"

// "ok   pipelined (14 rows, worst 0.02%)" and so on, a line each, and how many hold; nothing when
// there are none.
struct ExpectationLine {
  enum class Kind { ok, failed, skipped, more } kind;  // more: belongs to the line before
  std::string text;
};
[[nodiscard]] std::vector<ExpectationLine> expectation_lines(const Results& results);
// How sure predictions of NCCL's times are: a line per kind of machine, below it one per range of
// sizes; none for other predictions.
[[nodiscard]] std::vector<std::string> sureness_lines(const Results& results);
// How "auto" chose, all rows together; empty where it did not.
[[nodiscard]] std::string search_line(const Results& results);
[[nodiscard]] std::string expectation_summary(const Results& results);

}  // namespace collsim
